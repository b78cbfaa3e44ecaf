//! The inverses of diagonal blocks.

use super::Preconditioner;
use super::inverse::InverseProduct;
use sparse_core::backend::{SpaceOf, ViewOf, vec_with_capacity};
use sparse_core::error::check_square;
use sparse_core::op::{SpmvKernel, VectorKernel, quotient};
use sparse_core::{Accumulator, Csr, Error, Host, Index, Result, Scalar};
use std::ops::Range;

const OP: &str = "block-jacobi";

/// The block Jacobi preconditioner: K = the diagonal blocks of A, each of `size` rows; the last one may be smaller.
///
/// The blocks are inverted on the host, by elimination with row pivots. An application costs one product with the
/// block-diagonal matrix of the inverses, which has `size` entries a row and runs on every backend.
///
/// ```
/// use sparse_core::{Csr, reference::Reference};
/// use sparse_solvers::{BlockJacobi, Preconditioner};
///
/// let a = Csr::<f64>::from_triplets(3, 3, [(0, 1, 2.0), (1, 0, 4.0), (1, 2, 9.0), (2, 2, 8.0)])?;
/// let mut blocks = BlockJacobi::new(&Reference, &a, 2)?;
/// assert_eq!(blocks.apply(&[2.0, 4.0, 8.0])?, [1.0, 1.0, 1.0]);
/// # Ok::<(), sparse_core::Error>(())
/// ```
#[derive(Debug)]
pub struct BlockJacobi<B, T>
where
    B: SpmvKernel<Csr<T, SpaceOf<B>>>,
    T: Scalar,
{
    size: usize,
    product: InverseProduct<B, T>,
}

impl<B, T> BlockJacobi<B, T>
where
    B: SpmvKernel<Csr<T, SpaceOf<B>>> + VectorKernel<T>,
    T: Accumulator,
{
    /// Inverts the blocks of `a`; entries of one coordinate are added.
    ///
    /// ```
    /// # use sparse_core::{Csr, reference::Reference};
    /// # use sparse_solvers::BlockJacobi;
    /// let error = BlockJacobi::new(&Reference, &Csr::<f64>::zeros(2, 2)?, 2).unwrap_err();
    /// assert_eq!(error.to_string(), "block-jacobi: row 0: its block is singular: there is no pivot");
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Shape`](Error::Shape) if A is not square, [`Unsupported`](Error::Unsupported) for a size of 0,
    /// [`Singular`](Error::Singular) with the first row of its block that has no pivot,
    /// [`IndexOverflow`](Error::IndexOverflow) if the inverses have 2³¹ entries or more,
    /// [`OutOfMemory`](Error::OutOfMemory) if there is no memory for them; those of planning a product.
    pub fn new<I: Index, O: Index>(backend: &B, a: &Csr<T, Host, I, O>, size: usize) -> Result<Self> {
        check_square(OP, (a.nrows(), a.ncols()))?;
        if size == 0 {
            return Err(Error::unsupported("blocks of 0 rows", "they must have at least 1"));
        }
        let n = a.nrows();
        let entries = entries_of_blocks(n, size)?;
        let (mut offsets, mut columns) = (vec_with_capacity(n + 1)?, vec_with_capacity(entries)?);
        offsets.push(0);
        for block in blocks(n, size) {
            for _ in block.clone() {
                columns.extend(block.clone().map(i32::cast));
                offsets.push(i32::cast(columns.len()));
            }
        }
        let inverse = Csr::<T>::new(n, n, offsets, columns, inverse_blocks(a, size)?)?;
        Ok(Self { size, product: InverseProduct::new(backend, &inverse)? })
    }

    /// Inverts the blocks of a matrix of the same order, as of new values.
    ///
    /// # Errors
    /// As [`new`](Self::new); [`Format`](Error::Format) for another order.
    pub fn update<I: Index, O: Index>(&mut self, a: &Csr<T, Host, I, O>) -> Result<()> {
        check_square(OP, (a.nrows(), a.ncols()))?;
        self.product.set_values(&inverse_blocks(a, self.size)?)
    }
}

impl<B, T> Preconditioner<B, T> for BlockJacobi<B, T>
where
    B: SpmvKernel<Csr<T, SpaceOf<B>>> + VectorKernel<T>,
    T: Accumulator,
{
    fn apply<'a>(&'a mut self, r: ViewOf<'a, B, T>) -> Result<ViewOf<'a, B, T>> {
        self.product.apply(r)
    }

    fn is_recordable(&self) -> bool {
        true
    }
}

/// The rows of each block.
fn blocks(n: usize, size: usize) -> impl Iterator<Item = Range<usize>> {
    (0..n).step_by(size).map(move |start| start..n.min(start.saturating_add(size)))
}

/// The number of elements of all blocks.
///
/// # Errors
/// [`IndexOverflow`](Error::IndexOverflow) from 2³¹ on.
fn entries_of_blocks(n: usize, size: usize) -> Result<usize> {
    let (full, rest) = (n / size, n % size);
    let entries = (full as u128 * size as u128).saturating_mul(size as u128) + (rest as u128).pow(2);
    let entries = usize::try_from(entries).unwrap_or(usize::MAX);
    i32::try_new("entries of the inverse blocks", entries)?;
    Ok(entries)
}

/// The elements of the inverses, row by row.
fn inverse_blocks<T: Accumulator, I: Index, O: Index>(a: &Csr<T, Host, I, O>, size: usize) -> Result<Vec<T>> {
    let mut elements = vec_with_capacity(entries_of_blocks(a.nrows(), size)?)?;
    for block in blocks(a.nrows(), size) {
        // Each row has the block and beside it the identity, which becomes the inverse.
        let mut rows = vec![vec![T::zero(); 2 * block.len()]; block.len()];
        for (k, row) in rows.iter_mut().enumerate() {
            row[block.len() + k] = T::one();
            for (col, value) in a.major_entries(block.start + k).filter(|(col, _)| block.contains(col)) {
                row[col - block.start] += value;
            }
        }
        invert(&mut rows).map_err(|row| {
            Error::singular(OP, block.start + row, "its block is singular: there is no pivot")
        })?;
        rows.iter().for_each(|row| elements.extend_from_slice(&row[block.len()..]));
    }
    Ok(elements)
}

/// Turns rows of (A, I) into rows of (I, A⁻¹), by Gauss's and Jordan's elimination.
///
/// # Errors
/// The first column without a pivot.
fn invert<T: Accumulator>(rows: &mut [Vec<T>]) -> Result<(), usize> {
    for k in 0..rows.len() {
        let mut best = k;
        for row in k + 1..rows.len() {
            if rows[row][k].abs() > rows[best][k].abs() {
                best = row;
            }
        }
        rows.swap(k, best);
        let pivot = rows[k][k];
        if pivot.is_zero() || !pivot.is_finite() {
            return Err(k);
        }
        rows[k].iter_mut().for_each(|value| *value = quotient(*value, pivot));
        let pivot_row = rows[k].clone();
        for (_, row) in rows.iter_mut().enumerate().filter(|(row, _)| *row != k) {
            let factor = row[k];
            row.iter_mut().zip(&pivot_row).for_each(|(value, &of_pivot)| *value -= factor * of_pivot);
        }
    }
    Ok(())
}
