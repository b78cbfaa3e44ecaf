//! Matrices made of matrices: stacked, on the diagonal of a larger one, and Kronecker products.
//!
//! All take time and memory proportional to the arrays that they return. Entries keep their order within rows (CSR) and
//! columns (CSC), so that sorted operands give a sorted result; duplicates and explicit zeros stay.

use super::{Axis, Compressed, check_extents};
use crate::backend::{vec_with_capacity, zeroed_vec};
use crate::error::{Error, Result, check_allocation, checked_product};
use crate::index::Index;
use crate::scalar::Scalar;
use crate::space::Host;

/// The matrices below each other.
///
/// ```
/// use sparse_core::{Csr, vstack};
/// let (a, b) = (Csr::<f64>::identity(2)?, Csr::<f64>::from_triplets(1, 2, [(0, 1, 5.0)])?);
/// let c = vstack(&[&a, &b])?;
/// assert_eq!(c.shape(), (3, 2));
/// assert!(c.triplets().eq([(0, 0, 1.0), (1, 1, 1.0), (2, 1, 5.0)]));
/// # Ok::<(), sparse_core::Error>(())
/// ```
///
/// # Errors
/// [`Error::Shape`] for no matrix at all, or one with another number of columns than the first;
/// [`Error::IndexOverflow`] if an extent of the result does not fit `I` or its nnz does not fit `O`.
#[doc(alias("bmat", "concatenate", "row_stack"))]
pub fn vstack<A: Axis, T: Scalar, I: Index, O: Index>(
    blocks: &[&Compressed<A, T, Host, I, O>],
) -> Result<Compressed<A, T, Host, I, O>> {
    let cols = common_extent("vstack", "columns", blocks.iter().map(|block| block.ncols()))?;
    let (starts, rows) = running_sum("rows", blocks.iter().map(|block| block.nrows()))?;
    place((rows, cols), blocks, starts.into_iter().map(|row| (row, 0)).collect())
}

/// The matrices beside each other.
///
/// ```
/// use sparse_core::{Csr, hstack};
/// let (a, b) = (Csr::<f64>::identity(2)?, Csr::<f64>::from_triplets(2, 1, [(1, 0, 5.0)])?);
/// let c = hstack(&[&a, &b])?;
/// assert_eq!(c.shape(), (2, 3));
/// assert!(c.triplets().eq([(0, 0, 1.0), (1, 1, 1.0), (1, 2, 5.0)]));
/// # Ok::<(), sparse_core::Error>(())
/// ```
///
/// # Errors
/// [`Error::Shape`] for no matrix at all, or one with another number of rows than the first;
/// [`Error::IndexOverflow`] if an extent of the result does not fit `I` or its nnz does not fit `O`.
#[doc(alias("bmat", "concatenate", "column_stack"))]
pub fn hstack<A: Axis, T: Scalar, I: Index, O: Index>(
    blocks: &[&Compressed<A, T, Host, I, O>],
) -> Result<Compressed<A, T, Host, I, O>> {
    let rows = common_extent("hstack", "rows", blocks.iter().map(|block| block.nrows()))?;
    let (starts, cols) = running_sum("columns", blocks.iter().map(|block| block.ncols()))?;
    place((rows, cols), blocks, starts.into_iter().map(|col| (0, col)).collect())
}

/// The matrices along the diagonal of a larger one; no matrices give 0 x 0.
///
/// ```
/// use sparse_core::{Csr, block_diag};
/// let (a, b) = (Csr::<f64>::identity(2)?, Csr::<f64>::from_triplets(1, 2, [(0, 1, 5.0)])?);
/// let c = block_diag(&[&a, &b])?;
/// assert_eq!(c.shape(), (3, 4));
/// assert!(c.triplets().eq([(0, 0, 1.0), (1, 1, 1.0), (2, 3, 5.0)]));
/// # Ok::<(), sparse_core::Error>(())
/// ```
///
/// # Errors
/// [`Error::IndexOverflow`] if an extent of the result does not fit `I` or its nnz does not fit `O`.
#[doc(alias = "direct_sum")]
pub fn block_diag<A: Axis, T: Scalar, I: Index, O: Index>(
    blocks: &[&Compressed<A, T, Host, I, O>],
) -> Result<Compressed<A, T, Host, I, O>> {
    let (first_rows, rows) = running_sum("rows", blocks.iter().map(|block| block.nrows()))?;
    let (first_cols, cols) = running_sum("columns", blocks.iter().map(|block| block.ncols()))?;
    place((rows, cols), blocks, first_rows.into_iter().zip(first_cols).collect())
}

/// The Kronecker product: the block at (i, j) is `a[i, j]·B`.
///
/// Products are made in the accumulator's type and rounded once. Only stored entries meet, so that an infinite or NaN
/// entry does not spread to zeros that are not stored.
///
/// ```
/// use sparse_core::{Csr, kron};
/// let a = Csr::<f64>::from_triplets(1, 2, [(0, 0, 2.0), (0, 1, 3.0)])?;
/// let c = kron(&a, &Csr::identity(2)?)?;
/// assert!(c.triplets().eq([(0, 0, 2.0), (0, 2, 3.0), (1, 1, 2.0), (1, 3, 3.0)]));
/// # Ok::<(), sparse_core::Error>(())
/// ```
///
/// # Errors
/// [`Error::IndexOverflow`] if an extent of the result does not fit `I` or its nnz does not fit `O`.
#[doc(alias = "kronecker_product")]
pub fn kron<A: Axis, T: Scalar, I: Index, O: Index>(
    a: &Compressed<A, T, Host, I, O>,
    b: &Compressed<A, T, Host, I, O>,
) -> Result<Compressed<A, T, Host, I, O>> {
    kron_with(a, b, || Ok(()))
}

/// Steps of a Kronecker product between two calls of `check`, and the entries of a row of B more: some 0.1 ms.
const CHECKED_STEPS: usize = 1 << 16;

/// As [`kron`], and calls `check` every 65 536 steps or so; its error ends the product. Steps are the entries and rows of
/// the result, and the entries of A for each row of B, which may be empty.
///
/// ```
/// use sparse_core::{Csr, Error, kron_with};
/// let row = Csr::<f64>::from_triplets(1, 300, (0..300).map(|col| (0, col, 1.0)))?;
/// let mut calls = 0;
/// let c = kron_with(&row, &row, || {
///     calls += 1;
///     Ok(())
/// })?;
/// assert_eq!((c.nnz(), calls), (90_000, 1));
/// let stop = || Err(Error::unsupported("kron", "it was stopped"));
/// assert!(kron_with(&row, &row, stop).is_err());
/// // Without entries, too.
/// let empty = Csr::<f64>::zeros(300, 1)?;
/// assert!(kron_with(&row, &empty, stop).is_err() && kron_with(&empty, &empty, stop).is_err());
/// # Ok::<(), Error>(())
/// ```
///
/// # Errors
/// As [`kron`], and those of `check`.
pub fn kron_with<A: Axis, T: Scalar, I: Index, O: Index>(
    a: &Compressed<A, T, Host, I, O>,
    b: &Compressed<A, T, Host, I, O>,
    mut check: impl FnMut() -> Result<()>,
) -> Result<Compressed<A, T, Host, I, O>> {
    let rows = checked_product("rows x rows", a.nrows(), b.nrows())?;
    let cols = checked_product("columns x columns", a.ncols(), b.ncols())?;
    let nnz = checked_product("nnz x nnz", a.nnz(), b.nnz())?;
    check_sizes::<A, T, I, O>((rows, cols), nnz)?;
    let mut offsets = vec_with_capacity(A::swap(rows, cols).0 + 1)?;
    offsets.push(O::default());
    let (mut indices, mut values) = (vec_with_capacity(nnz)?, vec_with_capacity(nnz)?);
    let mut steps = 0;
    let mut advance = |by| {
        steps += by;
        if steps < CHECKED_STEPS {
            return Ok(());
        }
        steps = 0;
        check()
    };
    for k in 0..a.pattern().major() {
        for l in 0..b.pattern().major() {
            for (i, factor) in a.major_entries(k) {
                let first = indices.len();
                for (j, value) in b.major_entries(l) {
                    indices.push(I::cast(i * b.pattern().minor() + j));
                    values.push(T::from_acc(factor.to_acc() * value.to_acc()));
                }
                advance(1 + indices.len() - first)?;
            }
            offsets.push(O::cast(indices.len()));
            advance(1)?;
        }
    }
    Compressed::new_unsorted(rows, cols, offsets, indices, values)
}

/// The extent that all blocks have, of at least one.
pub(super) fn common_extent(
    op: &'static str,
    what: &str,
    extents: impl Iterator<Item = usize>,
) -> Result<usize> {
    let mut extents = extents.enumerate();
    let Some((_, first)) = extents.next() else {
        return Err(Error::shape(op, "there are no matrices; at least one is needed"));
    };
    match extents.find(|&(_, extent)| extent != first) {
        None => Ok(first),
        Some((k, extent)) => {
            let reason = format_args!("matrix {k} has {extent} {what} where matrix 0 has {first}");
            Err(Error::shape(op, reason))
        }
    }
}

/// The sum of the extents before each block, and of all.
fn running_sum(what: &str, extents: impl Iterator<Item = usize>) -> Result<(Vec<usize>, usize)> {
    let (mut starts, mut sum) = (vec![], 0_usize);
    for extent in extents {
        starts.push(sum);
        sum = sum.checked_add(extent).ok_or_else(|| Error::IndexOverflow {
            what: what.into(),
            value: sum as u128 + extent as u128,
            target: "usize",
        })?;
    }
    Ok((starts, sum))
}

/// An error unless a matrix of this size fits its index types and memory.
fn check_sizes<A: Axis, T: Scalar, I: Index, O: Index>(
    (rows, cols): (usize, usize),
    nnz: usize,
) -> Result<()> {
    check_extents::<I>(rows, cols)?;
    O::try_new("nnz", nnz)?;
    check_allocation::<usize>("the offsets", A::swap(rows, cols).0 + 1)?;
    check_allocation::<I>("the indices", nnz)?;
    check_allocation::<T>("the values", nnz)
}

/// The matrix that has element (0, 0) of each block where `starts` says. In every row and column, blocks follow each
/// other as they are listed.
fn place<A: Axis, T: Scalar, I: Index, O: Index>(
    (rows, cols): (usize, usize),
    blocks: &[&Compressed<A, T, Host, I, O>],
    starts: Vec<(usize, usize)>,
) -> Result<Compressed<A, T, Host, I, O>> {
    let (_, nnz) = running_sum("nnz", blocks.iter().map(|block| block.nnz()))?;
    check_sizes::<A, T, I, O>((rows, cols), nnz)?;
    let (major, _) = A::swap(rows, cols);
    let placed: Vec<_> = blocks.iter().zip(starts).map(|(block, (i, j))| (block, A::swap(i, j))).collect();

    let mut next: Vec<usize> = zeroed_vec(major + 1)?;
    for &(block, (first, _)) in &placed {
        for k in 0..block.pattern().major() {
            next[first + k + 1] += block.pattern().range(k).len();
        }
    }
    for k in 0..major {
        next[k + 1] += next[k];
    }
    let mut offsets = vec_with_capacity(next.len())?;
    offsets.extend(next.iter().map(|&position| O::cast(position)));
    let (mut indices, mut values) = (zeroed_vec::<I>(nnz)?, zeroed_vec::<T>(nnz)?);
    for (block, (first, shift)) in placed {
        for k in 0..block.pattern().major() {
            let position = &mut next[first + k];
            for (index, value) in block.major_entries(k) {
                indices[*position] = I::cast(index + shift);
                values[*position] = value;
                *position += 1;
            }
        }
    }
    Compressed::new_unsorted(rows, cols, offsets, indices, values)
}
