//! CSR from the arrays of entries in any order, by all threads: count, scan, scatter, sort.
//!
//! Entries whose rows ascend are not moved. Otherwise each chunk of them counts its entries of each row; a scan over
//! (row, chunk) turns the counts into positions; each entry goes to its position. So entries of one row stay in order
//! for any number of chunks. Columns move before values, so that at most one array exists twice.

use crate::csr_from_entries::canonical;
use crate::parallel;
use sparse_core::{Csr, Error, Host, Index, Result, Scalar};
use std::marker::PhantomData;

/// The matrix of entries by their rows, columns and values; those of one cell are added in their order. Values that
/// `are_equal` do not move.
///
/// # Errors
/// [`Error::IndexOverflow`] if the number of entries does not fit `O`; [`Error::Format`] if arrays differ in length, or
/// an index is out of range.
pub(crate) fn coo_to_csr<T: Scalar, I: Index, O: Index>(
    (rows, cols): (usize, usize),
    (mut positions, mut indices, mut values): (Vec<O>, Vec<I>, Vec<T>),
    are_equal: bool,
) -> Result<Csr<T, Host, I, O>> {
    let nnz = O::try_new("nnz", values.len())?.as_usize();
    if [positions.len(), indices.len()] != [nnz; 2] {
        let lengths = format_args!("{} rows, {} columns and {nnz} values", positions.len(), indices.len());
        return Err(Error::format("coo", lengths));
    }
    let chunk = nnz.div_ceil(affordable_chunks::<T, I, O>(rows, nnz)).max(1);
    let counts = parallel::map(positions.chunks(chunk).collect(), &|chunk| count(chunk, rows));
    let mut counts = counts.into_iter().collect::<Result<Vec<_>>>()?;
    let offsets = scan(&mut counts, rows);
    if !positions.is_sorted() {
        let chunks = positions.chunks_mut(chunk).zip(counts).collect();
        parallel::map(chunks, &|(rows, next)| rows_to_places(rows, next));
        // SAFETY: the scan gave each entry of each chunk a position of its own.
        indices = unsafe { scatter(&indices, &positions, I::cast(0)) };
        if !are_equal {
            // SAFETY: as above.
            values = unsafe { scatter(&values, &positions, T::ZERO) };
        }
    }
    drop(positions);
    canonical(Csr::new_unsorted(rows, cols, offsets, indices, values)?)
}

/// The most chunks, at most one per thread, whose counters take no more memory than the entries.
fn affordable_chunks<T, I, O>(rows: usize, nnz: usize) -> usize {
    let entries = nnz.saturating_mul(size_of::<T>() + size_of::<I>());
    (entries / rows.saturating_mul(size_of::<O>()).max(1)).clamp(1, rayon::current_num_threads())
}

/// The number of entries in each row.
fn count<O: Index>(row_of: &[O], rows: usize) -> Result<Vec<O>> {
    let mut counts = vec![O::cast(0); rows];
    for row in row_of {
        let Some(count) = counts.get_mut(row.as_usize()) else {
            return Err(Error::format("coo", format_args!("row {row} is not in 0..{rows}")));
        };
        *count = O::cast(count.as_usize() + 1);
    }
    Ok(counts)
}

/// Replaces the counts of each chunk by the positions of its first entries; returns the row offsets.
fn scan<O: Index>(counts: &mut [Vec<O>], rows: usize) -> Vec<O> {
    let mut offsets = Vec::with_capacity(rows + 1);
    let mut next = 0;
    for row in 0..rows {
        offsets.push(O::cast(next));
        for chunk in counts.iter_mut() {
            let count = chunk[row].as_usize();
            chunk[row] = O::cast(next);
            next += count;
        }
    }
    offsets.push(O::cast(next));
    offsets
}

/// Replaces the row of each entry by its position; `next` is the next position in each row.
fn rows_to_places<O: Index>(row_of: &mut [O], mut next: Vec<O>) {
    for row in row_of {
        let position = &mut next[row.as_usize()];
        *row = *position;
        *position = O::cast(position.as_usize() + 1);
    }
}

/// Moves element `k` of `source` to position `positions[k]`, for all `k`.
///
/// # Safety
/// No position occurs twice.
unsafe fn scatter<E: Copy + Send + Sync, O: Index>(source: &[E], positions: &[O], filler: E) -> Vec<E> {
    /// Elements per task.
    const TASK: usize = 1 << 16;
    let mut scattered = vec![filler; source.len()];
    let shared = SharedSlice::new(&mut scattered);
    let tasks = source.chunks(TASK).zip(positions.chunks(TASK)).collect();
    parallel::map(tasks, &|(source, positions): (&[E], &[O])| {
        for (&element, position) in source.iter().zip(positions) {
            // SAFETY: the caller promises that no other element has this position.
            unsafe { shared.write(position.as_usize(), element) };
        }
    });
    scattered
}

/// A slice that several threads fill.
struct SharedSlice<'a, E> {
    start: *mut E,
    len: usize,
    borrowed: PhantomData<&'a mut E>,
}

// SAFETY: the pointer stands for an exclusive borrow, and the callers of `write` promise to write distinct elements.
unsafe impl<E: Send> Sync for SharedSlice<'_, E> {}

impl<'a, E> SharedSlice<'a, E> {
    fn new(elements: &'a mut [E]) -> Self {
        Self { start: elements.as_mut_ptr(), len: elements.len(), borrowed: PhantomData }
    }

    /// Writes element `position`.
    ///
    /// # Safety
    /// No other thread writes this element.
    #[inline(always)]
    unsafe fn write(&self, position: usize, element: E) {
        assert!(position < self.len);
        // SAFETY: the position lies inside the slice, which is borrowed exclusively, and no other thread writes it.
        unsafe { self.start.add(position).write(element) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Arrays = (Vec<i32>, Vec<i32>, Vec<f64>);

    fn of(arrays: Arrays) -> Result<Csr<f64>> {
        coo_to_csr((3, 2), arrays, false)
    }

    #[test]
    fn entries_in_any_order_become_rows_and_those_of_one_cell_are_added() {
        let a = of((vec![2, 0, 2, 2], vec![1, 0, 0, 1], vec![5.0, 1.0, 2.0, 3.0])).unwrap();
        assert!(a.triplets().eq([(0, 0, 1.0), (2, 0, 2.0), (2, 1, 8.0)]));
        assert_eq!(of((vec![], vec![], vec![])).unwrap().nnz(), 0);
    }

    #[test]
    fn arrays_that_are_no_entries_of_the_matrix_are_refused() {
        let wrong: [(Arrays, &str); 5] = [
            ((vec![3], vec![0], vec![1.0]), "row 3 is not in 0..3"),
            ((vec![-1], vec![0], vec![1.0]), "row -1 is not in 0..3"),
            ((vec![0], vec![2], vec![1.0]), "2 is not below 2"),
            ((vec![0], vec![-1], vec![1.0]), "-1 is negative"),
            ((vec![0, 1], vec![0], vec![1.0]), "2 rows, 1 columns and 1 values"),
        ];
        for (arrays, reason) in wrong {
            let error = of(arrays).unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        }
    }
}
