//! The common part of all plans: options, algorithm tables and the choice that was made.

use crate::error::{Error, Result};
use std::fmt::{self, Display, Formatter};
use std::sync::{Mutex, PoisonError};

/// Reproducibility that a plan requires of its algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Determinism {
    /// The same bits on every run on the same device and build.
    #[default]
    Reproducible,
    /// Algorithms that add with atomics are allowed.
    Relaxed,
}

/// The assumptions and limits of a plan.
///
/// ```
/// use sparse_core::PlanOptions;
///
/// let options = PlanOptions { expected_calls: 20, ..PlanOptions::default() };
/// assert_eq!(options.algorithm, None); // the plan chooses
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct PlanOptions {
    /// Expected number of runs; 1 avoids heavy analysis.
    pub expected_calls: usize,
    /// The reproducibility required.
    pub determinism: Determinism,
    /// The algorithm by name; `None` lets the plan choose.
    pub algorithm: Option<String>,
    /// Bytes beside the operands that are read or written between two runs, and so compete with them for a cache.
    pub bytes_between_runs: usize,
}

impl Default for PlanOptions {
    fn default() -> Self {
        Self {
            expected_calls: 100,
            determinism: Determinism::default(),
            algorithm: None,
            bytes_between_runs: 0,
        }
    }
}

impl PlanOptions {
    /// Options for a single run.
    ///
    /// ```
    /// use sparse_core::PlanOptions;
    ///
    /// assert_eq!(PlanOptions::once().expected_calls, 1);
    /// ```
    pub fn once() -> Self {
        Self { expected_calls: 1, ..Self::default() }
    }

    /// Options for so many runs that the planning time is negligible, as in a solver or a benchmark.
    ///
    /// ```
    /// use sparse_core::PlanOptions;
    ///
    /// assert_eq!(PlanOptions::often().expected_calls, 1000);
    /// ```
    pub fn often() -> Self {
        Self { expected_calls: 1000, ..Self::default() }
    }

    /// Options that force the algorithm `name`.
    ///
    /// ```
    /// use sparse_core::op::{Op, SpmvPlan};
    /// use sparse_core::{Csr, PlanOptions, reference::Reference};
    ///
    /// let a = Csr::<f64>::identity(2)?;
    /// assert!(SpmvPlan::new(&Reference, &a, Op::None, &PlanOptions::forced("sequential")).is_ok());
    /// let error = SpmvPlan::new(&Reference, &a, Op::None, &PlanOptions::forced("fast")).unwrap_err();
    /// assert_eq!(error.to_string(), "spmv algorithm `fast` is not supported: this backend has sequential");
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    pub fn forced(name: &str) -> Self {
        Self { algorithm: Some(name.into()), ..Self::default() }
    }

    /// Allows algorithms that are not reproducible: their results may differ in the last bits from run to run.
    ///
    /// ```
    /// use sparse_core::{Determinism, PlanOptions};
    ///
    /// let options = PlanOptions::forced("atomic").relaxed();
    /// assert_eq!(options.determinism, Determinism::Relaxed);
    /// ```
    #[must_use]
    pub fn relaxed(mut self) -> Self {
        self.determinism = Determinism::Relaxed;
        self
    }

    /// Chooses an algorithm: the forced one, or `automatic` with its reason.
    ///
    /// ```
    /// use sparse_core::{Algorithm, PlanOptions};
    ///
    /// const TABLE: &[Algorithm] = &[Algorithm::new("loop", "always"), Algorithm::new("atomic", "never").relaxed()];
    ///
    /// let choice = PlanOptions::default().choose("spmv", TABLE, "loop", "there is no faster one")?;
    /// assert_eq!(choice.algorithm, "loop");
    /// assert!(PlanOptions::forced("atomic").choose("spmv", TABLE, "loop", "").is_err());
    /// assert!(PlanOptions::forced("atomic").relaxed().choose("spmv", TABLE, "loop", "").is_ok());
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the forced algorithm is not in the table, or is not reproducible although
    /// [`Determinism::Reproducible`] is required.
    pub fn choose(
        &self,
        op: &str,
        table: &'static [Algorithm],
        automatic: &str,
        reason: impl Display,
    ) -> Result<Choice> {
        let name = self.algorithm.as_deref().unwrap_or(automatic);
        let algorithm = table.iter().find(|a| a.name == name).ok_or_else(|| unknown(op, name, table))?;
        self.admit(op, algorithm, reason)
    }

    /// Chooses among the variants of an enum of algorithms that a backend has, those in the table `offered`. The name
    /// is read here; from here on the algorithm is a variant.
    ///
    /// # Errors
    /// As [`choose`](Self::choose).
    pub fn choose_among<A: AlgorithmSet>(
        &self,
        op: &str,
        offered: &[Algorithm],
        automatic: A,
        reason: impl Display,
    ) -> Result<(A, Choice)> {
        let chosen = match &self.algorithm {
            None => automatic,
            Some(name) => A::named(name)
                .filter(|forced| offered.contains(forced.row()))
                .ok_or_else(|| unknown(op, name, offered))?,
        };
        Ok((chosen, self.admit(op, chosen.row(), reason)?))
    }

    /// The choice of an algorithm, if it is as reproducible as it must be.
    fn admit(&self, op: &str, algorithm: &Algorithm, reason: impl Display) -> Result<Choice> {
        if !algorithm.reproducible && self.determinism == Determinism::Reproducible {
            return Err(Error::unsupported(
                format!("{op} algorithm `{}`", algorithm.name),
                "it is not reproducible, which needs Determinism::Relaxed",
            ));
        }
        let reason = match self.algorithm {
            Some(_) => "forced by PlanOptions::algorithm".into(),
            None => reason.to_string(),
        };
        Ok(Choice { algorithm: algorithm.name, reason })
    }
}

/// The error of an algorithm that is not in the table.
fn unknown(op: &str, name: &str, table: &[Algorithm]) -> Error {
    let names: Vec<_> = table.iter().map(|a| a.name).collect();
    Error::unsupported(format!("{op} algorithm `{name}`"), format!("this backend has {}", names.join(", ")))
}

/// The algorithms of one operation and family of formats: an enum with a row of a table for each variant, as
/// [`algorithms!`](crate::algorithms) declares it.
pub trait AlgorithmSet: Copy + PartialEq + Sized + 'static {
    /// The requirements of an algorithm, of a device or of its plan.
    type Needs: 'static;
    /// All algorithms, in the order of the table.
    const ALL: &'static [Self];

    /// The algorithm's row of the table.
    fn row(self) -> &'static Algorithm;

    /// The requirements of the algorithm.
    fn needs(self) -> &'static Self::Needs;

    /// The algorithm of this name.
    fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|algorithm| algorithm.row().name == name)
    }

    /// The rows of those that are offered, which are a backend's table.
    fn table(is_offered: &dyn Fn(Self) -> bool) -> &'static [Algorithm] {
        let offered = Self::ALL.iter().copied().filter(|algorithm| is_offered(*algorithm));
        interned(offered.map(|algorithm| *algorithm.row()).collect())
    }
}

/// Every algorithm table that a backend has requested. They are few: one for each distinct subset of an
/// [`AlgorithmSet`] that some backend offers.
static TABLES: Mutex<Vec<&'static [Algorithm]>> = Mutex::new(vec![]);

/// The table with a `'static` lifetime; equal tables share one allocation.
fn interned(table: Vec<Algorithm>) -> &'static [Algorithm] {
    let mut tables = TABLES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = tables.iter().copied().find(|known| *known == table) {
        return known;
    }
    let table: &'static [Algorithm] = table.leak();
    tables.push(table);
    table
}

/// Declares an [`AlgorithmSet`]: an enum, and for each variant its row and its requirements.
///
/// ```
/// use sparse_core::{Algorithm, AlgorithmSet, PlanOptions, algorithms};
///
/// algorithms! {
///     /// Ways to sum.
///     enum Sum needs usize {
///         Serial = Algorithm::new("serial", "there is one thread"), 1;
///         Tree = Algorithm::new("tree", "there are several threads"), 2;
///     }
/// }
///
/// let offered = Sum::table(&|sum| *sum.needs() <= 1);
/// let options = PlanOptions::default();
/// assert_eq!(options.choose_among("sum", offered, Sum::Serial, "one thread").unwrap().0, Sum::Serial);
/// assert!(PlanOptions::forced("tree").choose_among("sum", offered, Sum::Serial, "").is_err());
/// ```
#[macro_export]
macro_rules! algorithms {
    (
        $(#[$about:meta])*
        $visibility:vis enum $name:ident {
            $($(#[$about_variant:meta])* $variant:ident = $row:expr;)+
        }
    ) => {
        $crate::algorithms! {
            $(#[$about])*
            $visibility enum $name needs () {
                $($(#[$about_variant])* $variant = $row, ();)+
            }
        }
    };
    (
        $(#[$about:meta])*
        $visibility:vis enum $name:ident needs $needs:ty {
            $($(#[$about_variant:meta])* $variant:ident = $row:expr, $need:expr;)+
        }
    ) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        $visibility enum $name {
            $($(#[$about_variant])* $variant,)+
        }

        impl $crate::AlgorithmSet for $name {
            type Needs = $needs;
            const ALL: &'static [Self] = &[$(Self::$variant),+];

            fn row(self) -> &'static $crate::Algorithm {
                const ROWS: &[$crate::Algorithm] = &[$($row),+];
                &ROWS[self as usize]
            }

            fn needs(self) -> &'static $needs {
                const NEEDS: &[$needs] = &[$($need),+];
                &NEEDS[self as usize]
            }
        }
    };
}

/// A row of an operation's algorithm table.
///
/// ```
/// use sparse_core::Algorithm;
///
/// const SORTED: Algorithm =
///     Algorithm::new("sorted", "for 32 calls and more").preprocessing("rows in the order of their lengths");
/// assert!(SORTED.reproducible);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Algorithm {
    /// The name that [`PlanOptions::algorithm`] takes.
    pub name: &'static str,
    /// True if every run gives the same bits.
    pub reproducible: bool,
    /// Significant bits to which the algorithm rounds both factors of each product; `None` if it multiplies them as
    /// they are. No plan chooses one that rounds: it runs by its name alone.
    pub factor_bits: Option<u32>,
    /// The data that the plan computes and stores.
    pub preprocessing: &'static str,
    /// The condition under which the plan chooses it by itself.
    pub chosen: &'static str,
}

impl Algorithm {
    /// A reproducible algorithm that needs no preprocessing.
    pub const fn new(name: &'static str, chosen: &'static str) -> Self {
        Self { name, reproducible: true, factor_bits: None, preprocessing: "none", chosen }
    }

    /// Sets the data that the plan computes and stores.
    #[must_use]
    pub const fn preprocessing(mut self, what: &'static str) -> Self {
        self.preprocessing = what;
        self
    }

    /// Marks the algorithm as not reproducible.
    #[must_use]
    pub const fn relaxed(mut self) -> Self {
        self.reproducible = false;
        self
    }

    /// True if a plan may choose the algorithm by itself: it is reproducible and rounds no factors.
    pub const fn is_choosable(&self) -> bool {
        self.reproducible && self.factor_bits.is_none()
    }

    /// Sets the significant bits to which both factors of each product are rounded.
    #[must_use]
    pub const fn rounding_factors_to(mut self, bits: u32) -> Self {
        self.factor_bits = Some(bits);
        self
    }
}

/// The algorithm of a plan, and the reason for it.
///
/// ```
/// use sparse_core::op::{Op, SpmvPlan};
/// use sparse_core::{Csr, PlanOptions, reference::Reference};
///
/// let plan = SpmvPlan::new(&Reference, &Csr::<f64>::identity(2)?, Op::None, &PlanOptions::default())?;
/// assert!(plan.choice().to_string().starts_with("sequential: "));
/// # Ok::<(), sparse_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// The algorithm's name.
    pub algorithm: &'static str,
    /// The reason.
    pub reason: String,
}

impl Display for Choice {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.algorithm, self.reason)
    }
}

/// A backend's plan for one operation on one pattern.
pub trait KernelPlan: Send + std::fmt::Debug {
    /// The algorithm that runs, and the reason.
    fn choice(&self) -> &Choice;

    /// Bytes of workspace that the plan owns.
    fn workspace_bytes(&self) -> usize {
        0
    }
}

/// The plan of an algorithm that needs no workspace.
impl KernelPlan for Choice {
    fn choice(&self) -> &Choice {
        self
    }
}
