//! `nnz spmv`: sparse matrix times vector.

use crate::context::Context;
use crate::multiply::{Factor, multiply};
use crate::named_device::{self, NamedDevice, NamedDevices};
use crate::product::ProductOptions;
use anyhow::Result;
use clap::Args;
use nnz::ExchangePath;
use std::path::PathBuf;

/// Multiplies: Y = alpha·op(A)·X + beta·Y₀, X a vector
///
/// X has shape (n,) or (n, 1), and Y has as many dimensions. Without --dtype the product is computed in the type that
/// holds the values of all operands exactly. A batch that `nnz compress` wrote is the block-diagonal matrix of its
/// members.
///
/// Where no device is named, the CPU multiplies: it has finished before a matrix from a file has reached another
/// device.
///
/// As in `mpirun -n 4 nnz spmv …`, of a build with the feature mpi, ranks divide the rows of A by their entries, each
/// on the device of its number on its host. Each reads its rows, where A is csr in .npz or a folder of parts, or its
/// lines of an uncompressed .mtx; the first reads all else, and writes. -v says what each has.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  nnz spmv a.mtx x.npy -o y.npy
  nnz spmv a.mtx x.npy -o y.npy --op t --alpha 2")]
pub(crate) struct Spmv {
    /// The matrix A, a file or a folder of parts; - is standard input
    matrix: PathBuf,
    /// The vector X; - is standard input
    #[arg(value_name = "X.npy")]
    x: PathBuf,
    /// The file to write Y to; - is standard output
    #[arg(short = 'o', long = "out", value_name = "Y.npy")]
    out: PathBuf,
    /// Divides the rows of A among devices, as in cpu,cuda:0,cuda:1, by their entries; each has its own as csr
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = named_device::parse,
          conflicts_with_all = ["backend", "device", "format", "algorithm"])]
    devices: Vec<NamedDevice>,
    /// The path on which --devices, or ranks, exchange elements of x: nccl, or peer for --devices, from one CUDA
    /// device to another, host through the host's memory, or auto, the first of these that is there. -v says which, and
    /// why
    #[arg(long, value_name = "PATH", default_value = "auto")]
    exchange: ExchangePath,
    #[command(flatten)]
    options: ProductOptions,
}

impl Spmv {
    pub(crate) fn run(self, context: &Context) -> Result<()> {
        let files = [&*self.matrix, &*self.x, &*self.out];
        let devices = NamedDevices { list: &self.devices, exchange: self.exchange };
        multiply(Factor::Vector, context, &self.options, devices, files)
    }
}
