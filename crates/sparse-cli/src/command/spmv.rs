//! `nnz spmv`: sparse matrix times vector.

use crate::context::Context;
use crate::named_device::{self, NamedDevice, NamedDevices};
use crate::product::{Factor, ProductOptions, multiply};
use anyhow::Result;
use clap::Args;
use nnz::ExchangePath;
use std::path::PathBuf;

/// Multiplies a sparse matrix with a vector: y = alpha·op(A)·x + beta·y₀
///
/// x has shape (n,) or (n, 1), and y has as many dimensions. Without --dtype the product has the type that represents
/// the values of all operands exactly. A batch written by `nnz compress` counts as the block-diagonal matrix of its
/// members.
///
/// Without --backend or --device the CPU multiplies: one product takes less time there than copying the matrix to a
/// GPU.
///
/// With MPI (`mpirun -n 4 nnz spmv …`, built with the feature mpi), the rows of A are divided among ranks so that each
/// has about equally many entries. Each rank uses the device of its number on its host. It reads only its own rows if A
/// is CSR in .npz, a folder of parts, or an uncompressed .mtx; else rank 0 reads A and sends them. Rank 0 writes. -v
/// prints the rows of each rank.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  nnz spmv a.mtx x.npy -o y.npy
  nnz spmv a.mtx x.npy -o y.npy --op t --alpha 2")]
pub(crate) struct Spmv {
    /// Matrix A: a file or a folder of parts; - is stdin
    matrix: PathBuf,
    /// Vector x; - is stdin
    #[arg(value_name = "X.npy")]
    x: PathBuf,
    /// File to write y to; - is stdout
    #[arg(short = 'o', long = "out", value_name = "Y.npy")]
    out: PathBuf,
    /// Divides the rows of A among devices, as in cpu,cuda:0,cuda:1, so that each has about equally many entries
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = named_device::parse,
          conflicts_with_all = ["backend", "device", "format", "algorithm"])]
    devices: Vec<NamedDevice>,
    /// Path on which devices or ranks exchange elements of x: nccl, peer (CUDA devices of --devices), host (through the
    /// host's memory) or auto, the first of these that is available. -v prints the choice and the reason
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
