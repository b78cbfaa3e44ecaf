//! Code that several operations share: rows and their entries, parts of equal work, sorting, sums of products.
//! Primitives do not depend on operations.

pub(crate) mod dot;
pub(crate) mod duplicates;
pub(crate) mod entries;
pub(crate) mod fill;
pub(crate) mod filled_rows;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[cfg_attr(target_arch = "aarch64", path = "gather_neon.rs")]
pub(crate) mod gather;
pub(crate) mod lines;
pub(crate) mod partition;
pub(crate) mod row_sort;
pub(crate) mod rows;
pub(crate) mod shifted_rows;
pub(crate) mod slab;
pub(crate) mod update;
