//! The arrays that operations take as operands, and the shapes that each accepts.

use super::MemberSelection;
use crate::problem::Problem;
use nnz::DenseMatrix;

/// The body that an operation takes: `.npy`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operand {
    None,
    /// Of one dimension, or of two with one column.
    Vector,
    /// Of two dimensions.
    Dense,
    /// Of one dimension or of two.
    Columns,
}

impl Operand {
    /// Fails for an array of a shape that the operation of this name does not take; for each matrix of a batch the
    /// array has one dimension more, the first.
    pub(crate) fn check(
        self,
        operation: &str,
        shape: &[usize],
        selection: MemberSelection,
    ) -> Result<(), Problem> {
        let (of_each, each) = match selection {
            MemberSelection::All => (shape.get(1..).unwrap_or_default(), " for each matrix of the batch"),
            MemberSelection::Whole | MemberSelection::One(_) => (shape, ""),
        };
        let (fits, needed) = match self {
            Self::None => (false, "nothing"),
            Self::Vector => (matches!(of_each, [_] | [_, 1]), "(n,) or (n, 1)"),
            Self::Dense => (matches!(of_each, [_, _]), "(n, columns)"),
            Self::Columns => (matches!(of_each, [_] | [_, _]), "(n,) or (n, columns)"),
        };
        if fits {
            return Ok(());
        }
        let detail = format!("{operation}: the shape of the operand is {shape:?}, {needed}{each} is needed");
        Err(Problem::unprocessable(detail))
    }
}

/// An operand in the device's memory.
#[derive(Debug)]
pub(crate) struct Columns {
    /// Of three dimensions the matrices of the slowest, one below the other and row by row.
    pub(crate) values: DenseMatrix,
    pub(crate) shape: Vec<usize>,
}

impl Columns {
    /// True for an array of one dimension, which the result then is too.
    pub(crate) fn is_vector(&self) -> bool {
        self.shape.len() == 1
    }

    /// Bytes in the device's memory.
    pub(crate) fn bytes(&self) -> u64 {
        self.values.values().len() as u64 * self.values.dtype().bytes() as u64
    }
}
