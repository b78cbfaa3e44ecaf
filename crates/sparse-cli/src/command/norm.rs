//! `nnz norm`: a norm of a matrix.

use crate::claim;
use crate::context::Context;
use crate::file;
use crate::format::ReadOptions;
use anyhow::Result;
use clap::Args;
use nnz::{Format, Norm};
use serde::{Serialize, Serializer};
use std::fmt::{self, Display, Formatter};
use std::path::PathBuf;

/// Prints the Frobenius norm, the 1-norm or the infinity norm of a matrix
///
/// It is computed in double precision, and printed with the digits needed to read back the same number.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  nnz norm a.mtx --ord inf")]
pub(crate) struct PrintNorm {
    /// Matrix; - is stdin
    matrix: PathBuf,
    /// Norm: fro, 1 (the largest column sum) or inf (the largest row sum)
    #[arg(long, value_name = "NORM", default_value = "fro")]
    ord: Norm,
    #[command(flatten)]
    read: ReadOptions,
}

impl PrintNorm {
    pub(crate) fn run(self, context: &Context) -> Result<()> {
        let input = file::open(&self.matrix)?;
        let a = self.read.read(&input, file::dtype_of(&input, context)?, &context.device()?)?;
        if self.ord != Norm::Frobenius && a.format() != Format::Coo {
            claim::check_lines(&a)?;
        }
        context.report(&Value(a.norm(self.ord)?))
    }
}

/// A norm; in JSON what is not finite is a string, `inf` or `NaN`.
#[derive(Debug)]
struct Value(f64);

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        match self.0.is_finite() {
            true => serializer.serialize_f64(self.0),
            false => serializer.collect_str(self),
        }
    }
}

impl Display for Value {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let has_few_digits = self.0 == 0.0 || !self.0.is_finite() || (1e-5..1e16).contains(&self.0);
        if has_few_digits { self.0.fmt(f) } else { write!(f, "{:e}", self.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn very_large_and_small_numbers_have_an_exponent() {
        let shown =
            [0.0, 13.0, 0.5, 1e-7, 1.5e300, 2e16, f64::INFINITY, f64::NAN].map(|x| Value(x).to_string());
        assert_eq!(shown, ["0", "13", "0.5", "1e-7", "1.5e300", "2e16", "inf", "NaN"]);
    }
}
