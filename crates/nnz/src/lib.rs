//! Sparse matrices that run the same, checked operations on CPUs, OpenCL devices and CUDA GPUs.
//!
//! This crate is the one to depend on: it re-exports the parts and chooses a [`Device`] at run time.
//!
//! - formats, plans, operations and generators: everything of [`sparse_core`], here at the root;
//! - [`io`]: Matrix Market, `.npz` and `.npy` files;
//! - [`solvers`]: CG and BiCGSTAB.
//!
//! The features `cpu` (default), `opencl` and `cuda` say which backends are built in.

mod device;

pub use device::{BackendKind, Device};
pub use sparse_core::*;
pub use {sparse_io as io, sparse_solvers as solvers};

#[cfg(feature = "cpu")]
pub use backend_cpu::{Cpu, Simd};

/// The names that most programs need.
pub mod prelude {
    #[cfg(feature = "cpu")]
    pub use crate::Cpu;
    pub use crate::op::{
        AllTypes, ConvertPlan, Duplicates, Keep, Op, Operations, SpmmPlan, SpmvPlan, WithBackend,
    };
    pub use crate::{
        Backend, Coo, Csc, Csr, DType, Dense, DenseView, DenseViewMut, Device, Ell, Error, Hyb, Matrix,
        Order, PlanOptions, Result, Scalar, Sell, c32, c64,
    };
}
