//! Entries in the order of the file, as three arrays that several threads fill.

use crate::parallel;
use crate::stream::{Reserve, grow};
use sparse_core::{Index, Result, Scalar};
use std::ops::Range;

/// Entries up to which one thread clears the arrays: waking another one takes longer.
const CLEARED_ALONE: usize = 1 << 16;

/// Rows, columns and values of entries.
#[derive(Debug)]
pub(super) struct Triplets<T, R, C> {
    pub(super) rows: Vec<R>,
    pub(super) cols: Vec<C>,
    pub(super) values: Vec<T>,
}

impl<T: Scalar, R: Index, C: Index> Triplets<T, R, C> {
    /// Arrays of `length` entries, to be filled.
    pub(super) fn with_length(length: usize) -> Self {
        let positions = || (vec![R::cast(0); length], vec![C::cast(0); length]);
        let zeros = || vec![T::ZERO; length];
        // Clearing recycled memory takes 4 of 76 ms for 2.4 million entries.
        let ((rows, cols), values) =
            if length < CLEARED_ALONE { (positions(), zeros()) } else { parallel::join(positions, zeros) };
        Self { rows, cols, values }
    }

    /// The most bytes of arrays that were [lengthened](Self::lengthen) to `length`.
    pub(super) fn bytes_of(length: usize) -> usize {
        let capacity = length.checked_next_power_of_two().unwrap_or(length);
        capacity.saturating_mul(size_of::<R>() + size_of::<C>() + size_of::<T>())
    }

    /// Makes the arrays as long as `length`, if they are shorter. The caller has reserved their bytes.
    pub(super) fn lengthen(&mut self, length: usize) -> Result<()> {
        let more = length.saturating_sub(self.values.len());
        let reserved: &mut Reserve<'_> = &mut |_| Ok(());
        if more > 0 {
            grow(&mut self.rows, more, usize::MAX, reserved)?;
            grow(&mut self.cols, more, usize::MAX, reserved)?;
            grow(&mut self.values, more, usize::MAX, reserved)?;
            self.rows.resize(length, R::cast(0));
            self.cols.resize(length, C::cast(0));
            self.values.resize(length, T::ZERO);
        }
        Ok(())
    }

    /// Appends the first `count` entries of `other`, of `most` in all.
    pub(super) fn append(
        &mut self,
        other: &Self,
        count: usize,
        most: usize,
        reserve: &mut Reserve<'_>,
    ) -> Result<()> {
        grow(&mut self.rows, count, most, reserve)?;
        grow(&mut self.cols, count, most, reserve)?;
        grow(&mut self.values, count, most, reserve)?;
        self.rows.extend_from_slice(&other.rows[..count]);
        self.cols.extend_from_slice(&other.cols[..count]);
        self.values.extend_from_slice(&other.values[..count]);
        Ok(())
    }

    /// Splits the entries into consecutive parts of the given lengths, to be filled.
    pub(super) fn split(&mut self, lengths: &[usize]) -> Vec<PartMut<'_, T, R, C>> {
        let (mut rows, mut cols, mut values) = (&mut self.rows[..], &mut self.cols[..], &mut self.values[..]);
        let part = |&length: &usize| PartMut {
            rows: rows.split_off_mut(..length).unwrap_or_default(),
            cols: cols.split_off_mut(..length).unwrap_or_default(),
            values: values.split_off_mut(..length).unwrap_or_default(),
            filled: 0,
        };
        lengths.iter().map(part).collect()
    }

    /// Moves the entries together where parts of `split` were not filled completely.
    pub(super) fn close_gaps(&mut self, lengths: &[usize], filled: impl Iterator<Item = usize>) {
        let (mut start, mut end) = (0, 0);
        for (length, filled) in lengths.iter().zip(filled) {
            if end != start {
                self.move_down(start..start + filled, end);
            }
            start += length;
            end += filled;
        }
        self.rows.truncate(end);
        self.cols.truncate(end);
        self.values.truncate(end);
    }

    fn move_down(&mut self, from: Range<usize>, to: usize) {
        self.rows.copy_within(from.clone(), to);
        self.cols.copy_within(from.clone(), to);
        self.values.copy_within(from, to);
    }
}

/// A part that one thread fills.
pub(super) struct PartMut<'a, T, R, C> {
    rows: &'a mut [R],
    cols: &'a mut [C],
    values: &'a mut [T],
    /// Number of entries filled.
    pub(super) filled: usize,
}

impl<T: Scalar, R: Index, C: Index> PartMut<'_, T, R, C> {
    #[inline(always)]
    pub(super) fn push(&mut self, row: usize, col: usize, value: T) {
        self.rows[self.filled] = R::cast(row);
        self.cols[self.filled] = C::cast(col);
        self.values[self.filled] = value;
        self.filled += 1;
    }
}
