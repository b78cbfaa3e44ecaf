//! The right-hand sides B of a system, and X of the same columns.

use super::outcome::Column;
use crate::claim;
use crate::context::Context;
use crate::operand::{Dimensions, Operand};
use anyhow::Result;
use nnz::{DType, DenseMatrix, Device, Error, Vector};

/// B, in the memory of the host.
pub(super) struct RightHandSides {
    b: DenseMatrix,
    pub(super) dimensions: Dimensions,
    /// The device of the vectors of a solver.
    device: Device,
    /// The number of columns of A.
    unknowns: usize,
}

impl RightHandSides {
    /// The columns of `b` for a matrix of this shape.
    pub(super) fn new(
        b: Operand,
        dtype: DType,
        device: &Device,
        (rows, unknowns): (usize, usize),
    ) -> Result<Self> {
        let dimensions = b.dimensions();
        let b = b.into_dense(dtype, &Context::host_of(device)?)?;
        check_right_hand_sides(rows, &b)?;
        Ok(Self { b, dimensions, device: device.clone(), unknowns })
    }

    /// Each column of B, and an x of zeros, in the memory of the device.
    pub(super) fn columns(&self) -> impl Iterator<Item = Result<(Vector, Vector)>> {
        let Self { b, device, unknowns, .. } = self;
        let zeros = || Vector::zeros(device, b.dtype(), *unknowns);
        (0..b.ncols()).map(move |j| Ok((b.column(j)?.to_device(device)?, zeros()?)))
    }

    /// X of zeros.
    pub(super) fn zeros(&self) -> Result<DenseMatrix> {
        let b = &self.b;
        Ok(DenseMatrix::zeros(b.device(), b.dtype(), self.unknowns, b.ncols(), b.order())?)
    }
}

/// Fails unless b has as many rows as A needs, and if the outcomes of its columns would take far more memory than its
/// elements.
fn check_right_hand_sides(needed: usize, b: &DenseMatrix) -> Result<()> {
    let (found, columns) = (b.nrows(), b.ncols());
    if found != needed {
        let reason = format!("the length of b is {found} where {needed} is needed");
        return Err(Error::shape("solve", reason).into());
    }
    let outcomes = columns.saturating_mul(size_of::<Column>());
    let bytes = b.values().len().saturating_mul(b.dtype().bytes());
    claim::check(&format!("the outcomes of {columns} columns"), outcomes, bytes)
}
