//! An array of a `.npy` file as one matrix, by EKMR.

use crate::ekmr::EKMR4;
use crate::partition::Part;
use sparse_core::{Order, Result, Scalar};
use sparse_io::npy::MappedArray;

/// The place of each element of the matrix in the file of the array `A[l][k][i][j]`; in three dimensions n_l is 1.
#[derive(Debug)]
pub(super) struct EkmrLayout {
    extents: [usize; 4],
    strides: [usize; 4],
    shape: (usize, usize),
}

impl EkmrLayout {
    /// The layout of an array of three or four dimensions, `None` of one with fewer or more.
    ///
    /// # Errors
    /// [`IndexOverflow`](sparse_core::Error::IndexOverflow) if rows or columns of the matrix do not fit `usize`.
    pub(super) fn of(array: &MappedArray) -> Result<Option<Self>> {
        let extents = match *array.shape() {
            [k, i, j] => [1, k, i, j],
            [l, k, i, j] => [l, k, i, j],
            _ => return Ok(None),
        };
        let (shape, strides) = (EKMR4.shape(extents)?, strides(extents, array.order()));
        Ok(Some(Self { extents, strides, shape }))
    }

    /// (rows, columns) of the matrix.
    pub(super) fn shape(&self) -> (usize, usize) {
        self.shape
    }

    /// Reads the elements of a part of the matrix, row by row.
    ///
    /// # Errors
    /// As for [`MappedArray::read`].
    pub(super) fn read<T: Scalar>(&self, array: &MappedArray, part: &Part, elements: &mut [T]) -> Result<()> {
        let ([_, n_k, _, _], [_, stride_k, _, stride_j]) = (self.extents, self.strides);
        let width = part.cols.len();
        let mut along_j = vec![];
        for (row, target) in part.rows.clone().zip(elements.chunks_exact_mut(width.max(1))) {
            if stride_k < stride_j {
                let mut col = part.cols.start;
                while col < part.cols.end {
                    let len = (n_k - col % n_k).min(part.cols.end - col);
                    let run = &mut target[col - part.cols.start..][..len];
                    array.read(self.offset(row, col), stride_k, run)?;
                    col += len;
                }
                continue;
            }
            // Every n_k-th column has the same k.
            for first in 0..n_k.min(width) {
                along_j.resize((width - first).div_ceil(n_k), T::ZERO);
                array.read(self.offset(row, part.cols.start + first), stride_j, &mut along_j)?;
                let targets = target[first..].iter_mut().step_by(n_k);
                targets.zip(&along_j).for_each(|(target, &element)| *target = element);
            }
        }
        Ok(())
    }

    /// The position in the file of an element of the matrix.
    fn offset(&self, row: usize, col: usize) -> usize {
        let index = EKMR4.index(self.extents, (row, col));
        index.iter().zip(self.strides).map(|(index, stride)| index * stride).sum()
    }
}

/// The distances between neighbours along each dimension of an array without padding.
fn strides(extents: [usize; 4], order: Order) -> [usize; 4] {
    let mut strides = [1_usize; 4];
    for d in 1..4 {
        match order {
            // An array without elements may have any extents.
            Order::RowMajor => strides[3 - d] = strides[4 - d].saturating_mul(extents[4 - d]),
            Order::ColMajor => strides[d] = strides[d - 1].saturating_mul(extents[d - 1]),
        }
    }
    strides
}
