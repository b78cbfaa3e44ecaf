//! Matrices with the pattern of the one that a solver or a preconditioner was made for.

use crate::Device;
use crate::runtime::Matrix;
use crate::runtime::dispatch::any_matrix::Properties;
use crate::runtime::dispatch::operand_errors::mismatch;
use crate::runtime::entries::HostMatrix;
use sparse_core::{Coo, Csc, Csr, Error, Host, Result};

/// The operation that errors name.
const UPDATE: &str = "update";

/// A matrix of the values of `a` that takes the place of `before`, the matrix of `made`: `a` itself, or its values in
/// the pattern of `before`, so that plans stay, if `a` has another pattern that is equal.
pub(in crate::runtime) fn in_pattern_of(made: &'static str, before: &Matrix, a: &Matrix) -> Result<Matrix> {
    check_type(made, (before.device(), &before.properties), a)?;
    if !has_shape_of(&before.properties, a) {
        return Err(other_pattern(made, &before.properties, a));
    }
    let is_same = before.pattern_id() == a.pattern_id();
    if !is_same && !have_equal_patterns(before, a)? {
        return Err(other_pattern(made, &before.properties, a));
    }
    match is_same || before.borrows_arrays() {
        true => Ok(a.clone()),
        false => before.with_values(&a.values()?),
    }
}

/// Fails unless `a` has the type of values and the device of the matrix that `made` was made for.
pub(in crate::runtime) fn check_type(
    made: &'static str,
    (device, before): (&Device, &Properties),
    a: &Matrix,
) -> Result<()> {
    match (a.dtype(), a.context()) == (before.dtype, before.context) {
        true => Ok(()),
        false => Err(mismatch(UPDATE, (made, before.dtype, device), &[a.as_operand()])),
    }
}

/// True if `a` is of the format, the types of indices, the shape and the number of entries of another matrix.
pub(in crate::runtime) fn has_shape_of(before: &Properties, a: &Matrix) -> bool {
    let all = |p: &Properties| (p.format, p.index_type, p.offset_type, p.rows, p.cols, p.nnz);
    all(before) == all(&a.properties)
}

/// The error of a matrix with another pattern than the one that `made` was made for.
pub(in crate::runtime) fn other_pattern(made: &'static str, before: &Properties, a: &Matrix) -> Error {
    let of = |p: &Properties| {
        let offsets = p.offset_type.filter(|&offsets| offsets != p.index_type);
        let offsets = offsets.map_or(String::new(), |offsets| format!(", {offsets} offsets"));
        let types = format!("{}{offsets}", p.index_type);
        format!("{} ({types}) of {} x {} with {} entries", p.format, p.rows, p.cols, p.nnz)
    };
    let reason = format!(
        "{made} was made for {}, the matrix is {} and has another pattern; with_values of the former matrix gives one \
         of its pattern",
        of(before),
        of(&a.properties)
    );
    Error::PlanMismatch { op: UPDATE, reason }
}

/// True if matrices of one format, shape and type have equal coordinates, in the same order; false for formats that pad
/// rows, and for batches.
fn have_equal_patterns(a: &Matrix, b: &Matrix) -> Result<bool> {
    let (a, b) = (a.on_host()?, b.on_host()?);
    macro_rules! compare_each {
        ($(($t:ty, $i:ty, $o:ty)),* $(,)?) => {
            $(
                if let Some((a, b)) = both::<Csr<$t, Host, $i, $o>>(&a, &b) {
                    return Ok(a.offsets() == b.offsets() && a.indices() == b.indices());
                }
                if let Some((a, b)) = both::<Csc<$t, Host, $i, $o>>(&a, &b) {
                    return Ok(a.offsets() == b.offsets() && a.indices() == b.indices());
                }
                if let Some((a, b)) = both::<Coo<$t, Host, $i>>(&a, &b) {
                    return Ok(a.row_idx() == b.row_idx() && a.col_idx() == b.col_idx());
                }
            )*
        };
    }
    sparse_core::for_all_types!(compare_each);
    Ok(false)
}

/// Both matrices, if they are of type `M`.
fn both<'a, M: 'static>(a: &'a HostMatrix<'_>, b: &'a HostMatrix<'_>) -> Option<(&'a M, &'a M)> {
    a.typed().downcast_ref().zip(b.typed().downcast_ref())
}
