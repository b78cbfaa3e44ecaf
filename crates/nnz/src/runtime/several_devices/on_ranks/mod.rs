//! One matrix whose rows are divided among the ranks of a transport; vectors are at rank 0.

mod distribute;
mod products;
mod solve;
mod typed_rank;

use super::rank::RankSizes;
use crate::Device;
#[cfg(doc)]
use crate::runtime::MatrixOnDevices;
use crate::runtime::Vector;
use crate::runtime::dispatch::operand_errors::{check_lengths, check_operands};
use sparse_core::{DType, Error, Result};
use sparse_distrib::{Ownership, SharedTransport, Transport, agree};
use std::fmt::{Debug, Formatter};
use std::ops::Range;
use std::sync::Arc;
use typed_rank::AnyTypedRank;

/// The rank that has the matrix and the vectors.
const ROOT: usize = 0;

/// One rank's rows, on its device, of a matrix that is divided among ranks by its entries.
///
/// All calls except simple queries (`shape`, `nnz`, …) are collective: all ranks make the same call, with the same
/// factors and options. Rank 0 has the matrix, passes vectors in the host's memory and gets results; all others pass
/// `None`. The same number of ranks gives the same bits on every run, which are those of [`MatrixOnDevices`] with as
/// many devices of the same kind. Elements that one rank needs from another's part of a vector travel by NCCL if each
/// rank of a host has its own CUDA device and the library is installed, and otherwise through the host's memory and the
/// transport; [`exchange`](Self::exchange) names the path.
///
/// ```
/// use nnz::distrib::{Local, Transport};
/// use nnz::{MatrixOnRanks, Method, SolveOptions, prelude::*};
/// use std::sync::Arc;
///
/// let iterations = Local::run(3, |rank| {
///     let (device, is_root) = (Device::host()?, rank.rank() == 0); // over MPI a distrib::Mpi of each process
///     let a = is_root.then(|| Matrix::from_typed(&device, nnz::generate::stencil_5::<f64>(8, 8)?)).transpose()?;
///     let mut on_ranks = MatrixOnRanks::from_root(Arc::new(rank), &device, a.as_ref())?;
///     let ones = is_root.then(|| Vector::from_vec(&device, vec![1.0; 64])).transpose()?;
///     let b = on_ranks.matvec(ones.as_ref())?;
///     let (x, solution) = on_ranks.solve(b.as_ref(), &SolveOptions::new(Method::Cg))?;
///     if let (Some(mut x), Some(ones)) = (x, ones) {
///         x.axpby(1.0, &ones, -1.0)?;
///         assert!(x.nrm2()? < 1e-9);
///     }
///     Ok::<_, Error>(solution.iterations)
/// });
/// let iterations = iterations.into_iter().collect::<Result<Vec<_>>>()?;
/// assert!(iterations.iter().all(|&all| all == iterations[0]));
/// # Ok::<(), Error>(())
/// ```
pub struct MatrixOnRanks {
    transport: Arc<dyn SharedTransport>,
    device: Device,
    host: Device,
    dtype: DType,
    reading: String,
    exchange: String,
    sizes: RankSizes,
    rank: Box<dyn AnyTypedRank>,
}

impl MatrixOnRanks {
    /// The reading of the rows: `each rank its rows`, or `rank 0 all rows`, with the reason where they were read from a
    /// file.
    pub fn reading(&self) -> &str {
        &self.reading
    }

    /// The path of elements from one rank's device to another's, and why there is no faster one: `NCCL 2.28.3` if each
    /// rank of a host has its own CUDA device, or `the host's memory (…)` and the transport.
    pub fn exchange(&self) -> &str {
        &self.exchange
    }

    /// This rank's device.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// This rank's rows.
    pub fn rows(&self) -> Range<usize> {
        self.sizes.rows.range(self.transport.rank())
    }

    /// (rows, columns) of the whole matrix.
    pub fn shape(&self) -> (usize, usize) {
        (self.sizes.rows.len(), self.sizes.columns.len())
    }

    /// The type of the values.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The number of stored entries of the whole matrix.
    pub fn nnz(&self) -> usize {
        self.sizes.nnz
    }

    /// The number of stored entries of this rank's rows.
    pub fn local_nnz(&self) -> usize {
        self.sizes.local_nnz
    }

    /// The number of elements of x that other ranks send to this one for a product A·x.
    pub fn remote_columns(&self) -> usize {
        self.sizes.ghosts
    }

    fn is_root(&self) -> bool {
        self.transport.rank() == ROOT
    }

    /// Zeros at the root.
    fn zeros(&self, len: usize) -> Result<Option<Vector>> {
        self.is_root().then(|| Vector::zeros(&self.host, self.dtype, len)).transpose()
    }

    fn agree<R>(&self, op: &'static str, own: Result<R>) -> Result<R> {
        agree(&*self.transport, ROOT, op, own)
    }

    /// Fails on all ranks unless the root has vectors that fit.
    fn check_vectors(
        &self,
        op: &'static str,
        vectors: [(&'static str, Option<&Vector>, &Ownership); 2],
    ) -> Result<()> {
        self.agree(op, if self.is_root() { self.check_own(op, vectors) } else { Ok(()) })
    }

    fn check_own(
        &self,
        op: &'static str,
        vectors: [(&'static str, Option<&Vector>, &Ownership); 2],
    ) -> Result<()> {
        let [(first, Some(x), of_x), (second, Some(y), of_y)] = vectors else {
            return Err(Error::operands(op, "rank 0 has no vectors"));
        };
        check_lengths(op, [(first, x.len(), of_x.len()), (second, y.len(), of_y.len())])?;
        check_operands(op, (self.dtype, &self.host), &[(first, x), (second, y)])
    }
}

impl Debug for MatrixOnRanks {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let (rows, (all, columns)) = (self.rows(), self.shape());
        write!(f, "MatrixOnRanks(rows {rows:?} of {all} x {columns}, {} on {})", self.dtype, self.device)
    }
}
