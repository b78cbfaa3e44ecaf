//! The case table: matrices and operands, before any format or type.

mod corpus;
mod random;
mod rules;
mod shapes;

pub use corpus::{corpus, corpus_folder, repository_corpus};

use crate::numbers::{Arithmetic, round};
use crate::subject::Key;
use crate::triplets::Triplets;
use sparse_core::{DType, Result, c64};
use std::fmt::{self, Debug};

/// The time at which a case runs. Each tier includes the ones before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Tier {
    /// A few small matrices with one type of values, for simulators that take a second per kernel.
    Tiny,
    /// Seconds: on every change.
    Quick,
    /// Minutes: before a merge.
    #[default]
    Ci,
    /// Longer.
    Nightly,
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Tiny => "tiny",
            Self::Quick => "quick",
            Self::Ci => "ci",
            Self::Nightly => "nightly",
        })
    }
}

impl std::str::FromStr for Tier {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "tiny" => Ok(Self::Tiny),
            "quick" => Ok(Self::Quick),
            "ci" => Ok(Self::Ci),
            "nightly" => Ok(Self::Nightly),
            _ => Err(format!("unknown tier `{name}`: one of tiny, quick, ci, nightly")),
        }
    }
}

/// The elements of dense operands.
#[derive(Clone, Copy)]
pub enum Operands {
    /// Small integers: with a matrix of integers, results are exact.
    Integers,
    /// Numbers in (−1, 1): results are bounded componentwise.
    Reals,
    /// x by a function of the row; the output's old elements are small integers.
    Special(fn(usize) -> c64),
}

type Source = dyn Fn() -> Result<Triplets> + Send + Sync;

/// A matrix and its operands.
pub struct Case {
    /// Its name; a rule's case starts with the rule's id.
    pub name: String,
    /// The first tier that runs it.
    pub tier: Tier,
    /// The elements of dense operands.
    pub operands: Operands,
    /// True for large matrices, which run with few settings and factors.
    pub large: bool,
    source: Box<Source>,
    applies: Box<dyn Fn(&Key) -> bool + Send + Sync>,
}

impl Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Case").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Case {
    /// A small case of integers for every operation and type.
    pub fn new(
        name: impl Into<String>,
        source: impl Fn() -> Result<Triplets> + Send + Sync + 'static,
    ) -> Self {
        Self {
            name: name.into(),
            tier: Tier::Quick,
            operands: Operands::Integers,
            large: false,
            source: Box::new(source),
            applies: Box::new(|_| true),
        }
    }

    /// Sets the first tier.
    #[must_use]
    pub fn tier(mut self, tier: Tier) -> Self {
        self.tier = tier;
        self
    }

    /// Sets the operands.
    #[must_use]
    pub fn operands(mut self, operands: Operands) -> Self {
        self.operands = operands;
        self
    }

    /// Limits settings and factors.
    #[must_use]
    pub fn large(mut self) -> Self {
        self.large = true;
        self
    }

    /// Limits the case to these subjects.
    #[must_use]
    pub fn only(mut self, applies: impl Fn(&Key) -> bool + Send + Sync + 'static) -> Self {
        self.applies = Box::new(applies);
        self
    }

    /// True if the case applies to the subject.
    pub fn applies(&self, key: &Key) -> bool {
        (self.applies)(key)
    }

    /// The matrix.
    ///
    /// # Errors
    /// Those of reading a file.
    pub fn matrix(&self) -> Result<Triplets> {
        (self.source)()
    }
}

/// A case in the values of one type, for a subject.
#[derive(Debug)]
pub struct Problem<'a> {
    /// The case.
    pub case: &'a Case,
    /// The type of the values.
    pub dtype: DType,
    /// The matrix, rounded to the type.
    pub matrix: Triplets,
    /// True if rounding changed nothing, so that all types that represent the case have one answer.
    pub(crate) unrounded: bool,
    pub(crate) arithmetic: Arithmetic,
}

impl<'a> Problem<'a> {
    /// The case in values of type `dtype`, or `None` if a value does not fit the type. With `flushes`, the backend takes
    /// subnormal numbers for zeros.
    pub fn new(case: &'a Case, matrix: &Triplets, dtype: DType, flushes: bool) -> Option<Self> {
        let arithmetic = Arithmetic::of(dtype, flushes);
        let rounded = matrix.rounded(dtype)?;
        Some(Self { case, dtype, unrounded: rounded == *matrix, matrix: rounded, arithmetic })
    }

    /// The same pattern with other values.
    pub(crate) fn with_other_values(&self) -> Self {
        Self { matrix: self.matrix.with_other_values(), ..*self }
    }

    /// True if all numbers are integers.
    pub(crate) fn is_exact(&self) -> bool {
        matches!(self.case.operands, Operands::Integers | Operands::Special(_))
    }

    /// Element (row, col) of the input operand.
    pub(crate) fn x(&self, row: usize, col: usize) -> c64 {
        let value = match self.case.operands {
            Operands::Integers => small_integer(row, col),
            Operands::Reals => fraction(row, col),
            Operands::Special(element) => element(row),
        };
        round(self.dtype, value).unwrap_or(value)
    }

    /// Element (row, col) of the output before the run; even integers, so that half of them is exact.
    pub(crate) fn y(&self, row: usize, col: usize) -> c64 {
        let value = match self.case.operands {
            Operands::Reals => fraction(row + 7, col + 11),
            _ => 2.0 * small_integer(row + 7, col + 11),
        };
        round(self.dtype, value).unwrap_or(value)
    }
}

/// A pseudo-random number, the same on every machine.
pub(crate) fn scramble(row: usize, col: usize) -> u64 {
    let mut bits =
        (row as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ (col as u64).wrapping_mul(0xC2B2_AE3D_27D4_EB4F);
    for shift in [30, 27, 31] {
        bits = (bits ^ (bits >> shift)).wrapping_mul(0x94D0_49BB_1331_11EB);
    }
    bits
}

/// −4, …, 4.
fn small_integer(row: usize, col: usize) -> c64 {
    c64::new((scramble(row, col) % 9) as f64 - 4.0, 0.0)
}

/// Both parts in (−1, 1).
pub(crate) fn fraction(row: usize, col: usize) -> c64 {
    let part = |bits: u64| (bits >> 11) as f64 / (1_u64 << 52) as f64 - 1.0;
    let bits = scramble(row, col);
    c64::new(part(bits), part(bits.rotate_left(29).wrapping_mul(0x9E37_79B9_7F4A_7C15)))
}

/// All cases except those of files.
pub fn table() -> Vec<Case> {
    let mut cases = shapes::cases();
    cases.extend(rules::cases());
    cases.extend(crate::check::rule::cases());
    cases.extend(random::cases());
    cases
}
