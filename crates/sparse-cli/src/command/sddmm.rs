//! `nnz sddmm`: the product of two dense matrices at the entries of a sparse one.

use crate::algorithm::{check_algorithm, print_choice};
use crate::context::Context;
use crate::file;
use crate::operand::{self, Operand};
use crate::option_values::{check_factor, parse_factor};
use anyhow::Result;
use clap::Args;
use nnz::op::Sampling;
use nnz::{Matrix, PlanOptions, Vector, c64};
use std::path::PathBuf;

/// Multiplies two dense matrices at the entries of a sparse one: C = alpha·A ∘ (U·Vᵀ)
///
/// Entry (i, j) of C is alpha·a_ij times the scalar product of row i of U and row j of V; nothing is conjugated. A
/// vector counts as one column. A batch written by `nnz compress` counts as the block-diagonal matrix of its members; U
/// and V then have the rows of all members one below the other, or are 3-D arrays with a matrix per member. Without
/// --dtype C has the type that represents the values of all operands exactly.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  nnz sddmm a.mtx u.npy u.npy -o c.npz")]
pub(crate) struct Sddmm {
    /// Sparse matrix A; - is stdin
    matrix: PathBuf,
    /// Dense matrix U, with as many rows as A; - is stdin
    #[arg(value_name = "U.npy")]
    u: PathBuf,
    /// Dense matrix V, with as many rows as A has columns and as many columns as U; - is stdin
    #[arg(value_name = "V.npy")]
    v: PathBuf,
    /// File to write C to: .mtx, .mtx.gz, .npz or .npy (dense); - is stdout, as .mtx
    #[arg(short = 'o', long = "out", value_name = "C")]
    out: PathBuf,
    /// Factor of the product; complex as in 1+2i
    #[arg(long, default_value = "1", value_parser = parse_factor, allow_hyphen_values = true)]
    alpha: c64,
    /// Uses only the pattern of A: its values count as 1
    #[arg(long)]
    pattern_only: bool,
    /// Divides the columns of U and V into N heads of equal width: C is a batch with a matrix per head (.npz)
    #[arg(long, value_name = "N", conflicts_with_all = ["alpha", "pattern_only", "algorithm"])]
    heads: Option<usize>,
    /// Algorithm [default: chosen by the plan; -v prints which, and why]
    #[arg(long, value_name = "NAME")]
    algorithm: Option<String>,
}

impl Sddmm {
    pub(crate) fn run(self, context: &Context) -> Result<()> {
        match self.heads {
            Some(_) => file::check_npz_output(&self.out)?,
            None => drop(file::check_output(&self.out)?),
        }
        file::check_inputs([self.matrix.as_path(), &self.u, &self.v])?;
        let device = context.device()?;
        let matrix = file::open(&self.matrix)?;
        let read = if matrix.batch_format()?.is_some() { Operand::read_stack } else { Operand::read };
        let (u, v) = (read(&self.u)?, read(&self.v)?);
        let dtype = operand::common_dtype(context, &matrix, [&u, &v])?;
        check_factor("--alpha", self.alpha, dtype)?;
        let a = file::read_or_batch(&matrix, dtype, &device)?;
        if let Some(members) = a.members() {
            [&u, &v].into_iter().try_for_each(|operand| operand.check_members(members))?;
        }
        let (u, v) = (u.into_dense(dtype, &device)?, v.into_dense(dtype, &device)?);
        if let Some(heads) = self.heads {
            return file::write(&self.out, &Matrix::from_members(&a.sddmm_heads(&u, &v, heads)?)?);
        }
        check_algorithm(self.algorithm.as_deref(), a.format().name(), a.sddmm_algorithms())?;
        let options = PlanOptions { algorithm: self.algorithm, ..PlanOptions::once() };
        let sampling = if self.pattern_only { Sampling::Pattern } else { Sampling::Values };
        let mut plan = a.plan_sddmm(sampling, u.ncols(), &options)?;
        print_choice(context, "sddmm", a.format().name(), plan.choice());
        let mut c = Vector::zeros(&device, dtype, a.nnz())?;
        plan.run(self.alpha, &a, (&u, &v), 0.0, &mut c)?;
        file::write(&self.out, &a.with_values(&c)?)
    }
}
