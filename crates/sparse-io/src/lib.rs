//! Files for [nnz](https://docs.rs/nnz): Matrix Market, SciPy's `.npz` and NumPy's `.npy`, read and written.
//!
//! Every claim of a file is checked before it sizes an allocation, every matrix goes through the checked
//! constructors, and errors name the file and, for text, the line.
//!
//! Files are memory-mapped: nobody may shorten or rewrite a file while it is read.

mod assemble;
pub mod matrix_market;
mod source;

pub use matrix_market::MatrixInfo;
