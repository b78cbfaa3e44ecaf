//! `nnz trisolve`: op(A)·X = B by substitution.

use crate::context::Context;
use crate::file;
use crate::operand::{self, Operand};
use crate::option_values::parse_op;
use anyhow::Result;
use clap::{ArgGroup, Args};
use nnz::op::{Op, Triangular};
use std::path::PathBuf;

/// Solves op(A)·X = B by substitution, with a triangle of A
///
/// Entries in the other triangle of A are ignored. Without --dtype X has the type that represents the values of A and B
/// exactly. Without --backend the CPU computes: rows depend on each other, and one solve takes less time there than
/// copying A to a GPU.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  nnz trisolve a.mtx x.npy -o y.npy --lower")]
#[command(group = ArgGroup::new("triangle").required(true).args(["lower", "upper"]))]
pub(crate) struct Trisolve {
    /// Square matrix A; - is stdin
    matrix: PathBuf,
    /// Right-hand sides B: a vector or a matrix; - is stdin
    #[arg(value_name = "B.npy")]
    b: PathBuf,
    /// File to write X to; - is stdout
    #[arg(short = 'o', long = "out", value_name = "X.npy")]
    out: PathBuf,
    /// Uses the lower triangle of A
    #[arg(long)]
    lower: bool,
    /// Uses the upper triangle of A
    #[arg(long)]
    upper: bool,
    /// Assumes a unit diagonal; stored diagonal entries are not read
    #[arg(long)]
    unit_diagonal: bool,
    /// op: n for A, t for its transpose, c for its conjugate transpose; the triangle is that of A, before op
    #[arg(long, default_value = "n", value_parser = parse_op)]
    op: Op,
}

impl Trisolve {
    pub(crate) fn run(self, context: &Context) -> Result<()> {
        file::check_inputs([&*self.matrix, &*self.b])?;
        file::check_npy_output(&self.out)?;
        let device = context.device_or_host()?;
        let b = Operand::read(&self.b)?;
        let matrix = file::open(&self.matrix)?;
        let dtype = operand::common_dtype(context, &matrix, [&b])?;
        let a = file::read(&matrix, dtype, &device)?;
        let dimensions = b.dimensions();
        let x = a.solve_triangular_many(self.system(), &b.into_dense(dtype, &device)?)?;
        operand::write(&self.out, &x, dimensions)
    }

    fn system(&self) -> Triangular {
        let system = if self.upper { Triangular::upper() } else { Triangular::lower() };
        let system = if self.unit_diagonal { system.unit_diagonal() } else { system };
        system.with_op(self.op)
    }
}
