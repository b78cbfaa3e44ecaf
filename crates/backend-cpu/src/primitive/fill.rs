//! Count, scan, fill: the common steps of operations that make a matrix.

use crate::Cpu;
use crate::parallel::{CHUNK, chunks, rows_by_entries, split_mut};
use bytemuck::allocation::try_zeroed_vec;
use sparse_core::backend::vec_with_capacity;
use sparse_core::{Element, Error, Index, Result, advise_huge_pages};
use std::ops::Range;

/// Bytes from which on memory is asked for in huge pages.
const HUGE: usize = 4 << 20;

/// `len` zeros. Large ones come untouched from the operating system, so that the threads that fill them split the page
/// faults, which cost more than the filling where pages are small.
pub(crate) fn zeroed<T: bytemuck::Zeroable>(len: usize) -> Vec<T> {
    in_huge_pages(bytemuck::zeroed_vec(len))
}

/// Memory for `len` elements that is not cleared: clearing it takes as long as writing the result.
///
/// # Safety
/// Every pattern of bytes is an element, and the caller reads none before it has written it.
#[expect(clippy::uninit_vec, reason = "the caller promises to write before it reads")]
pub(crate) unsafe fn unwritten<T: bytemuck::Zeroable + Copy>(len: usize) -> Vec<T> {
    let mut memory = Vec::with_capacity(len);
    // SAFETY: the capacity, and the caller's promise.
    unsafe { memory.set_len(len) };
    in_huge_pages(memory)
}

/// As [`unwritten`], for a length that a shape claims and no data justify.
///
/// # Errors
/// [`Error::OutOfMemory`].
///
/// # Safety
/// As for [`unwritten`].
pub(crate) unsafe fn try_unwritten<T: bytemuck::Zeroable + Copy>(len: usize) -> Result<Vec<T>> {
    let mut memory = vec_with_capacity(len)?;
    // SAFETY: the capacity, and the caller's promise.
    unsafe { memory.set_len(len) };
    Ok(in_huge_pages(memory))
}

/// `len` zeros, for a length that a shape claims and no data justify.
///
/// # Errors
/// [`Error::OutOfMemory`].
pub(crate) fn try_zeroed<T: bytemuck::Zeroable>(len: usize) -> Result<Vec<T>> {
    let memory = try_zeroed_vec(len).map_err(|()| Error::out_of_memory::<T>(len))?;
    Ok(in_huge_pages(memory))
}

/// The memory, in huge pages if it is large and untouched.
fn in_huge_pages<T>(memory: Vec<T>) -> Vec<T> {
    advise_huge_pages(&memory, HUGE);
    memory
}

/// The arrays of a compressed matrix.
pub(crate) struct Arrays<T, I, O> {
    pub(crate) offsets: Vec<O>,
    pub(crate) indices: Vec<I>,
    pub(crate) values: Vec<T>,
}

/// Writes the entries of a range of rows.
type Fill<'a, T, I> = dyn Fn(Range<usize>, &mut [I], &mut [T]) + Sync + 'a;

/// The start of each of consecutive ranges of these lengths.
pub(crate) fn starts(lengths: &[usize]) -> Vec<usize> {
    let mut start = 0;
    let add = |length: &usize| {
        start += length;
        start - length
    };
    lengths.iter().map(add).collect()
}

/// The entries of each of consecutive ranges of rows.
pub(crate) fn entry_ranges<O: Index>(offsets: &[O], rows: &[Range<usize>]) -> Vec<Range<usize>> {
    rows.iter().map(|part| offsets[part.start].as_usize()..offsets[part.end].as_usize()).collect()
}

impl Cpu {
    /// The offsets of rows of these lengths.
    pub(crate) fn offsets<O: Index>(&self, lengths: &[usize]) -> Result<Vec<O>> {
        let ranges = chunks(lengths.len(), CHUNK);
        let sums = self.map(lengths.len(), ranges, |range| lengths[range].iter().sum());
        O::try_new("nnz", sums.iter().sum())?;
        let mut offsets = try_zeroed(lengths.len() + 1)?;
        let starts = starts(&sums);
        self.for_chunks(&mut offsets[1..], CHUNK, |first, offsets| {
            let mut end = starts[first / CHUNK];
            for (offset, length) in offsets.iter_mut().zip(&lengths[first..]) {
                end += length;
                *offset = O::cast(end);
            }
        });
        Ok(offsets)
    }

    /// Calls `work` for chunks of `chunk` elements of `slice`, with the position of their first element.
    pub(crate) fn for_chunks<T: Send>(
        &self,
        slice: &mut [T],
        chunk: usize,
        work: impl Fn(usize, &mut [T]) + Send + Sync,
    ) {
        let len = slice.len();
        let items = slice.chunks_mut(chunk).enumerate().collect();
        self.for_each(len, items, |(k, part)| work(k * chunk, part));
    }

    /// A copy, made by all threads.
    pub(crate) fn copy_of<T: Element>(&self, source: &[T]) -> Vec<T> {
        // SAFETY: elements are plain data, and the chunks below are all of them.
        let mut copy = unsafe { unwritten(source.len()) };
        self.for_chunks(&mut copy, CHUNK, |start, part| {
            part.copy_from_slice(&source[start..start + part.len()]);
        });
        copy
    }

    /// A copy with memory for `additional` elements more. Not a reallocation: it would copy unused memory, too, which
    /// takes pages for it, since memory of which a part is in huge pages cannot be moved.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub(crate) fn with_capacity_for<T: Element>(&self, elements: &[T], additional: usize) -> Result<Vec<T>> {
        let mut copy = vec_with_capacity(elements.len() + additional)?;
        advise_huge_pages(copy.spare_capacity_mut(), HUGE);
        let (places, _) = copy.spare_capacity_mut().split_at_mut(elements.len());
        self.for_chunks(places, CHUNK, |start, places| {
            for (place, &element) in places.iter_mut().zip(&elements[start..]) {
                place.write(element);
            }
        });
        // SAFETY: all elements were written.
        unsafe { copy.set_len(elements.len()) };
        Ok(copy)
    }

    /// Compressed arrays whose rows have these lengths; `fill` writes the entries of a range of rows.
    pub(crate) fn fill_rows<T: Element, I: Index, O: Index>(
        &self,
        lengths: &[usize],
        fill: impl Fn(Range<usize>, &mut [I], &mut [T]) + Sync,
    ) -> Result<Arrays<T, I, O>> {
        self.fill_rows_by(lengths, &fill)
    }

    /// Has only the types as parameters, so that it is compiled once for all fillings.
    fn fill_rows_by<T: Element, I: Index, O: Index>(
        &self,
        lengths: &[usize],
        fill: &Fill<'_, T, I>,
    ) -> Result<Arrays<T, I, O>> {
        let offsets = self.offsets::<O>(lengths)?;
        let nnz = offsets[lengths.len()].as_usize();
        let (mut indices, mut values) = (try_zeroed(nnz)?, try_zeroed(nnz)?);
        let parts = rows_by_entries(&offsets, CHUNK);
        let entries = entry_ranges(&offsets, &parts);
        let outputs = split_mut(&mut indices, &entries).into_iter().zip(split_mut(&mut values, &entries));
        let work = parts.into_iter().zip(outputs).collect();
        self.for_each(nnz + lengths.len(), work, |(rows, (indices, values))| fill(rows, indices, values));
        Ok(Arrays { offsets, indices, values })
    }

    /// The row of every entry.
    pub(crate) fn expand<I: Index, O: Index>(&self, offsets: &[O]) -> Vec<I> {
        let rows = offsets.len() - 1;
        let nnz = offsets[rows].as_usize();
        // SAFETY: indices are plain data; every entry lies in a row, whose entries are written.
        let mut row_idx = unsafe { unwritten(nnz) };
        let parts = rows_by_entries(offsets, CHUNK);
        let outputs = split_mut(&mut row_idx, &entry_ranges(offsets, &parts));
        self.for_each(nnz + rows, parts.into_iter().zip(outputs).collect(), |(rows, mut output)| {
            for row in rows {
                let length = offsets[row + 1].as_usize() - offsets[row].as_usize();
                let (this, rest) = output.split_at_mut(length);
                this.fill(I::cast(row));
                output = rest;
            }
        });
        row_idx
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_that_do_not_fit_are_refused_with_the_number_of_entries() {
        let lengths = [i32::MAX as usize, 1];
        let cpu = Cpu::new().unwrap();
        let error = cpu.offsets::<i32>(&lengths).unwrap_err();
        assert_eq!(error.to_string(), "nnz = 2147483648 does not fit i32");
        assert_eq!(cpu.offsets::<i64>(&lengths).unwrap(), [0, 2_147_483_647, 2_147_483_648]);
    }
}
