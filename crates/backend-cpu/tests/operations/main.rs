//! The operations of the CPU backend, compared with the serial reference. One program, so that what they share is
//! compiled and linked once.

mod common;
mod convert;
mod dense_to_csr;
mod elementwise;
mod samples;
mod scan;
mod sddmm;
mod semiring;
mod spgemm;
mod spmm;
mod spmv;
mod spmv_once;
mod trisolve;
mod vector;
