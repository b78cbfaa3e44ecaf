//! `nnz trisolve`: op(A)·X = B by substitution.

use crate::context::Context;
use crate::file;
use crate::operand::{self, Operand};
use crate::product;
use anyhow::Result;
use clap::{ArgGroup, Args};
use nnz::op::{Op, Triangular};
use std::path::PathBuf;

/// Solves op(A)·X = B by substitution, for a triangle of A and every column of B
///
/// Entries in the other triangle of A are ignored. Without --dtype X is computed in the type that holds the values of A
/// and B exactly. Without --backend it is computed on the CPU: rows wait for each other.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  nnz trisolve a.mtx x.npy -o y.npy --lower")]
#[command(group = ArgGroup::new("triangle").required(true).args(["lower", "upper"]))]
pub(crate) struct Trisolve {
    /// The square matrix A; - is standard input
    matrix: PathBuf,
    /// The right-hand sides: a vector, or a matrix of them; - is standard input
    #[arg(value_name = "B.npy")]
    b: PathBuf,
    /// The file to write X to; - is standard output
    #[arg(short = 'o', long = "out", value_name = "X.npy")]
    out: PathBuf,
    /// Takes the lower triangle of A
    #[arg(long)]
    lower: bool,
    /// Takes the upper triangle of A
    #[arg(long)]
    upper: bool,
    /// Takes ones for the diagonal of A; what is stored there is not read
    #[arg(long)]
    unit_diagonal: bool,
    /// A itself, its transpose, or its conjugate transpose: n, t or c; the triangle is that of A
    #[arg(long, default_value = "n", value_parser = product::parse_op)]
    op: Op,
}

impl Trisolve {
    pub(crate) fn run(self, context: &Context) -> Result<()> {
        file::check_inputs([&*self.matrix, &*self.b])?;
        file::check_npy_output(&self.out)?;
        let device = context.device_or_host()?;
        let b = Operand::read(&self.b)?;
        let matrix = file::open(&self.matrix)?;
        let dtype = product::dtype(context, &matrix, [&b])?;
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
