//! `nnz spmm`: sparse matrix times dense matrix.

use crate::context::Context;
use crate::failure::usage;
use crate::file;
use crate::format::Format;
use crate::named_device::NamedDevices;
use crate::operand::{self, Dimensions, Operand};
use crate::product::{Factor, ProductOptions, check_size, multiply};
use crate::ranks::Ranks;
use anyhow::Result;
use clap::Args;
use nnz::io::npy;
use nnz::op::Op;
use nnz::{Aggregation, c64};
use std::path::PathBuf;

/// Multiplies a sparse with a dense matrix: C = alpha·op(A)·B + beta·Y
///
/// C has the memory order of B (C or Fortran). A vector B of shape (n,) counts as one column, and the result is a
/// vector. Without --dtype the product has the type that represents the values of all operands exactly. A batch written
/// by `nnz compress` counts as the block-diagonal matrix of its members.
///
/// With MPI (`mpirun -n 4 nnz spmm …`, built with the feature mpi), the rows of A are divided among ranks so that each
/// has about equally many entries. Each rank uses the device of its number on its host. It reads only its own rows if A
/// is CSR in .npz, a folder of parts, or an uncompressed .mtx; else rank 0 reads A and sends them. Rank 0 writes. -v
/// prints the rows of each rank.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  nnz spmm a.mtx u.npy -o c.npy
  nnz spmm a.mtx u.npy -o c.npy --reduce max --arg positions.npy")]
pub(crate) struct Spmm {
    /// Matrix A; - is stdin
    matrix: PathBuf,
    /// Dense matrix B; - is stdin
    #[arg(value_name = "B.npy")]
    b: PathBuf,
    /// File to write C to; - is stdout
    #[arg(short = 'o', long = "out", value_name = "C.npy")]
    out: PathBuf,
    /// Reduction of the products of each row: sum, mean, min or max; an empty row gives 0
    #[arg(long, value_name = "NAME", default_value = "sum")]
    reduce: Aggregation,
    /// File to write, for each min or max, the position in CSR order of the entry that gave it; nnz where the row is
    /// empty
    #[arg(long, value_name = "ARG.npy")]
    arg: Option<PathBuf>,
    #[command(flatten)]
    options: ProductOptions,
}

impl Spmm {
    pub(crate) fn run(self, context: &Context) -> Result<()> {
        if self.reduce == Aggregation::Sum && self.arg.is_none() {
            return multiply(
                Factor::Matrix,
                context,
                &self.options,
                NamedDevices::default(),
                [&self.matrix, &self.b, &self.out],
            );
        }
        self.aggregate(context)
    }

    /// Multiplies with another reduction than the sum.
    fn aggregate(self, context: &Context) -> Result<()> {
        let ranks = Ranks::join()?;
        if ranks.transport().is_some() {
            let reduce = self.reduce;
            return ranks.agree(Err(usage(format_args!(
                "--reduce {reduce} and --arg run on one device: start one process"
            ))));
        }
        self.check()?;
        let device = context.device()?;
        let b = Operand::read(&self.b)?;
        let matrix = file::open(&self.matrix)?;
        let dtype = operand::common_dtype(context, &matrix, [&b])?;
        let a = file::read(&matrix, dtype, &device)?;
        drop(matrix);
        let dimensions = b.dimensions();
        let b = b.into_dense(dtype, &device)?;
        check_size(a.shape(), a.nnz(), &b)?;
        let Some(arg) = &self.arg else {
            return operand::write(&self.out, &a.matmul_reduce(self.reduce, &b)?, dimensions);
        };
        let (c, positions) = a.matmul_reduce_arg(self.reduce, &b)?;
        operand::write(&self.out, &c, dimensions)?;
        match dimensions {
            Dimensions::One => npy::write_indices(file::output(arg), &positions)?,
            Dimensions::Two => npy::write_index_rows(file::output(arg), &positions, (c.nrows(), c.ncols()))?,
        }
        Ok(())
    }

    fn check(&self) -> Result<()> {
        let ProductOptions { alpha, beta, op, format, ref algorithm, ref y } = self.options;
        let is_plain = alpha == c64::ONE && beta == c64::ZERO && y.is_none() && op == Op::None;
        if !is_plain || format != Format::Csr || algorithm.is_some() {
            let reduce = self.reduce;
            return Err(usage(format_args!("--reduce {reduce} and --arg are of A·B alone, in csr")));
        }
        file::check_inputs([&*self.matrix, &*self.b])?;
        if let Some(arg) = &self.arg {
            if *arg == self.out {
                return Err(usage(format_args!("--arg and --out both name {}", arg.display())));
            }
            file::check_npy_output(arg)?;
        }
        file::check_npy_output(&self.out)
    }
}
