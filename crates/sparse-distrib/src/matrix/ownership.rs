//! The division of rows, columns or vector elements among ranks.

use crate::partition::block;
use sparse_core::{Error, Index, Result};
use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::Arc;

/// Consecutive ranges of items, one for each rank: the rows or columns of a [`DistributedMatrix`], the elements of a
/// [`DistributedVector`]. A range may be empty.
///
/// All ranks have the same; a clone costs nothing.
///
/// ```
/// use sparse_distrib::Ownership;
///
/// let four = Ownership::even(10, 4)?;
/// assert_eq!(four.starts(), [0, 3, 6, 8, 10]);
/// assert_eq!((four.range(1), four.owner(5)), (3..6, Some(1)));
/// # Ok::<(), sparse_core::Error>(())
/// ```
///
/// [`DistributedMatrix`]: crate::DistributedMatrix
/// [`DistributedVector`]: crate::DistributedVector
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ownership {
    /// The first item of each rank, and the end: ascending from 0, of at least two elements.
    starts: Arc<[usize]>,
}

impl Ownership {
    /// Ranges of `items / ranks` items; the first `items % ranks` of them have one more.
    ///
    /// # Errors
    /// [`Error::Shape`] if there are no ranks.
    pub fn even(items: usize, ranks: usize) -> Result<Self> {
        let count = NonZeroUsize::new(ranks).ok_or_else(no_ranks)?;
        Ok(Self { starts: (0..=ranks).map(|rank| block(items, count, rank).start).collect() })
    }

    /// Ranges of rows with about as many entries each, from the row pointers of a matrix: rank k begins at the first
    /// row with at least `k · nnz / ranks` entries before it. Rows without any entries are divided evenly.
    ///
    /// ```
    /// use sparse_distrib::Ownership;
    ///
    /// let halves = Ownership::by_nnz(&[0, 90, 95, 97, 100], 2)?; // a long first row
    /// assert_eq!(halves.starts(), [0, 1, 4]);
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Shape`] if there are no ranks, or no row pointers.
    pub fn by_nnz<O: Index>(row_ptr: &[O], ranks: usize) -> Result<Self> {
        Self::by_entries(row_ptr, ranks, |rank, nnz| (rank as u128 * nnz as u128 / ranks as u128) as usize)
    }

    /// As [`by_nnz`](Self::by_nnz), with entries in proportion to the weight of each rank, such as the bandwidth of its
    /// device.
    ///
    /// ```
    /// use sparse_distrib::Ownership;
    ///
    /// let row_ptr: Vec<i32> = (0..=8).map(|row| 10 * row).collect();
    /// assert_eq!(Ownership::by_weight(&row_ptr, &[3.0, 1.0])?.starts(), [0, 6, 8]);
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Shape`] if there are no weights or row pointers, a weight is negative, or their sum is not a positive
    /// number.
    pub fn by_weight<O: Index>(row_ptr: &[O], weights: &[f64]) -> Result<Self> {
        let total: f64 = weights.iter().sum();
        if !(total.is_finite() && total > 0.0) || weights.iter().any(|&weight| weight < 0.0) {
            let reason = format!("weights of at least 0 with a positive sum are needed, not {weights:?}");
            return Err(Error::shape("ownership", reason));
        }
        Self::by_entries(row_ptr, weights.len(), |rank, nnz| {
            let before: f64 = weights[..rank].iter().sum();
            (before / total * nnz as f64).round() as usize
        })
    }

    /// Ranges of the given lengths.
    ///
    /// ```
    /// use sparse_distrib::Ownership;
    ///
    /// assert_eq!(Ownership::from_lengths([2, 0, 3])?.starts(), [0, 2, 2, 5]);
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Shape`] if there are none, or their sum does not fit `usize`.
    pub fn from_lengths(lengths: impl IntoIterator<Item = usize>) -> Result<Self> {
        let mut starts = vec![0_usize];
        for length in lengths {
            let end = starts[starts.len() - 1].checked_add(length);
            starts.push(end.ok_or_else(|| Error::shape("ownership", "the sum of the lengths is too large"))?);
        }
        if starts.len() == 1 { Err(no_ranks()) } else { Ok(Self { starts: starts.into() }) }
    }

    /// Rank k begins at the first row with at least `target(k, nnz)` entries before it.
    fn by_entries<O: Index>(
        row_ptr: &[O],
        ranks: usize,
        target: impl Fn(usize, usize) -> usize,
    ) -> Result<Self> {
        let Some(last) = row_ptr.last() else {
            return Err(Error::shape("ownership", "there are no row pointers where at least one is needed"));
        };
        let (rows, nnz) = (row_ptr.len() - 1, last.as_usize());
        if nnz == 0 || ranks == 0 {
            return Self::even(rows, ranks);
        }
        let start = |rank| row_ptr.partition_point(|entries| entries.as_usize() < target(rank, nnz));
        let inner = (1..ranks).map(|rank| start(rank).min(rows));
        Ok(Self { starts: std::iter::once(0).chain(inner).chain([rows]).collect() })
    }

    /// The number of ranks.
    pub fn ranks(&self) -> usize {
        self.starts.len() - 1
    }

    /// The number of items of all ranks.
    pub fn len(&self) -> usize {
        self.starts[self.ranks()]
    }

    /// True if there are no items.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The first item of each rank, and the number of items.
    pub fn starts(&self) -> &[usize] {
        &self.starts
    }

    /// The items of a rank; empty for a rank that does not exist.
    pub fn range(&self, rank: usize) -> Range<usize> {
        let start = |rank: usize| self.starts[rank.min(self.ranks())];
        start(rank)..start(rank.saturating_add(1))
    }

    /// The rank that has an item; `None` past the last.
    pub fn owner(&self, item: usize) -> Option<usize> {
        (item < self.len()).then(|| self.starts.partition_point(|&start| start <= item) - 1)
    }
}

fn no_ranks() -> Error {
    Error::shape("ownership", "there are no ranks where at least one is needed")
}
