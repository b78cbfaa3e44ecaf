//! `nnz sddmm`: the product of two dense matrices at the entries of a sparse one.

use crate::context::Context;
use crate::file;
use crate::operand::Operand;
use crate::product::{self, check_algorithm, check_factor, parse_factor, tell_choice};
use anyhow::Result;
use clap::Args;
use nnz::op::Sampling;
use nnz::{Matrix, PlanOptions, Vector, c64};
use std::path::PathBuf;

/// Multiplies two dense matrices where a sparse one has entries: C = alpha·A ∘ (U·Vᵀ)
///
/// Entry (i, j) of C is alpha·a_ij times the scalar product of row i of U and row j of V; nothing is conjugated. A
/// vector counts as one column. Of a batch that `nnz compress` wrote, A is the block-diagonal matrix of its members: U
/// and V have the rows of all of them, one below the other, or are stacks (3-D) with a matrix for each. Without --dtype
/// C is computed in the type that holds the values of all operands exactly.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  nnz sddmm a.mtx u.npy u.npy -o c.npz")]
pub(crate) struct Sddmm {
    /// The sparse matrix A; - is standard input
    matrix: PathBuf,
    /// The dense matrix U, with as many rows as A; - is standard input
    #[arg(value_name = "U.npy")]
    u: PathBuf,
    /// The dense matrix V, with as many rows as A has columns, and the columns of U; - is standard input
    #[arg(value_name = "V.npy")]
    v: PathBuf,
    /// The file to write C to: .mtx, .mtx.gz, .npz or .npy (dense); - is standard output, which gets .mtx
    #[arg(short = 'o', long = "out", value_name = "C")]
    out: PathBuf,
    /// The factor of the product; complex as in 1+2i
    #[arg(long, default_value = "1", value_parser = parse_factor, allow_hyphen_values = true)]
    alpha: c64,
    /// Takes the pattern of A alone: its values count as 1
    #[arg(long)]
    pattern_only: bool,
    /// The heads of U and V, which have as many columns each: C is a batch with a matrix for each, in a file that ends
    /// in .npz
    #[arg(long, value_name = "N", conflicts_with_all = ["alpha", "pattern_only", "algorithm"])]
    heads: Option<usize>,
    /// The algorithm by name; without it the plan chooses. -v says which runs, and why
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
        let dtype = product::dtype(context, &matrix, [&u, &v])?;
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
        tell_choice(context, "sddmm", a.format().name(), plan.choice());
        let mut c = Vector::zeros(&device, dtype, a.nnz())?;
        plan.run(self.alpha, &a, (&u, &v), 0.0, &mut c)?;
        file::write(&self.out, &a.with_values(&c)?)
    }
}
