//! Straight from the text to CSR: count, scan, fill, sort.

use super::entries::Body;
use super::header::Header;
use crate::assemble::{canonical, check_row_claim};
use crate::source::Text;
use rayon::prelude::*;
use sparse_core::{Csr, Host, Index, Result, Scalar};
use std::marker::PhantomData;

/// Reads a coordinate file in `parts` parts.
///
/// Each part counts the entries of each row; a scan over (row, part) turns the counts into the places where the part
/// writes its entries of the row. So duplicates stay in the order of the file, whatever the number of parts.
pub(super) fn read<T: Scalar, I: Index, O: Index>(
    text: Text<'_>,
    header: Header,
    parts: usize,
) -> Result<Csr<T, Host, I, O>> {
    let (rows, cols, stored) = (header.info.rows, header.info.cols, header.info.stored);
    I::try_new("rows", rows)?;
    I::try_new("columns", cols)?;
    O::try_new("entries", stored)?;
    check_row_claim(rows, size_of::<O>(), text.bytes.len())
        .map_err(|reason| text.error(header.size_at, reason))?;

    let body = Body::split(text, header, parts.min(affordable_parts::<T, I, O>(rows, stored)));
    let mut places = body.survey(
        || vec![O::cast(0); rows],
        |counts, rows| rows.iter().for_each(|&row| counts[row] = O::cast(counts[row].as_usize() + 1)),
    )?;
    let offsets = scan(&mut places, rows)?;
    let nnz = offsets[rows].as_usize();
    let (mut indices, mut values) = (vec![I::cast(0); nnz], vec![T::ZERO; nnz]);
    fill(&body, places, &mut indices, &mut values)?;
    canonical(Csr::new_unsorted(rows, cols, offsets, indices, values)?)
}

/// So many parts that their counters take no more than the entries.
fn affordable_parts<T, I, O>(rows: usize, stored: usize) -> usize {
    let entries = stored.saturating_mul(size_of::<T>() + size_of::<I>());
    (entries / rows.saturating_mul(size_of::<O>()).max(1)).max(1)
}

/// Turns the counts of each part into the places of its first entries; gives the row offsets.
fn scan<O: Index>(counts: &mut [Vec<O>], rows: usize) -> Result<Vec<O>> {
    let total = counts.iter().flatten().map(|count| count.as_usize()).sum();
    O::try_new("nnz", total)?;
    let mut offsets = Vec::with_capacity(rows + 1);
    let mut next = 0;
    for row in 0..rows {
        offsets.push(O::cast(next));
        for part in counts.iter_mut() {
            let count = part[row].as_usize();
            part[row] = O::cast(next);
            next += count;
        }
    }
    offsets.push(O::cast(next));
    Ok(offsets)
}

/// Writes the entries of all parts to their places.
fn fill<T: Scalar, I: Index, O: Index>(
    body: &Body<'_>,
    places: Vec<Vec<O>>,
    indices: &mut [I],
    values: &mut [T],
) -> Result<()> {
    let slots = Slots::new(indices, values);
    let filled: Vec<Result<()>> = body
        .parts
        .par_iter()
        .zip(places)
        .map(|(part, mut places)| {
            body.visit(part.clone(), |entries| {
                for &(row, col, value) in entries {
                    let place = places[row].as_usize();
                    places[row] = O::cast(place + 1);
                    // SAFETY: `survey` and `visit` walk the same bytes, which nobody can change while `text` borrows
                    // them, so that this part writes exactly the places that `scan` set aside for it and for no other.
                    unsafe { slots.write(place, I::cast(col), value) };
                }
            })
        })
        .collect();
    filled.into_iter().collect()
}

/// Entries that several threads fill.
struct Slots<'a, I, T> {
    indices: *mut I,
    values: *mut T,
    len: usize,
    borrowed: PhantomData<&'a mut (I, T)>,
}

// SAFETY: the pointers stand for exclusive borrows, and `write` makes its callers keep threads apart.
unsafe impl<I: Send, T: Send> Sync for Slots<'_, I, T> {}

impl<'a, I, T> Slots<'a, I, T> {
    fn new(indices: &'a mut [I], values: &'a mut [T]) -> Self {
        assert_eq!(indices.len(), values.len());
        let len = indices.len();
        Self { indices: indices.as_mut_ptr(), values: values.as_mut_ptr(), len, borrowed: PhantomData }
    }

    /// Writes entry `place`.
    ///
    /// # Safety
    /// No other thread writes this place.
    #[inline(always)]
    unsafe fn write(&self, place: usize, index: I, value: T) {
        assert!(place < self.len);
        // SAFETY: the place lies inside both slices, which are borrowed exclusively, and no other thread writes it.
        unsafe {
            self.indices.add(place).write(index);
            self.values.add(place).write(value);
        }
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
            let error = body.survey(|| (), |(), _| ()).unwrap_err();
            assert!(matches!(error, Error::File { line: Some(6), .. }), "{parts} parts: {error}");
        }
    }
}
