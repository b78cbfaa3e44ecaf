//! Matrices and vectors that are distributed over ranks by rows, their products and solvers.
//!
//! Each rank has consecutive rows, divided by their entries ([`Ownership`]), as two blocks in the memory of its
//! backend: the *diagonal block* of the columns that it owns, and the *off-diagonal block* of those that others own,
//! with its columns numbered without gaps, so that indices have 32 bits even if those of the matrix have 64. x is
//! divided as the columns, y as the rows. A product posts the elements of x that others need ([`ExchangePlan`]), runs
//! the diagonal block, receives, and runs the off-diagonal block:
//!
//! | product | first | while messages travel | then |
//! |---|---|---|---|
//! | A·x | pack x and send | y = alpha·D·x + beta·y | y += alpha·E·ghosts |
//! | Aᵀ·x | send alpha·Eᵀ·x | y = alpha·Dᵀ·x + beta·y | add what came, in the order of the ranks |
//!
//! Packed elements go through the host's memory and the transport, or, where the ranks' devices reach each other
//! ([`with_peers`](DistributedMatrix::with_peers)), from device to device: then no product waits for a device.
//!
//! # Results
//! A number of ranks gives the same bits on every run. Another number adds in another order: results then differ by
//! rounding, within the componentwise bound of a product on one rank, and so may the number of iterations of a solver.
//!
//! # Cost
//! The Laplacian of 2000 x 2000 points in `f64`, each rank a thread of [`Local`](crate::Local) with one thread of the
//! CPU backend, on 2 cores that ran other jobs, too; the fastest of 50 products, in two runs:
//!
//! | ranks | bytes exchanged | ms per product |
//! |---|---|---|
//! | without ranks: `SpmvPlan` | – | 66, 49 |
//! | 1 | 0 | 46, 45 |
//! | 2 | 32 000 | 48, 38 |
//! | 4 | 96 000 | 36, 28 |
//!
//! `cargo run --release -p sparse-distrib --example products -- 2000` prints it.
//!
//! # Errors
//! Constructors, products, reductions and solvers are collective calls: all ranks make the same, in the same order and
//! with the same scalars and options. Where a rank fails, it returns its error, and all others return one that names it
//! ([`Error::Operands`](sparse_core::Error::Operands)); outputs are then unspecified. No rank waits for one that
//! failed.
//!
//! The two blocks and the plan of the exchange are those of PETSc (S. Balay et al., PETSc Users Manual, `MATMPIAIJ`).

mod backend;
mod build;
mod column_set;
mod exchange;
mod local_rows;
mod ownership;
mod product_exchange;
mod read;
mod solver;
mod spans;
mod spmm;
mod spmv;
mod vector;

pub use backend::{DistributedBackend, SharedTransport};
pub use exchange::ExchangePlan;
pub use local_rows::{LocalRows, LocalSpmv};
pub use ownership::Ownership;
pub use read::read_rows;
pub use solver::{DistributedBiCgStab, DistributedCg, DistributedSolver};
pub use spmm::DistributedSpmmPlan;
pub use spmv::DistributedSpmvPlan;
pub use vector::DistributedVector;

use sparse_core::backend::SpaceOf;
use sparse_core::peer::PeerExchange;
use sparse_core::{Accumulator, Csr, Host, Index, Result, Space};
use std::ops::Range;
use std::sync::Arc;

/// A block of a distributed matrix: CSR with 32-bit column indices.
pub type RowBlock<T, S, O = i32> = Csr<T, S, i32, O>;
/// A block in the memory of the backend `B`.
pub type BlockOn<B, T, O = i32> = RowBlock<T, SpaceOf<B>, O>;
/// The rows of a rank in the memory of the backend `B`.
pub type RowsOn<B, T, O = i32> = LocalRows<T, SpaceOf<B>, O>;

/// One rank's rows of a distributed matrix, with everything that its products need.
///
/// Values are of type `T` (`f32`, `f64`, `c32`, `c64`), in the memory `S` of each rank's backend, with offsets `O`;
/// half precision would be rounded twice, between the blocks. It is made from a matrix at one rank
/// ([`from_root`](Self::from_root)), or from rows that each rank has ([`from_rows`](Self::from_rows)), made there or
/// read from a file ([`read_rows`]); then no rank has it whole.
///
/// ```
/// use sparse_core::op::Op;
/// use sparse_core::{Csr, PlanOptions, reference::Reference};
/// use sparse_distrib::{
///     DistributedBackend, DistributedMatrix, DistributedSpmvPlan, DistributedVector, Local,
/// };
///
/// // y = A·x on two ranks, of which rank 0 has A and x, and gets y.
/// let a = Csr::<f64>::new(3, 3, vec![0, 2, 4, 5], vec![0, 2, 0, 1, 2], vec![1.0, 2.0, 3.0, 4.0, 5.0])?;
/// let results = Local::run(2, |rank| {
///     let backend = DistributedBackend::new(rank, Reference);
///     let is_root = backend.rank() == 0;
///     let distributed = DistributedMatrix::from_root(&backend, 0, is_root.then_some(&a), None)?;
///     let x = is_root.then_some(&[1.0, 10.0, 100.0][..]);
///     let x = DistributedVector::scatter(&backend, 0, distributed.col_ownership(), x)?;
///     let mut y = DistributedVector::zeros(&backend, distributed.row_ownership())?;
///     let mut plan = DistributedSpmvPlan::new(&backend, &distributed, Op::None, &PlanOptions::default())?;
///     plan.run(1.0, &distributed, &x, 0.0, &mut y)?;
///     y.gather(&backend, 0)
/// });
/// assert_eq!(results[0].as_ref().unwrap(), &Some(vec![201.0, 43.0, 500.0]));
/// # Ok::<(), sparse_core::Error>(())
/// ```
#[derive(Debug)]
pub struct DistributedMatrix<T: Accumulator, S: Space = Host, O: Index = i32> {
    rows: Ownership,
    columns: Ownership,
    nnz: usize,
    local: LocalRows<T, S, O>,
}

impl<T: Accumulator, S: Space, O: Index> DistributedMatrix<T, S, O> {
    /// The number of rows of the whole matrix.
    pub fn nrows(&self) -> usize {
        self.rows.len()
    }

    /// The number of columns of the whole matrix.
    pub fn ncols(&self) -> usize {
        self.columns.len()
    }

    /// (rows, columns) of the whole matrix.
    pub fn shape(&self) -> (usize, usize) {
        (self.nrows(), self.ncols())
    }

    /// The number of stored entries of the whole matrix.
    pub fn nnz(&self) -> usize {
        self.nnz
    }

    /// The number of stored entries of this rank's rows.
    pub fn local_nnz(&self) -> usize {
        let off_diagonal = self.off_diagonal_blocks().map(|(_, block)| block.nnz());
        self.diagonal_block().nnz() + off_diagonal.sum::<usize>()
    }

    /// The division of the rows, and of y in y = A·x.
    pub fn row_ownership(&self) -> &Ownership {
        &self.rows
    }

    /// The division of the columns, and of x in y = A·x.
    pub fn col_ownership(&self) -> &Ownership {
        &self.columns
    }

    /// The entries of this rank's rows in the columns that it owns, with local indices.
    ///
    /// ```
    /// use sparse_core::{Csr, SparseFormat, reference::Reference};
    /// use sparse_distrib::{DistributedBackend, DistributedMatrix, Local};
    ///
    /// let a = Csr::<f64>::new(2, 2, vec![0, 2, 3], vec![0, 1, 1], vec![1.0, 2.0, 3.0])?;
    /// Local::run(2, |rank| {
    ///     let backend = DistributedBackend::new(rank, Reference);
    ///     let input = (backend.rank() == 0).then_some(&a);
    ///     let a = DistributedMatrix::from_root(&backend, 0, input, None)?;
    ///     assert_eq!((a.diagonal_block().nnz(), a.nnz()), (1, 3));
    ///     assert!(a.off_diagonal_blocks().all(|(_, block)| block.ncols() == a.exchange_plan().ghosts()));
    ///     Ok::<(), sparse_core::Error>(())
    /// });
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    pub fn diagonal_block(&self) -> &RowBlock<T, S, O> {
        &self.local.diagonal
    }

    /// The entries of this rank's rows in columns that other ranks own: spans of rows, each with its block, which has a
    /// column for each ghost, in ascending order. Rows without such entries are left out where they are many.
    pub fn off_diagonal_blocks(&self) -> impl Iterator<Item = (Range<usize>, &RowBlock<T, S, O>)> {
        self.local.off_diagonal.spans.iter().map(|span| (span.rows.clone(), &span.block))
    }

    /// The plan of the exchange before a product.
    pub fn exchange_plan(&self) -> &ExchangePlan {
        &self.local.exchange
    }

    /// The same matrix, whose products send elements directly from device to device instead of through the host's
    /// memory and the transport; results have the same bits. All ranks have peers, connected to each other, or none
    /// has.
    #[must_use]
    pub fn with_peers(mut self, peers: Arc<dyn PeerExchange<T, S>>) -> Self {
        self.local.peers = Some(peers);
        self
    }

    /// Returns `agreed`; after an error the exchanges of peers are abandoned.
    fn abandon_after(&self, agreed: Result<()>) -> Result<()> {
        if let (Err(_), Some(peers)) = (&agreed, &self.local.peers) {
            peers.abandon();
        }
        agreed
    }
}
