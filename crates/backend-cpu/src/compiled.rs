//! Kernels that are compiled in this crate, once for every format and type.
//!
//! A generic function is compiled in each program that calls it, which takes minutes for kernels of every format, type
//! and instruction set. So kernel traits find function pointers by the type of the matrix in a table of this crate, and
//! no other crate compiles the functions.

use sparse_core::catalog::Types;
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
        let known: Vec<_> = Types::ALL.iter().map(ToString::to_string).collect();
        let reason = format!("values, indices and offsets are one of {}", known.join(" "));
        Error::unsupported(format!("{op} of {format} with these types on the CPU"), reason)
    })
}
