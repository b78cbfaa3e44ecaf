//! Methods of `Matrix`, a file for each operation, and the plans that they run.

pub(in crate::runtime) mod chunk_lines;
pub(in crate::runtime) mod chunks;
pub(in crate::runtime) mod combine;
pub(in crate::runtime) mod compress;
pub(in crate::runtime) mod conversion;
pub(in crate::runtime) mod diagonal;
pub(in crate::runtime) mod elementwise;
pub(in crate::runtime) mod galerkin;
pub(in crate::runtime) mod graph;
pub(in crate::runtime) mod hypersparse;
pub(in crate::runtime) mod matmul_reduce;
pub(in crate::runtime) mod operators;
pub(in crate::runtime) mod plan;
pub(in crate::runtime) mod products;
pub(in crate::runtime) mod reduce;
pub(in crate::runtime) mod scale;
pub(in crate::runtime) mod sddmm;
pub(in crate::runtime) mod select;
pub(in crate::runtime) mod softmax;
pub(in crate::runtime) mod spgemm;
pub(in crate::runtime) mod spgemm_plan;
pub(in crate::runtime) mod trisolve;
pub(in crate::runtime) mod tune;
pub(in crate::runtime) mod values;
