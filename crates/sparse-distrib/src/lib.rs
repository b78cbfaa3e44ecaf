//! Distribution of many mostly zero dense matrices, and their compression to CSR and CSC, for
//! [nnz](https://docs.rs/nnz).
//!
//! A dense matrix is divided into parts ([`partition`]), each part travels to a rank in one of five forms ([`Scheme`]),
//! and every rank stores its part compressed:
//!
//! | scheme | who compresses | what travels |
//! |---|---|---|
//! | `sfc`: send followed compress | receiver | the dense part |
//! | `cfs`: compress followed send | sender | row pointers, indices, values |
//! | `ed1`: encoding-decoding | sender | counts and (index, value) pairs, interleaved |
//! | `ed2`: encoding-decoding in planes | sender | header with checksum, counts, indices, values |
//! | `bitmap` | sender | a bit for each element, values |
//!
//! - [`partition`]: row, column and mesh partitions; [`ekmr`]: arrays of three and four dimensions as matrices.
//! - [`mod@distribute`]: a matrix from the root to all ranks, over any [`Transport`]; [`collect`] brings it back.
//! - [`engine`]: any number of matrices, streamed by any scheme to several devices, which compress and store them.
//! - [`transport`]: ranks that are threads ([`Local`]) or, with the feature `mpi`, processes of an MPI job (`Mpi`).
//!   Both give parts with the same bytes.
//! - [`dispatch`]: compression by several tasks of one processor, [`mod@merge`]d by prefix sums.
//! - [`wire`]: the messages, each with its encoder, its decoder and the checks of both.
//! - [`scheme`]: a model of the time of each scheme, and the choice among them; [`calibrate`]: the rates of this
//!   machine that it needs; [`Explanation`]: its predictions as a table; [`schedule`]: jobs to devices; [`simulate`]: a
//!   run of them, from chunk to chunk.
//! - [`pointers`]: row pointers 1-based, or as counts.
//! - [`matrix`]: products and solvers of a [`DistributedMatrix`], whose rows are divided among ranks.
//!
//! The schemes are those of Lin, Chung and Liu: Data distribution schemes of sparse arrays on distributed memory
//! multicomputers, ICPP Workshops 2002 and J. Supercomputing 41 (2007). CRS and CCS are their names for CSR and CSC;
//! they count row pointers from 1, columns and rows from 0.
//!
//! ```
//! use sparse_core::reference::Reference;
//! use sparse_core::{Csr, DenseView};
//! use sparse_distrib::{Distribution, Local, Partition, Scheme, Transport, distribute};
//!
//! let elements = [1.0, 0.0, 0.0, 2.0, 0.0, 3.0, 0.0, 0.0];
//! let matrix = DenseView::row_major(&elements, 2, 4)?;
//! let distribution = Distribution { scheme: Scheme::Ed2, partition: Partition::cols(2)?, root: 0 };
//! let parts = Local::run(2, |rank| {
//!     let input = (rank.rank() == 0).then_some(matrix);
//!     distribute::<_, _, sparse_core::Row, f64, i32, i32>(&rank, &Reference, distribution, input)
//! });
//! let second: Csr<f64> = parts.into_iter().nth(1).unwrap()?.block;
//! assert!(second.triplets().eq([(0, 1, 2.0)])); // local indices
//! # Ok::<(), sparse_core::Error>(())
//! ```

pub mod calibrate;
mod collective;
pub mod dispatch;
pub mod distribute;
pub mod ekmr;
pub mod engine;
mod explain;
pub mod matrix;
pub mod merge;
pub mod partition;
pub mod pointers;
pub mod schedule;
pub mod scheme;
pub mod simulate;
pub mod transport;
pub mod wire;

pub use calibrate::{Calibration, Target};
pub use collective::agree;
pub use distribute::{Distribution, LocalPart, collect, distribute};
pub use engine::handle::{Handle, ResidentBatch};
pub use engine::ledger::{Lease, Ledger};
pub use engine::report::{Cause, DeviceReport, Progress, Report, Unfinished};
pub use engine::source::{
    ArrayReading, DeviceMatrices, DeviceStack, Generated, GeneratedParts, NpySource, Source, SourceChain,
};
pub use engine::staging::Staging;
pub use engine::worker::{DeviceWorker, PackedBatch, Resident, Worker};
pub use engine::{Engine, Options, Outcome, Parallelism, RankOutcome};
pub use explain::{Explanation, Prediction};
pub use matrix::{
    DistributedBackend, DistributedBiCgStab, DistributedCg, DistributedMatrix, DistributedSolver,
    DistributedSpmmPlan, DistributedSpmvPlan, DistributedVector, ExchangePlan, Ownership, SharedTransport,
    read_rows,
};
pub use merge::{MergeTable, merge, merge_order};
pub use partition::{Part, Partition};
pub use pointers::{PtrBase, PtrFlavour};
pub use scheme::{Compressor, Density, Rates, SCHEMES, Scheme, SchemeInfo, Stage, choose, predict};
#[cfg(feature = "mpi")]
pub use transport::Mpi;
pub use transport::{Local, Transport};

/// A compressed matrix or part of one in the host's memory: CSR or CSC by its axis `A`.
pub type Block<A, T, I = i32, O = i32> = sparse_core::Compressed<A, T, sparse_core::Host, I, O>;
