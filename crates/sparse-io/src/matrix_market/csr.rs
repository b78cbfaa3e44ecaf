//! Reads a text to CSR: read, count, scan, scatter, sort.

use super::entries::Body;
use super::header::{Field, Header, MatrixInfo};
use super::triplets::Triplets;
use crate::csr_from_entries::{canonical, check_row_claim};
use crate::parallel;
use crate::source::Text;
use sparse_core::{Csr, Host, Index, Result, Scalar};
use std::marker::PhantomData;

/// Reads a coordinate file in `parts` parts.
pub(super) fn read<T: Scalar, I: Index, O: Index>(
    text: Text<'_>,
    header: Header,
    parts: usize,
) -> Result<Csr<T, Host, I, O>> {
    let (rows, cols, stored) = (header.info.rows, header.info.cols, header.info.stored);
    I::try_new("rows", rows)?;
    I::try_new("columns", cols)?;
    O::try_new("rows", rows)?;
    O::try_new("entries", stored)?;
    check_row_claim(rows, size_of::<O>(), text.bytes.len())
        .map_err(|reason| text.error(header.size_at, reason))?;
    compress(header.info, Body::split(text, header, parts).read()?)
}

/// The entries as CSR; those of one cell are added in their order.
///
/// Entries whose rows ascend are not moved. Otherwise each chunk of them counts its entries of each row; a scan over
/// (row, chunk) turns the counts into positions; each entry goes to its position. So entries of one row stay in order
/// for any number of chunks. Columns move before values, so that at most one array exists twice.
fn compress<T: Scalar, I: Index, O: Index>(
    MatrixInfo { rows, cols, field, .. }: MatrixInfo,
    triplets: Triplets<T, O, I>,
) -> Result<Csr<T, Host, I, O>> {
    let Triplets { rows: mut positions, cols: mut indices, mut values } = triplets;
    let nnz = O::try_new("nnz", values.len())?.as_usize();
    let chunk = nnz.div_ceil(affordable_chunks::<T, I, O>(rows, nnz)).max(1);
    let mut counts = parallel::map(positions.chunks(chunk).collect(), &|chunk| count(chunk, rows));
    let offsets = scan(&mut counts, rows);
    if !positions.is_sorted() {
        let chunks = positions.chunks_mut(chunk).zip(counts).collect();
        parallel::map(chunks, &|(rows, next)| rows_to_places(rows, next));
        // SAFETY: the scan gave each entry of each chunk a position of its own.
        indices = unsafe { scatter(&indices, &positions, I::cast(0)) };
        // The values of a pattern are all equal.
        if field != Field::Pattern {
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
fn count<O: Index>(row_of: &[O], rows: usize) -> Vec<O> {
    let mut counts = vec![O::cast(0); rows];
    for row in row_of {
        let count = &mut counts[row.as_usize()];
        *count = O::cast(count.as_usize() + 1);
    }
    counts
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
    use crate::matrix_market::header;
    use proptest::prelude::*;
    use sparse_core::Error;

    fn read_in_parts(text: &str, parts: usize) -> Csr<f64> {
        let text = Text::in_memory(text.as_bytes());
        read(text, header::parse(&text).unwrap(), parts).unwrap()
    }

    proptest! {
        #[test]
        fn the_number_of_parts_changes_nothing(
            entries in prop::collection::vec((1..6_usize, 1..4_usize, -1e3..1e3_f64), 0..40),
            blank_lines in any::<bool>(),
        ) {
            let end = if blank_lines { "\r\n\n% note\n" } else { "\n" };
            let lines: String = entries.iter().map(|(i, j, v)| format!("{i} {j} {v}{end}")).collect();
            let text = format!("%%MatrixMarket matrix coordinate real general\n5 3 {}\n{lines}", entries.len());
            let serial = read_in_parts(&text, 1);
            for parts in 2..9 {
                prop_assert_eq!(&read_in_parts(&text, parts), &serial);
            }
        }
    }

    #[test]
    fn a_surplus_entry_is_found_in_any_part() {
        let text = "%%MatrixMarket matrix coordinate pattern general\n9 9 3\n1 1\n2 2\n3 3\n4 4\n5 5\n";
        let text = Text::in_memory(text.as_bytes());
        for parts in 1..6 {
            let body = Body::split(text, header::parse(&text).unwrap(), parts);
            let error = body.read::<f64, i32, i32>().err().unwrap();
            assert!(matches!(error, Error::File { line: Some(6), .. }), "{parts} parts: {error}");
        }
    }
}
