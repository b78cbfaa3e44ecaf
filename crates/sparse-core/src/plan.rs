//! The common part of all plans: options, algorithm tables and the choice that was made.

use crate::error::{Error, Result};
use std::fmt::Display;

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
#[derive(Debug, Clone, PartialEq)]
pub struct PlanOptions {
    /// Expected number of runs; 1 avoids heavy analysis.
    pub expected_calls: usize,
    /// The reproducibility required.
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
    pub fn once() -> Self {
        Self { expected_calls: 1, ..Self::default() }
    }

    /// Options that force the algorithm `name`.
    pub fn forced(name: &str) -> Self {
        Self { algorithm: Some(name.into()), ..Self::default() }
    }

    /// Allows algorithms that are not reproducible.
    #[must_use]
    pub fn relaxed(mut self) -> Self {
        self.determinism = Determinism::Relaxed;
        self
    }

    /// Chooses an algorithm: the forced one, or `automatic` with its reason.
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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Algorithm {
    /// The name that [`PlanOptions::algorithm`] takes.
    pub name: &'static str,
    /// True if every run gives the same bits.
    pub reproducible: bool,
    /// The data that the plan computes and stores.
    pub preprocessing: &'static str,
    /// The condition under which the plan chooses it by itself.
    pub chosen: &'static str,
}

impl Algorithm {
    /// A reproducible algorithm that needs no preprocessing.
    pub const fn new(name: &'static str, chosen: &'static str) -> Self {
        Self { name, reproducible: true, preprocessing: "none", chosen }
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
}

/// The algorithm of a plan, and the reason for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// The algorithm's name.
    pub algorithm: &'static str,
    /// The reason.
    pub reason: String,
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
