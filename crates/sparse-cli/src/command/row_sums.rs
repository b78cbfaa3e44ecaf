//! `nnz row-sums`: the sums of the rows.

use crate::context::Context;
use crate::dispatch::{Compute, compute, upload};
use crate::file;
use crate::operand::{self, Dimensions};
use crate::product::tell_choice;
use anyhow::Result;
use clap::Args;
use nnz::op::{FullBackend, RowSumsPlan};
use nnz::{Accumulator, Csr, Host, Index, PlanOptions, Space, SpaceOf, SparseFormat};
use std::path::{Path, PathBuf};

/// Sums the rows: S = A·1
#[derive(Debug, Args)]
pub(crate) struct RowSums {
    /// The matrix A; - is standard input
    matrix: PathBuf,
    /// The file to write S to; - is standard output
    #[arg(short = 'o', long = "out", value_name = "S.npy")]
    out: PathBuf,
}

impl RowSums {
    pub(crate) fn run(self, context: &Context) -> Result<()> {
        file::output(&self.out).check()?;
        let device = context.device()?;
        let matrix = file::open(&self.matrix)?;
        let dtype = file::dtype_of(&matrix, context)?;
        compute(matrix, dtype, &device, SumRows { out: &self.out, context })
    }
}

struct SumRows<'a> {
    out: &'a Path,
    context: &'a Context,
}

impl Compute for SumRows<'_> {
    fn call<T, I, O, B>(self, a: Csr<T, Host, I, O>, backend: &B) -> Result<()>
    where
        T: Accumulator,
        I: Index,
        O: Index,
        B: FullBackend<T, I, O> + FullBackend<T, i32, i32>,
    {
        let mut sums = backend.zeros::<T>(a.rows())?;
        let a: Csr<T, SpaceOf<B>, I, O> = upload(a, backend)?;
        let mut plan = RowSumsPlan::new(backend, &a, &PlanOptions::once())?;
        tell_choice(self.context, "row_sums", "csr", plan.choice());
        plan.run(&a, SpaceOf::<B>::view_mut(&mut sums))?;
        operand::write(self.out, &operand::column(backend.download(&sums)?)?, Dimensions::One)
    }
}
