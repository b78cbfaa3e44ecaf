//! The report of `nnz solve`: whether each column converged, in how many iterations, and to which residual.

use crate::ranks::RankRows;
use anyhow::{Result, anyhow};
use nnz::solvers::Solution;
use serde::Serialize;
use std::fmt::{Display, Formatter};

/// The outcome of all columns.
#[derive(Debug, Serialize)]
pub(super) struct Outcome {
    pub(super) method: &'static str,
    pub(super) tolerance: f64,
    pub(super) columns: Vec<Column>,
    /// The rows of each rank, where there are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) ranks: Vec<RankRows>,
    /// The path of elements from one rank to another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) exchange: Option<String>,
}

/// The outcome of one column.
#[derive(Debug, Serialize)]
pub(super) struct Column {
    converged: bool,
    outcome: String,
    iterations: usize,
    residual: f64,
    relative_residual: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    normal_residual: Option<f64>,
}

impl Column {
    pub(super) fn new(solution: &Solution) -> Self {
        Self {
            converged: solution.converged(),
            outcome: solution.outcome.to_string(),
            iterations: solution.iterations,
            residual: solution.residual,
            relative_residual: solution.relative_residual,
            normal_residual: solution.normal_residual,
        }
    }
}

impl Display for Column {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let Self { outcome, iterations, relative_residual, .. } = self;
        write!(f, "{outcome} (iterations: {iterations}, relative residual: {relative_residual:.3e})")
    }
}

impl Outcome {
    /// Fails, with the residual that was reached, unless every column converged.
    pub(super) fn check(&self) -> Result<()> {
        match self.columns.iter().enumerate().find(|(_, column)| !column.converged) {
            None => Ok(()),
            Some((j, column)) => Err(anyhow!("column {j}: not converged to {:e}: {column}", self.tolerance)),
        }
    }
}

impl Display for Outcome {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let columns = self.columns.iter().enumerate().map(|(j, column)| format!("column {j}: {column}"));
        let ranks = self.ranks.iter().map(ToString::to_string);
        let exchange = self.exchange.iter().map(|path| format!("exchange: {path}"));
        f.write_str(&columns.chain(ranks).chain(exchange).collect::<Vec<_>>().join("\n"))
    }
}
