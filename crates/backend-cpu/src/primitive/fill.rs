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

/// Memory for `len` elements that is not cleared: to clear what an earlier result has left takes as long as to write it.
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

    /// Appends `parts` to `target`, by all threads. If it has no capacity for them, it gets one for `expected` elements, or,
    /// where memory is short, for no more than are there.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub(crate) fn append<T: Element>(
        &self,
        target: &mut Vec<T>,
        parts: &[&[T]],
        expected: usize,
    ) -> Result<()> {
        let len = target.len() + parts.iter().map(|part| part.len()).sum::<usize>();
        if len > target.capacity() {
            target
                .try_reserve_exact(expected.max(len) - target.len())
                .or_else(|_| target.try_reserve_exact(len - target.len()))
                .map_err(|_| Error::out_of_memory::<T>(len))?;
            advise_huge_pages(target.spare_capacity_mut(), HUGE);
        }
        let mut places = Vec::with_capacity(parts.len());
        let mut rest = target.spare_capacity_mut();
        for &part in parts {
            let (place, after) = rest.split_at_mut(part.len());
            places.push((place, part));
            rest = after;
        }
        self.for_each(len, places, |(place, part)| {
            place.iter_mut().zip(part).for_each(|(place, &element)| {
                place.write(element);
            });
        });
        // SAFETY: as many elements were written, one part after the other.
        unsafe { target.set_len(len) };
        Ok(())
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
        let (mut indices, mut values) = (zeroed(nnz), zeroed(nnz));
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
    fn what_is_appended_needs_no_more_memory_than_it_has() {
        let (cpu, mut target) = (Cpu::new().unwrap(), vec![1]);
        cpu.append(&mut target, &[&[2, 3], &[], &[4]], usize::MAX / 2).unwrap();
        assert_eq!(target, [1, 2, 3, 4]);
    }

    #[test]
    fn offsets_that_do_not_fit_are_refused_with_the_number_of_entries() {
        let lengths = [i32::MAX as usize, 1];
        let cpu = Cpu::new().unwrap();
        let error = cpu.offsets::<i32>(&lengths).unwrap_err();
        assert_eq!(error.to_string(), "nnz = 2147483648 does not fit i32");
        assert_eq!(cpu.offsets::<i64>(&lengths).unwrap(), [0, 2_147_483_647, 2_147_483_648]);
    }
}
