//! faer: by reference to faer, whose unsigned indices have the bytes of ours, which are never negative; by a copy back.

use crate::error::{Error, Result};
use crate::format::{Csc, Csr, DenseView, Order};
use crate::index::Index;
use crate::scalar::Scalar;
use crate::space::{Element, Host};
use faer::MatRef;
use faer::sparse::{SparseColMatRef, SparseRowMatRef, SymbolicSparseColMatRef, SymbolicSparseRowMatRef};

/// Implements the conversions of a compressed format for a pair of index types of the same size.
macro_rules! compressed {
    ($($ours:ident, $index:ident => $theirs:ident, $symbolic:ident, $unsigned:ident,
       $extent:ident, $indices_of:ident, $values_of:ident, $what:literal;)*) => {$(
        /// A conversion by reference, without a copy. Indices may be unsorted and may repeat, which not all of faer's
        /// functions take.
        impl<'a, T: Scalar> From<&'a $ours<T, Host, $index, $index>> for $theirs<'a, $unsigned, T> {
            fn from(a: &'a $ours<T, Host, $index, $index>) -> Self {
                let (offsets, indices) = (bytemuck::cast_slice(a.offsets()), bytemuck::cast_slice(a.indices()));
                let pattern = $symbolic::new_unsorted_checked(a.nrows(), a.ncols(), offsets, None, indices);
                Self::new(pattern, a.values())
            }
        }

        /// A copy, without what faer has reserved between rows or columns.
        impl<T: Scalar> TryFrom<$theirs<'_, $unsigned, T>> for $ours<T, Host, $index, $index> {
            type Error = Error;

            fn try_from(a: $theirs<'_, $unsigned, T>) -> Result<Self> {
                let (mut offsets, mut indices, mut values) = (vec![0], vec![], vec![]);
                for k in 0..a.$extent() {
                    for &index in a.symbolic().$indices_of(k) {
                        indices.push($index::try_new($what, index as usize)?);
                    }
                    values.extend_from_slice(a.$values_of(k));
                    offsets.push($index::try_new("nnz", indices.len())?);
                }
                Self::new_unsorted(a.nrows(), a.ncols(), offsets, indices, values)
            }
        }
    )*};
}

compressed! {
    Csr, i32 => SparseRowMatRef, SymbolicSparseRowMatRef, u32, nrows, col_idx_of_row_raw, val_of_row, "column";
    Csr, i64 => SparseRowMatRef, SymbolicSparseRowMatRef, u64, nrows, col_idx_of_row_raw, val_of_row, "column";
    Csc, i32 => SparseColMatRef, SymbolicSparseColMatRef, u32, ncols, row_idx_of_col_raw, val_of_col, "row";
    Csc, i64 => SparseColMatRef, SymbolicSparseColMatRef, u64, ncols, row_idx_of_col_raw, val_of_col, "row";
}

/// A conversion by reference, without a copy.
impl<'a, T: Element> From<DenseView<'a, T>> for MatRef<'a, T> {
    fn from(view: DenseView<'a, T>) -> Self {
        let ((rows, cols), stride) = (view.shape(), view.leading_dimension());
        match view.order() {
            Order::RowMajor => MatRef::from_row_major_slice_with_stride(view.data(), rows, cols, stride),
            Order::ColMajor => MatRef::from_column_major_slice_with_stride(view.data(), rows, cols, stride),
        }
    }
}
