//! Matrices and operands without type parameters, so that plans and launches are compiled once.

use crate::Device;
use crate::buffer::RawBuffer;
use crate::defines::Defines;
use crate::driver::Value;
use crate::launch::Launch;
use crate::operand::{DenseOperand, Pointer};
use sparse_core::op::Op;
use sparse_core::{Axis, Compressed, Coo, DType, Index, IndexOrder, Scalar};

/// True if the rows of op(A) are the stored lines: rows of CSR without a transpose, columns of CSC with one.
pub(crate) fn along<A: Axis>(op: Op) -> bool {
    A::IS_ROW != op.transposes()
}

/// A compressed matrix as compressed rows; CSC as its transpose.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RawCompressed<'a> {
    pub(crate) dtype: DType,
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    pub(crate) order: IndexOrder,
    pub(crate) offsets: &'a RawBuffer,
    pub(crate) indices: &'a RawBuffer,
    pub(crate) values: &'a RawBuffer,
}

impl<'a, A: Axis, T: Scalar, I: Index, O: Index> From<&'a Compressed<A, T, Device, I, O>>
    for RawCompressed<'a>
{
    fn from(a: &'a Compressed<A, T, Device, I, O>) -> Self {
        Self {
            dtype: T::DTYPE,
            rows: a.pattern().major(),
            cols: a.pattern().minor(),
            order: a.order(),
            offsets: a.offsets(),
            indices: a.indices(),
            values: a.values(),
        }
    }
}

impl RawCompressed<'_> {
    pub(crate) fn nnz(&self) -> usize {
        self.indices.len
    }

    /// The entries per row on average, rounded up.
    pub(crate) fn mean_length(&self) -> usize {
        self.nnz().div_ceil(self.rows.max(1))
    }

    /// The macros of kernels that read the pattern.
    pub(crate) fn defines(&self) -> Defines {
        Defines::default().index(self.indices.index_type()).offset(self.offsets.index_type())
    }

    /// The macros of kernels of a product.
    pub(crate) fn product_defines(&self, op: Op) -> Defines {
        self.defines().conj(self.dtype, op)
    }
}

/// Coordinates and values.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RawCoo<'a> {
    pub(crate) dtype: DType,
    pub(crate) shape: (usize, usize),
    pub(crate) order: IndexOrder,
    pub(crate) row_idx: &'a RawBuffer,
    pub(crate) col_idx: &'a RawBuffer,
    pub(crate) values: &'a RawBuffer,
}

impl<'a, T: Scalar, I: Index> From<&'a Coo<T, Device, I>> for RawCoo<'a> {
    fn from(a: &'a Coo<T, Device, I>) -> Self {
        Self {
            dtype: T::DTYPE,
            shape: (a.nrows(), a.ncols()),
            order: a.order(),
            row_idx: a.row_idx(),
            col_idx: a.col_idx(),
            values: a.values(),
        }
    }
}

impl RawCoo<'_> {
    pub(crate) fn nnz(&self) -> usize {
        self.row_idx.len
    }

    /// The macros of kernels of a product.
    pub(crate) fn product_defines(&self, op: Op) -> Defines {
        let index = self.row_idx.index_type();
        Defines::default().index(index).offset(index).conj(self.dtype, op)
    }
}

/// The operands of `y ← alpha·op(A)·x + beta·y` except the matrix.
#[derive(Debug, Clone, Copy)]
pub(crate) struct VectorOperands<'a> {
    pub(crate) alpha: Value,
    pub(crate) x: Pointer<'a>,
    pub(crate) beta: Value,
    pub(crate) y: Pointer<'a>,
}

impl<'a> VectorOperands<'a> {
    pub(crate) fn new<A: Scalar>(
        alpha: A,
        x: impl Into<Pointer<'a>>,
        beta: A,
        y: impl Into<Pointer<'a>>,
    ) -> Self {
        Self { alpha: Value::new(&alpha), x: x.into(), beta: Value::new(&beta), y: y.into() }
    }
}

/// The operands of `C ← alpha·op(A)·B + beta·C` except the sparse matrix.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DenseOperands<'a> {
    pub(crate) alpha: Value,
    pub(crate) b: DenseOperand<'a>,
    pub(crate) beta: Value,
    pub(crate) c: DenseOperand<'a>,
}

impl<'a> DenseOperands<'a> {
    pub(crate) fn new<'b: 'a, 'c: 'a, A: Scalar>(
        alpha: A,
        b: impl Into<DenseOperand<'b>>,
        beta: A,
        c: impl Into<DenseOperand<'c>>,
    ) -> Self {
        Self { alpha: Value::new(&alpha), b: b.into(), beta: Value::new(&beta), c: c.into() }
    }
}

impl<'a> Launch<'a> {
    /// The operands of a product with a vector, in the order of most kernels.
    pub(crate) fn vectors(self, operands: VectorOperands<'a>) -> Self {
        self.factor(operands.alpha).view(operands.x).factor(operands.beta).view(operands.y)
    }

    /// A compressed matrix and the operands of its product with a vector: the last arguments of most kernels.
    pub(crate) fn product(self, a: RawCompressed<'a>, operands: VectorOperands<'a>) -> Self {
        self.buffer(a.offsets).buffer(a.indices).buffer(a.values).vectors(operands)
    }

    /// The operands of a product with a dense matrix, in the order of most kernels.
    pub(crate) fn matrices(self, operands: DenseOperands<'a>) -> Self {
        self.factor(operands.alpha).dense(operands.b).factor(operands.beta).dense(operands.c)
    }
}
