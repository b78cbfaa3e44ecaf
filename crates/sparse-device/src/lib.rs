//! The operations of [nnz](https://docs.rs/nnz) on devices that run kernels.
//!
//! [`Device`] is a backend over a [`Driver`], which provides memory, programs and launches of a foreign library. The
//! same plans launch `csr_spmv.cl` through OpenCL and `csr_spmv.cu` through CUDA: files, entries and the order of
//! arguments agree. So an operation is written once, for all drivers. A [`Library`] finds and opens devices; all of
//! them have one type, so that one collection can hold matrices of any.

mod buffer;
mod defines;
mod device;
mod driver;
pub mod foreign;
mod index_type;
mod lanes;
mod launch;
mod library;
mod null_driver;
mod op;
mod operand;
mod primitive;
mod program;
mod space;
mod thresholds;

pub use buffer::{Buffer, View, ViewMut};
pub use defines::Defines;
pub use device::{Device, WeakDevice};
pub use driver::{Arg, Driver, Grid, Kernel, Memory, Program, Properties, Value};
pub use lanes::WORD_BYTES;
pub use library::Library;
pub use thresholds::{THRESHOLDS_VARIABLE, Thresholds};
