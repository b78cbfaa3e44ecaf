//! Row pointers in the conventions of others: 0-based or 1-based, offsets or counts.
//!
//! A matrix stores 0-based offsets. Lin, Chung and Liu write the offsets of CRS and CCS 1-based and the indices
//! 0-based; where no prefix sums are made, a row has its count in place of its offset.

use crate::Block;
use sparse_core::{Axis, Error, Index, Result, Scalar};

/// The first entry's number in row pointers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum PtrBase {
    /// Entries are counted from 0.
    #[default]
    Zero,
    /// Entries are counted from 1.
    One,
}

/// The contents of row pointers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum PtrFlavour {
    /// The first entry of each row, and the end of the last: rows + 1 elements.
    #[default]
    Offsets,
    /// The number of entries of each row: `rows` elements; the base does not matter.
    Counts,
}

/// Row pointers of a CSR matrix, column pointers of a CSC matrix, in the given convention.
///
/// ```
/// use sparse_core::Csr;
/// use sparse_distrib::pointers::{PtrBase, PtrFlavour, export};
///
/// let a = Csr::<f64>::new(3, 3, vec![0, 2, 2, 3], vec![0, 2, 1], vec![1.0, 2.0, 3.0])?;
/// assert_eq!(export(&a, PtrFlavour::Offsets, PtrBase::One)?, [1, 3, 3, 4]);
/// assert_eq!(export(&a, PtrFlavour::Counts, PtrBase::One)?, [2, 0, 1]);
/// # Ok::<(), sparse_core::Error>(())
/// ```
///
/// # Errors
/// [`Error::IndexOverflow`] if nnz + 1 does not fit `O`.
pub fn export<A: Axis, T: Scalar, I: Index, O: Index>(
    matrix: &Block<A, T, I, O>,
    flavour: PtrFlavour,
    base: PtrBase,
) -> Result<Vec<O>> {
    let offsets = matrix.offsets();
    match (flavour, base) {
        (PtrFlavour::Counts, _) => Ok(counts(offsets).map(O::cast).collect()),
        (PtrFlavour::Offsets, PtrBase::Zero) => Ok(offsets.to_vec()),
        (PtrFlavour::Offsets, PtrBase::One) => {
            O::try_new("nnz + 1", matrix.nnz() + 1)?;
            Ok(offsets.iter().map(|offset| O::cast(offset.as_usize() + 1)).collect())
        }
    }
}

/// The offsets of a matrix, from row pointers in the given convention: the inverse of [`export`].
///
/// ```
/// use sparse_distrib::pointers::{PtrBase, PtrFlavour, import};
///
/// assert_eq!(import(&[1, 3, 3, 4], PtrFlavour::Offsets, PtrBase::One)?, [0, 2, 2, 3]);
/// assert_eq!(import(&[2, 0, 1], PtrFlavour::Counts, PtrBase::Zero)?, [0, 2, 2, 3]);
/// # Ok::<(), sparse_core::Error>(())
/// ```
///
/// # Errors
/// [`Error::Format`] if offsets do not start at the base or fall, or a count is negative; [`Error::IndexOverflow`] if
/// the sum of the counts does not fit `O`.
pub fn import<O: Index>(pointers: &[O], flavour: PtrFlavour, base: PtrBase) -> Result<Vec<O>> {
    match flavour {
        PtrFlavour::Counts => from_counts(pointers),
        PtrFlavour::Offsets => from_offsets(pointers, if base == PtrBase::Zero { 0 } else { 1 }),
    }
}

/// The number of entries of each row.
pub(crate) fn counts<O: Index>(offsets: &[O]) -> impl Iterator<Item = usize> {
    offsets.windows(2).map(|ends| ends[1].as_usize() - ends[0].as_usize())
}

fn from_counts<O: Index>(counts: &[O]) -> Result<Vec<O>> {
    let (mut offsets, mut sum) = (Vec::with_capacity(counts.len() + 1), O::default());
    offsets.push(sum);
    for (k, &count) in counts.iter().enumerate() {
        if count < O::default() {
            return Err(Error::format(
                "pointers",
                format_args!("row pointer {k}: the count {count} is negative"),
            ));
        }
        sum = O::try_new("the sum of the counts", sum.as_usize() + count.as_usize())?;
        offsets.push(sum);
    }
    Ok(offsets)
}

fn from_offsets<O: Index>(pointers: &[O], base: usize) -> Result<Vec<O>> {
    let error = |reason: String| Error::format("pointers", reason);
    match pointers.first() {
        Some(first) if first.as_usize() == base => {}
        Some(first) => return Err(error(format!("row pointer 0 is {first} where {base} is needed"))),
        None => return Err(error("there is no row pointer where at least one is needed".into())),
    }
    if let Some(k) = (1..pointers.len()).find(|&k| pointers[k - 1] > pointers[k]) {
        return Err(error(format!("row pointer {k} falls from {} to {}", pointers[k - 1], pointers[k])));
    }
    Ok(pointers.iter().map(|pointer| O::cast(pointer.as_usize() - base)).collect())
}
