//! Copies of compressed matrices in order and without duplicates.

use super::coordinates::Coordinates;
use super::rearrangement::ToCompressed;
use crate::Device;
use sparse_core::op::Duplicates;
use sparse_core::{Axis, Choice, Compressed, Index, Result, Scalar};

/// The plan of a copy with sorted rows and without duplicates; `None` if the matrix already is so.
pub(crate) fn in_order<A: Axis, T: Scalar, I: Index, O: Index>(
    backend: &Device,
    a: &Compressed<A, T, Device, I, O>,
    choice: &Choice,
) -> Result<Option<ToCompressed<A, T, I, O>>> {
    if a.order().sorted && a.order().unique {
        return Ok(None);
    }
    let sorted = Coordinates::along(backend, a.into())?;
    sorted.compress(backend, choice.clone(), Duplicates::Sum).map(Some)
}
