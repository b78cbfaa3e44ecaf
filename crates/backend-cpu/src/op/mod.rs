//! Operations: one file each, as in `sparse_core::op`.

mod compiled;
mod convert;
mod dense_to_csr;
mod dot;
mod duplicates;
mod elementwise;
mod entries;
mod fill;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[cfg_attr(target_arch = "aarch64", path = "gather_neon.rs")]
mod gather;
mod lines;
mod partition;
mod plan;
mod prune;
mod reduce;
mod row_sort;
mod row_statistics;
mod rows;
mod scan;
mod sddmm;
mod semiring;
mod slab;
mod softmax;
mod sort;
mod spgemm;
mod spmm;
mod spmm_reduce;
mod spmv;
mod to_dense;
mod trisolve;
mod update;
mod vector;

use sparse_core::{Algorithm, Scalar};

/// The serial reference, in every table for comparison.
const SEQUENTIAL: Algorithm = Algorithm::new("sequential", "never: the serial reference");

/// The sum of entries with one coordinate, in the accumulator's type and rounded once. It starts from the first one, so
/// that a lone −0 stays −0.
#[inline]
fn sum<T: Scalar>(values: impl Iterator<Item = T>) -> T {
    values.map(T::to_acc).reduce(|sum, value| sum + value).map_or(T::ZERO, T::from_acc)
}
