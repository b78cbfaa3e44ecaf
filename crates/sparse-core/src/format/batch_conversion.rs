//! Batches from and to matrices: a list of matrices, one block-diagonal matrix, and the other axis.
//!
//! All take time and memory proportional to the arrays that they return. Entries keep their order within rows (CSR) and
//! columns (CSC); duplicates and explicit zeros stay.

use super::combine::common_extent;
use super::{Axis, BatchCompressed, Compressed, CompressedRef, check_extents};
use crate::error::{Error, Result, check_allocation, checked_product};
use crate::index::Index;
use crate::scalar::Scalar;
use crate::space::Host;

impl<A: Axis, T: Scalar, I: Index, O: Index> BatchCompressed<A, T, Host, I, O> {
    /// The batch of matrices of one shape, in this order.
    ///
    /// ```
    /// use sparse_core::{BatchCsr, Csr};
    /// let (a, b) = (Csr::<f64>::identity(2)?, Csr::<f64>::from_triplets(2, 2, [(0, 1, 5.0)])?);
    /// let two = BatchCsr::from_members(&[&a, &b])?;
    /// assert_eq!((two.count(), two.member(1).to_owned()?), (2, b));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Shape`] for no matrix at all, or one of another shape than the first.
    #[doc(alias = "stack")]
    pub fn from_members(members: &[&Compressed<A, T, Host, I, O>]) -> Result<Self> {
        let rows = common_extent("from_members", "rows", members.iter().map(|member| member.nrows()))?;
        let cols = common_extent("from_members", "columns", members.iter().map(|member| member.ncols()))?;
        let mut member_ptr = vec![0];
        let (mut offsets, mut indices, mut values) = (vec![], vec![], vec![]);
        for member in members {
            offsets.extend_from_slice(member.offsets());
            indices.extend_from_slice(member.indices());
            values.extend_from_slice(member.values());
            member_ptr.push(indices.len());
        }
        Self::new((rows, cols), member_ptr, offsets, indices, values)
    }

    /// The `count` blocks on the diagonal of a matrix, which are of one shape, as a batch.
    ///
    /// It is the inverse of [`to_block_diagonal`](Self::to_block_diagonal).
    ///
    /// ```
    /// use sparse_core::{BatchCsr, Csr};
    /// let a = Csr::<f64>::from_triplets(2, 4, [(0, 1, 5.0), (1, 2, 6.0)])?;
    /// let two = BatchCsr::from_block_diagonal(&a, 2)?;
    /// assert_eq!(two.member_shape(), (1, 2));
    /// assert!(two.member(1).triplets().eq([(0, 0, 6.0)]));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Shape`] if `count` does not divide the rows and the columns; [`Error::Format`] for an entry outside of
    /// the blocks.
    pub fn from_block_diagonal(matrix: &Compressed<A, T, Host, I, O>, count: usize) -> Result<Self> {
        let (rows, cols) = matrix.shape();
        if count == 0 || !rows.is_multiple_of(count) || !cols.is_multiple_of(count) {
            let reason = format_args!("{rows} x {cols} is not {count} blocks of one shape");
            return Err(Error::shape("from_block_diagonal", reason));
        }
        let (major, minor) = A::swap(rows / count, cols / count);
        let (mut member_ptr, mut offsets) = (vec![0], vec![]);
        let mut indices = Vec::with_capacity(matrix.nnz());
        for block in 0..count {
            let start = indices.len();
            offsets.push(O::default());
            for k in block * major..(block + 1) * major {
                for (index, _) in matrix.major_entries(k) {
                    let inside = index.checked_sub(block * minor).filter(|&index| index < minor);
                    let index = inside.ok_or_else(|| outside_error::<A>((k, index), block, minor))?;
                    indices.push(I::cast(index));
                }
                offsets.push(O::cast(indices.len() - start));
            }
            member_ptr.push(indices.len());
        }
        Self::new((rows / count, cols / count), member_ptr, offsets, indices, matrix.values().clone())
    }

    /// The block-diagonal matrix of the members: the matrix that products with the batch multiply by.
    ///
    /// ```
    /// use sparse_core::{BatchCsr, Csr};
    /// let a = Csr::<f64>::from_triplets(1, 2, [(0, 1, 5.0)])?;
    /// let c = BatchCsr::from_members(&[&a, &a])?.to_block_diagonal()?;
    /// assert_eq!(c.shape(), (2, 4));
    /// assert!(c.triplets().eq([(0, 1, 5.0), (1, 3, 5.0)]));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::IndexOverflow`] if an extent of the result does not fit `I` or its nnz does not fit `O`, although those
    /// of each member do.
    #[doc(alias = "block_diag")]
    pub fn to_block_diagonal(&self) -> Result<Compressed<A, T, Host, I, O>> {
        let (rows, cols) = (self.nrows(), self.ncols());
        check_extents::<I>(rows, cols)?;
        O::try_new("nnz", self.nnz())?;
        let (member_rows, member_cols) = self.member_shape();
        let (_, minor) = A::swap(member_rows, member_cols);
        let mut offsets = vec![O::default()];
        let mut indices = Vec::with_capacity(self.nnz());
        for k in 0..self.count() {
            let (member, start) = (self.member(k), self.member_ptr()[k]);
            offsets.extend(member.offsets[1..].iter().map(|end| O::cast(start + end.as_usize())));
            indices.extend(member.indices.iter().map(|index| I::cast(k * minor + index.as_usize())));
        }
        Compressed::new_unsorted(rows, cols, offsets, indices, self.values().clone())
    }

    /// The same matrices along the other axis: a [`BatchCsr`](super::BatchCsr) as [`BatchCsc`](super::BatchCsc), or
    /// back.
    ///
    /// The entries of each member are in order of the other axis; those of one coordinate keep their order.
    ///
    /// ```
    /// use sparse_core::{BatchCsc, BatchCsr, Csr};
    /// let a = Csr::<f64>::from_triplets(2, 2, [(0, 1, 5.0), (1, 0, 6.0)])?;
    /// let columns: BatchCsc<f64> = BatchCsr::from_members(&[&a])?.to_other_axis()?;
    /// assert!(columns.member(0).triplets().eq([(1, 0, 6.0), (0, 1, 5.0)]));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::IndexOverflow`] if the offsets of the other axis do not fit the address space.
    #[doc(alias("tocsr", "tocsc"))]
    pub fn to_other_axis(&self) -> Result<BatchCompressed<A::Other, T, Host, I, O>> {
        self.to_other_axis_by(|members| members.into_iter().for_each(OtherAxis::fill))
    }

    /// As [`to_other_axis`](Self::to_other_axis), where `run` calls [`OtherAxis::fill`] of each member, in any order or
    /// on several threads.
    ///
    /// ```
    /// use sparse_core::{BatchCsr, Csr, OtherAxis};
    /// let two = BatchCsr::<f64>::from_members(&[&Csr::identity(2)?, &Csr::zeros(2, 2)?])?;
    /// let columns = two.to_other_axis_by(|members| members.into_iter().rev().for_each(OtherAxis::fill))?;
    /// assert_eq!(columns.member(0).to_owned()?, sparse_core::Csc::identity(2)?);
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of `to_other_axis`, and [`Error::Format`] if a member with entries is left out.
    pub fn to_other_axis_by(
        &self,
        run: impl FnOnce(Vec<OtherAxis<'_, A, T, I, O>>),
    ) -> Result<BatchCompressed<A::Other, T, Host, I, O>> {
        let (member_rows, member_cols) = self.member_shape();
        let (_, minor) = A::swap(member_rows, member_cols);
        let ends = checked_product("members x offsets", self.count(), minor + 1)?;
        check_allocation::<O>("the offsets", ends)?;
        let mut offsets = vec![O::default(); ends];
        let (mut indices, mut values) = (vec![I::default(); self.nnz()], vec![T::ZERO; self.nnz()]);
        let mut members = vec![];
        let (mut rest, mut rest_values) = (&mut indices[..], &mut values[..]);
        for (k, offsets) in offsets.chunks_mut(minor + 1).enumerate() {
            let entries = self.member_range(k).len();
            let (indices, values);
            (indices, rest) = rest.split_at_mut(entries);
            (values, rest_values) = rest_values.split_at_mut(entries);
            members.push(OtherAxis { member: self.member(k), offsets, indices, values });
        }
        run(members);
        BatchCompressed::new(self.member_shape(), self.member_ptr().to_vec(), offsets, indices, values)
    }
}

/// A member of a batch, and the arrays that have it along the other axis once they are filled.
#[derive(Debug)]
pub struct OtherAxis<'a, A: Axis, T: Scalar, I: Index, O: Index> {
    member: CompressedRef<'a, A, T, Host, I, O>,
    offsets: &'a mut [O],
    indices: &'a mut [I],
    values: &'a mut [T],
}

impl<A: Axis, T: Scalar, I: Index, O: Index> OtherAxis<'_, A, T, I, O> {
    /// Fills the arrays: counts the entries of each line, and appends each entry to its line.
    pub fn fill(self) {
        let Self { member, offsets, indices, values } = self;
        let mut next = vec![0; offsets.len()];
        member.indices.iter().for_each(|index| next[index.as_usize() + 1] += 1);
        for line in 1..next.len() {
            next[line] += next[line - 1];
        }
        offsets.iter_mut().zip(&next).for_each(|(offset, &position)| *offset = O::cast(position));
        for (row, col, value) in member.triplets() {
            let (major, line) = A::swap(row, col);
            let position = &mut next[line];
            (indices[*position], values[*position]) = (I::cast(major), value);
            *position += 1;
        }
    }
}

/// The error of an entry outside of the blocks on the diagonal.
fn outside_error<A: Axis>((major, index): (usize, usize), block: usize, minor: usize) -> Error {
    let inside = block * minor..(block + 1) * minor;
    let reason =
        format!("{} {major}: {} {index} is not in {inside:?}, those of block {block}", A::MAJOR, A::MINOR);
    Error::format(A::FORMAT, reason)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{BatchCsc, BatchCsr, Csr};

    /// 2 x 3, with a row that is not in order, an empty member and a duplicate.
    fn batch() -> BatchCsr<f64> {
        BatchCsr::new(
            (2, 3),
            vec![0, 3, 3, 5],
            vec![0, 2, 3, 0, 0, 0, 0, 0, 2],
            vec![2, 0, 1, 1, 1],
            vec![1.0, 2.0, 3.0, 4.0, 5.0],
        )
        .unwrap()
    }

    #[test]
    fn members_make_the_batch_that_they_are_of() {
        let batch = batch();
        let members: Vec<_> = (0..3).map(|k| batch.member(k).to_owned().unwrap()).collect();
        assert_eq!(BatchCsr::from_members(&members.iter().collect::<Vec<_>>()).unwrap(), batch);
        let (wide, none) = (Csr::<f64>::zeros(2, 4).unwrap(), &[] as &[&Csr<f64>]);
        let error = BatchCsr::from_members(&[&members[0], &wide]).unwrap_err().to_string();
        assert_eq!(error, "from_members: matrix 1 has 4 columns where matrix 0 has 3");
        assert!(BatchCsr::from_members(none).is_err());
    }

    #[test]
    fn a_block_diagonal_matrix_and_a_batch_are_turned_into_each_other() {
        let batch = batch();
        let matrix = batch.to_block_diagonal().unwrap();
        assert_eq!(matrix.shape(), (6, 9));
        let entries = [(0, 2, 1.0), (0, 0, 2.0), (1, 1, 3.0), (5, 7, 4.0), (5, 7, 5.0)];
        assert!(matrix.triplets().eq(entries));
        assert_eq!(BatchCsr::from_block_diagonal(&matrix, 3).unwrap(), batch);

        let error = |count| BatchCsr::from_block_diagonal(&matrix, count).unwrap_err().to_string();
        assert_eq!(error(2), "from_block_diagonal: 6 x 9 is not 2 blocks of one shape");
        assert_eq!(error(0), "from_block_diagonal: 6 x 9 is not 0 blocks of one shape");
        let outside = Csr::<f64>::from_triplets(4, 4, [(0, 0, 1.0), (3, 1, 2.0)]).unwrap();
        let error = BatchCsr::from_block_diagonal(&outside, 2).unwrap_err().to_string();
        assert_eq!(error, "csr: row 3: column 1 is not in 2..4, those of block 1");
    }

    #[test]
    fn the_other_axis_has_the_same_entries_and_back_they_are_in_order() {
        let columns: BatchCsc<f64> = batch().to_other_axis().unwrap();
        assert!(columns.member(0).triplets().eq([(0, 0, 2.0), (1, 1, 3.0), (0, 2, 1.0)]));
        assert!(columns.member(2).triplets().eq([(1, 1, 4.0), (1, 1, 5.0)]));
        let rows = columns.to_other_axis().unwrap();
        assert!(rows.member(0).triplets().eq([(0, 0, 2.0), (0, 2, 1.0), (1, 1, 3.0)]));
        assert!(rows.member(2).triplets().eq([(1, 1, 4.0), (1, 1, 5.0)]));
    }

    #[test]
    fn a_batch_larger_than_its_index_type_is_no_matrix() {
        let member = Csr::<f32>::zeros(1, 1 << 30).unwrap();
        let error = BatchCsr::from_members(&[&member, &member]).unwrap().to_block_diagonal().unwrap_err();
        assert!(matches!(error, Error::IndexOverflow { value, .. } if value == 1 << 31), "{error}");
    }
}
