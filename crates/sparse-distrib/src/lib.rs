//! Distribution of amounts of mostly zero matrices, and their compression to CSR and CSC, for
//! [nnz](https://docs.rs/nnz).
//!
//! - [`partition`]: row, column and mesh partitions; [`ekmr`]: arrays of three and four dimensions as matrices.
//! - [`dispatch`]: compression by several tasks of one processor, [`mod@merge`]d by prefix sums.
//! - [`pointers`]: row pointers 1-based, or as counts.
//! - [`wire`]: the messages, each with its encoder, its decoder and the checks of both.

pub mod dispatch;
pub mod ekmr;
pub mod merge;
pub mod partition;
pub mod pointers;
pub mod wire;

pub use merge::{MergeTable, merge, merge_order};
pub use partition::{Part, Partition};
pub use pointers::{PtrBase, PtrFlavour};

/// A compressed matrix or part of one in the host's memory: CSR or CSC by its axis `A`.
pub type Block<A, T, I = i32, O = i32> = sparse_core::Compressed<A, T, sparse_core::Host, I, O>;
