//! The operations of [nnz](https://docs.rs/nnz) on devices that run kernels.
//!
//! [`Device`] is a backend over a [`Driver`], which provides memory, programs and launches of a foreign library. The
//! same plans launch `csr_spmv.cl` through OpenCL and `csr_spmv.cu` through CUDA: files, entries and the order of
//! arguments agree. So an operation is written once, for all drivers. A [`Library`] finds and opens devices; all of
//! them have one type, so that one collection can hold matrices of any.
//!
//! | file | contents |
//! |---|---|
//! | `driver.rs`, `library.rs` | the interface of a foreign library: memory, programs, launches; its devices |
//! | `device.rs`, `buffer.rs` | [`Device`] as a backend of `sparse-core`, and its memory |
//! | `launch.rs`, `program.rs`, `defines.rs` | launches of kernels: arguments, grids, compilation with macros |
//! | `op/` | the operations: a file each, or a folder with the plan, the choice and the algorithms |
//! | `primitive/` | building blocks of several operations: scans, sorts, divisions of rows |
//! | `thresholds.rs` | the numbers that steer the choices, and their storage |
//! | `foreign/` | arrays of other libraries: DLPack, the CUDA array interface |

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
