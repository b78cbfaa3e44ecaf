//! What every plan shares: options, algorithm tables and the choice that was made.

use crate::error::{Error, Result};
use std::fmt::Display;

/// Whether an algorithm must give the same bits on every run (rule R1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Determinism {
    /// The same bits on every run on the same device and build.
    #[default]
    Reproducible,
    /// Algorithms that add with atomics are allowed.
    Relaxed,
}

/// What a plan may assume and must respect.
///
/// ```
/// use sparse_core::PlanOptions;
///
/// let options = PlanOptions { expected_calls: 1000, ..PlanOptions::default() };
/// assert_eq!(options.algorithm, None); // the plan chooses
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct PlanOptions {
    /// How often the plan will run; 1 does no heavy analysis.
    pub expected_calls: usize,
    /// Whether the algorithm must be reproducible.
    pub determinism: Determinism,
    /// The algorithm by name; `None` lets the plan choose.
    pub algorithm: Option<String>,
}

impl Default for PlanOptions {
    fn default() -> Self {
        Self { expected_calls: 100, determinism: Determinism::default(), algorithm: None }
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

    /// Allows algorithms that are not reproducible.
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

    /// The algorithm to run: the forced one, or `automatic` with its reason.
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
    /// [`Error::Unsupported`] if the forced algorithm is not in the table, or is not reproducible while
    /// [`Determinism::Reproducible`] is asked for.
    pub fn choose(
        &self,
        op: &str,
        table: &'static [Algorithm],
        automatic: &str,
        reason: impl Display,
    ) -> Result<Choice> {
        let (name, reason) = match &self.algorithm {
            Some(name) => (name.as_str(), "forced by PlanOptions::algorithm".to_string()),
            None => (automatic, reason.to_string()),
        };
        let Some(algorithm) = table.iter().find(|a| a.name == name) else {
            let names: Vec<_> = table.iter().map(|a| a.name).collect();
            return Err(Error::unsupported(
                format!("{op} algorithm `{name}`"),
                format!("this backend has {}", names.join(", ")),
            ));
        };
        if !algorithm.reproducible && self.determinism == Determinism::Reproducible {
            return Err(Error::unsupported(
                format!("{op} algorithm `{name}`"),
                "it is not reproducible, which needs Determinism::Relaxed",
            ));
        }
        Ok(Choice { algorithm: algorithm.name, reason })
    }
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
    /// Whether every run gives the same bits.
    pub reproducible: bool,
    /// What the plan computes and holds.
    pub preprocessing: &'static str,
    /// When the plan chooses it by itself.
    pub chosen: &'static str,
}

impl Algorithm {
    /// A reproducible algorithm that needs no preprocessing.
    pub const fn new(name: &'static str, chosen: &'static str) -> Self {
        Self { name, reproducible: true, preprocessing: "none", chosen }
    }

    /// The same with what the plan computes and holds.
    #[must_use]
    pub const fn preprocessing(mut self, what: &'static str) -> Self {
        self.preprocessing = what;
        self
    }

    /// The same, marked as not reproducible.
    #[must_use]
    pub const fn relaxed(mut self) -> Self {
        self.reproducible = false;
        self
    }
}

/// Which algorithm a plan runs, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// The algorithm's name.
    pub algorithm: &'static str,
    /// Why it was chosen.
    pub reason: String,
}

/// What a backend keeps for one operation on one pattern.
pub trait KernelPlan: Send + std::fmt::Debug {
    /// Which algorithm runs, and why.
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
