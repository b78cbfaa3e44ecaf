//! Typed views of operands whose types are hidden.
//!
//! These functions are generic in the backend and the type of values but not in the format, so that they are compiled
//! for few types; the product of a matrix is a `dyn FnMut`.

use super::backend::RuntimeBackend;
use super::operand_errors::{Operand, factor, mismatch};
use crate::runtime::{DenseMatrix, Vector};
use sparse_core::backend::{SpaceOf, ViewMutOf, ViewOf};
use sparse_core::{ContextId, DenseView, DenseViewMut, Result, Scalar, c64};
use std::ops::Range;

/// A product of vectors, `run(alpha, x, beta, y)`.
pub(in crate::runtime) type RunVectors<'a, B, T> = dyn FnMut(<T as Scalar>::Acc, ViewOf<'_, B, T>, <T as Scalar>::Acc, ViewMutOf<'_, B, T>) -> Result<()>
    + 'a;

/// A product of dense matrices, `run(b, c)`.
pub(in crate::runtime) type RunDense<'a, B, T> =
    dyn FnMut(DenseView<'_, T, SpaceOf<B>>, DenseViewMut<'_, T, SpaceOf<B>>) -> Result<()> + 'a;

/// A sampled product, `run(alpha, u, v, beta, c)`.
pub(in crate::runtime) type RunSampled<'a, B, T> = dyn FnMut(
        <T as Scalar>::Acc,
        DenseView<'_, T, SpaceOf<B>>,
        DenseView<'_, T, SpaceOf<B>>,
        <T as Scalar>::Acc,
        ViewMutOf<'_, B, T>,
    ) -> Result<()>
    + 'a;

/// Calls `run` with x and y, if they have the type of the matrix, which is `operand`, and are in its context.
pub(in crate::runtime) fn with_vectors<B: RuntimeBackend, T: Scalar>(
    op: &'static str,
    (operand, context): (Operand<'_>, ContextId),
    (alpha, x): (c64, &Vector),
    (beta, y): (c64, &mut Vector),
    run: &mut RunVectors<'_, B, T>,
) -> Result<()> {
    let Some(x) = x.view_in::<B, T>(context) else {
        return Err(mismatch(op, operand, &[x.as_operand("x"), y.as_operand("y")]));
    };
    let Some(y) = y.view_mut_in::<B, T>(context) else {
        return Err(mismatch(op, operand, &[y.as_operand("y")]));
    };
    let (alpha, beta) = (factor(op, "alpha", alpha)?, factor(op, "beta", beta)?);
    run(alpha, x, beta, y?)
}

/// As [`with_vectors`], with the dense matrices B and C.
pub(in crate::runtime) fn with_dense<B: RuntimeBackend, T: Scalar>(
    op: &'static str,
    (operand, context): (Operand<'_>, ContextId),
    b: &DenseMatrix,
    c: &mut DenseMatrix,
    run: &mut RunDense<'_, B, T>,
) -> Result<()> {
    let Some(b) = b.view_in::<B, T>(context) else {
        return Err(mismatch(op, operand, &[b.as_operand("B"), c.as_operand("C")]));
    };
    let Some(c) = c.view_mut_in::<B, T>(context) else {
        return Err(mismatch(op, operand, &[c.as_operand("C")]));
    };
    run(b?, c?)
}

/// As [`with_vectors`], with a range of the columns of U and V, or with all.
pub(in crate::runtime) fn with_samples<B: RuntimeBackend, T: Scalar>(
    op: &'static str,
    (operand, context): (Operand<'_>, ContextId),
    columns: Option<Range<usize>>,
    (alpha, u, v): (c64, &DenseMatrix, &DenseMatrix),
    (beta, c): (c64, &mut Vector),
    run: &mut RunSampled<'_, B, T>,
) -> Result<()> {
    let (Some(u_view), Some(v_view)) = (u.view_in::<B, T>(context), v.view_in::<B, T>(context)) else {
        return Err(mismatch(op, operand, &[u.as_operand("U"), v.as_operand("V"), c.as_operand("C")]));
    };
    let Some(c) = c.view_mut_in::<B, T>(context) else {
        return Err(mismatch(op, operand, &[c.as_operand("C")]));
    };
    let (alpha, beta) = (factor(op, "alpha", alpha)?, factor(op, "beta", beta)?);
    let (u, v) = (u_view?, v_view?);
    let (u, v) = match columns {
        Some(columns) => (u.columns(columns.clone())?, v.columns(columns)?),
        None => (u, v),
    };
    run(alpha, u, v, beta, c?)
}
