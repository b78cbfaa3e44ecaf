//! Operations: one file each, as in `sparse_core::op`; what several share is in `primitive`.

mod compiled;
mod convert;
mod dense_to_csr;
mod elementwise;
mod plan;
mod prune;
mod reduce;
mod row_statistics;
mod scan;
mod sddmm;
mod select;
mod semiring;
mod softmax;
mod sort;
mod spgemm;
mod spmm;
mod spmm_reduce;
mod spmv;
mod to_dense;
mod trisolve;
mod vector;

use sparse_core::Algorithm;

/// The serial reference, in every table for comparison.
const SEQUENTIAL: Algorithm = Algorithm::new("sequential", "never: the serial reference");
