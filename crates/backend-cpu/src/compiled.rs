//! Kernels that are compiled in this crate, once for every format and type.
//!
//! A generic function is compiled in each program that calls it, which takes minutes for kernels of every format, type
//! and instruction set. So kernel traits find function pointers by the type of the matrix in a table of this crate, and
//! no other crate compiles the functions.

use sparse_core::{Error, Result};
use std::any::Any;

/// The functions for each type of matrix, in no order.
pub(crate) type Table = [&'static (dyn Any + Send + Sync)];

/// The functions of type `F`.
///
/// # Errors
/// [`Error::Unsupported`] if the types are none of [`for_all_types`](sparse_core::for_all_types).
pub(crate) fn find<F: Any>(table: &'static Table, op: &str, format: &str) -> Result<&'static F> {
    table.iter().find_map(|functions| (*functions as &dyn Any).downcast_ref()).ok_or_else(|| {
        let reason = "values are f32, f64, c32 or c64 with indices and offsets of i32 and i32, i32 and i64 or i64 and i64, \
                      or f16 or bf16 with i32 and i32";
        Error::unsupported(format!("{op} of {format} with these types on the CPU"), reason)
    })
}
