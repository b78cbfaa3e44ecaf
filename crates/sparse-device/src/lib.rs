//! The operations of [nnz](https://docs.rs/nnz) on devices that run kernels.
//!
//! [`Device`] is a backend over a [`Driver`]: what a foreign library must do is memory, programs and launches. The same
//! plans launch `csr_spmv.cl` through OpenCL and `csr_spmv.cu` through CUDA: files, entries and the order of arguments
//! agree. So an operation is written once, and a driver knows none.

mod device;
mod driver;
mod launch;
mod op;
mod program;
mod space;

pub use device::{Device, preferred_index, probe};
pub use driver::{Arg, Driver, Grid, Properties, Value};
pub use program::Defines;
pub use space::{Buffer, View, ViewMut};
