//! A case: a matrix and its operands, before any format or type.

use super::tier::Tier;
use crate::key::Key;
use crate::triplets::Triplets;
use sparse_core::{Result, c64};
use std::fmt::{self, Debug};

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
    /// The name of the case; that of a rule's case starts with the rule's id.
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
