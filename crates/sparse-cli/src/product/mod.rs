//! Products of a sparse matrix with a vector or a dense matrix: the options of `nnz spmv` and `nnz spmm`, and their
//! steps.

mod multiply;

pub(crate) use multiply::{Factor, check_size, multiply};

use crate::failure::usage;
use crate::format::Format;
use crate::option_values::{parse_factor, parse_op};
use anyhow::Result;
use clap::Args;
use clap::builder::ArgPredicate;
use nnz::op::Op;
use nnz::{PlanOptions, c64};
use std::path::PathBuf;

/// The options of a product `alpha·op(A)·X + beta·Y`.
#[derive(Debug, Args)]
pub(crate) struct ProductOptions {
    /// Factor of the product; complex as in 1+2i
    #[arg(long, default_value = "1", value_parser = parse_factor, allow_hyphen_values = true)]
    pub(crate) alpha: c64,
    /// Factor of --y, 1 by default; if 0, --y is not read
    #[arg(
        long,
        default_value = "0",
        default_value_if("y", ArgPredicate::IsPresent, "1"),
        hide_default_value = true,
        value_parser = parse_factor,
        allow_hyphen_values = true
    )]
    pub(crate) beta: c64,
    /// Array added to the product, in the shape of the result
    #[arg(long, value_name = "Y.npy")]
    pub(crate) y: Option<PathBuf>,
    /// op: n for A, t for its transpose, c for its conjugate transpose
    #[arg(long, default_value = "n", value_parser = parse_op)]
    pub(crate) op: Op,
    /// Format to compute in; coo takes any number of rows
    #[arg(
        long = "as",
        visible_alias = "format",
        value_name = "FORMAT",
        default_value = "csr",
        ignore_case = true
    )]
    pub(crate) format: Format,
    /// Algorithm [default: chosen by the plan; -v prints which, and why]
    #[arg(long, value_name = "NAME")]
    pub(crate) algorithm: Option<String>,
}

impl ProductOptions {
    /// Checks the options that need no file.
    pub(crate) fn check(&self) -> Result<()> {
        if self.beta != c64::default() && self.y.is_none() {
            return Err(usage("--beta needs --y, what it is the factor of"));
        }
        Ok(())
    }

    /// The file of the added term, if it is to be read.
    pub(crate) fn added(&self) -> Option<&PathBuf> {
        self.y.as_ref().filter(|_| self.beta != c64::default())
    }

    /// Options for one run. A named algorithm may be one that is not reproducible.
    pub(crate) fn plan(&self) -> PlanOptions {
        match &self.algorithm {
            Some(name) => PlanOptions { expected_calls: 1, ..PlanOptions::forced(name).relaxed() },
            None => PlanOptions::once(),
        }
    }
}
