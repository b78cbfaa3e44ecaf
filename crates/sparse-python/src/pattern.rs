//! Matrices with the same pattern, which are updates of each other.

use crate::types::{Position, Value, with_types};
use nnz::{Coo, Csc, Csr, Device, Error, Host, Matrix, Result};

/// Calls `update`, which was made for `known`, with the values of `a`, if both have the same rows and columns in the
/// same order: programs of Python make each matrix of arrays of its own.
pub(crate) fn update_with(
    host: &Device,
    known: &Matrix,
    a: &Matrix,
    mut update: impl FnMut(&Matrix) -> Result<()>,
) -> Result<()> {
    match update(a) {
        Err(Error::PlanMismatch { .. }) if have_same_indices(host, known, a)? => {
            update(&known.with_values(&a.values()?)?)
        }
        Err(Error::PlanMismatch { .. }) => {
            let reason =
                format!("the matrix is {a:?} and has another pattern than the one before, {known:?}");
            Err(Error::operands("update", reason))
        }
        result => result,
    }
}

fn have_same_indices(host: &Device, a: &Matrix, b: &Matrix) -> Result<bool> {
    let kind = |m: &Matrix| (m.format(), m.shape(), m.nnz(), m.dtype(), m.index_type());
    if kind(a) != kind(b) {
        return Ok(false);
    }
    let (a, b) = (a.to_device(host)?, b.to_device(host)?);
    Ok(with_types!(a.dtype(), a.index_type(), T, I => {
        indices::<T, I>(&a).is_some_and(|found| Some(found) == indices::<T, I>(&b))
    }))
}

/// Offsets and indices of CSR and CSC, rows and columns of COO.
fn indices<T: Value, I: Position>(matrix: &Matrix) -> Option<(&[I], &[I])> {
    if let Some(csr) = matrix.downcast_ref::<Csr<T, Host, I, I>>() {
        return Some((csr.row_ptr(), csr.col_idx()));
    }
    if let Some(csc) = matrix.downcast_ref::<Csc<T, Host, I, I>>() {
        return Some((csc.col_ptr(), csc.row_idx()));
    }
    let coo = matrix.downcast_ref::<Coo<T, Host, I>>()?;
    Some((coo.row_idx(), coo.col_idx()))
}
