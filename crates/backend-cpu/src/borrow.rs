//! CSR over arrays of somebody else's, which are checked by all threads.

use crate::Cpu;
use crate::parallel::{CHUNK, chunks};
use crate::simd::{Isa, Vectorize};
use sparse_core::{HostCsr, Index, IndexOrder, Result, Scalar};
use std::sync::atomic::{AtomicBool, Ordering};

/// The order of indices that nobody has looked at.
const UNKNOWN: IndexOrder = IndexOrder { major_sorted: true, sorted: false, unique: false };

/// Elements of one chunk of an array that is checked.
const CHECKED: usize = 8 * CHUNK;

impl Cpu {
    /// [`HostCsr::borrow`] for a few products, which do not depend on the order of the indices: all threads look for
    /// positions and columns out of range, and nobody looks at the order.
    ///
    /// ```
    /// # use backend_cpu::Cpu;
    /// let (offsets, indices, values) = ([0, 1, 2], [1, 2], [1.0, 2.0]);
    /// // SAFETY: the arrays outlive the matrix, and nobody writes them.
    /// let narrow = unsafe { Cpu::new()?.borrow_csr::<f64, i32, i32>((2, 2), &offsets, &indices, &values) };
    /// assert_eq!(narrow.unwrap_err().to_string(), "csr: row 1: column 2 is not below 2");
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`HostCsr::borrow`].
    ///
    /// # Safety
    /// That of [`HostCsr::borrow`].
    pub unsafe fn borrow_csr<T: Scalar, I: Index, O: Index>(
        &self,
        (rows, cols): (usize, usize),
        offsets: *const [O],
        indices: *const [I],
        values: *const [T],
    ) -> Result<HostCsr<T, I, O>> {
        // SAFETY: the caller promises that the elements exist, and that nobody writes them.
        let (positions, columns) = unsafe { (&*offsets, &*indices) };
        let fits =
            rows <= I::MAX && cols <= I::MAX && columns.len() <= O::MAX && values.len() == columns.len();
        let framed = positions.len().checked_sub(1) == Some(rows)
            && positions.first().is_some_and(|first| first.as_usize() == 0)
            && positions.last().is_some_and(|last| last.as_usize() == columns.len());
        // SAFETY: the caller promises what `borrow` asks, and all that it would refuse has been looked for: sizes, first
        // and last position, ascending positions and the range of columns. `UNKNOWN` promises no order.
        unsafe {
            if fits && framed && self.ascend(positions) && self.lie_below(columns, cols) {
                return Ok(HostCsr::borrow_unchecked((rows, cols), offsets, indices, values, UNKNOWN));
            }
            // It finds the same fault, and says where.
            HostCsr::borrow(rows, cols, offsets, indices, values)
        }
    }

    fn ascend<O: Index>(&self, positions: &[O]) -> bool {
        self.all(positions, 1, |part| self.simd().run(Ascends(part)))
    }

    fn lie_below<I: Index>(&self, columns: &[I], end: usize) -> bool {
        self.all(columns, 0, |part| self.simd().run(LiesBelow(part, end)))
    }

    /// True if `holds` for all parts of an array, of which each ends with the first `overlap` elements of the next.
    fn all<T: Sync>(&self, array: &[T], overlap: usize, holds: impl Fn(&[T]) -> bool + Sync) -> bool {
        if array.len() <= CHECKED {
            return holds(array);
        }
        let failed = AtomicBool::new(false);
        self.for_each(array.len(), chunks(array.len(), CHECKED), |range| {
            let end = (range.end + overlap).min(array.len());
            if !holds(&array[range.start..end]) {
                failed.store(true, Ordering::Relaxed);
            }
        });
        !failed.into_inner()
    }
}

struct Ascends<'a, O>(&'a [O]);

impl<O: Index> Vectorize for Ascends<'_, O> {
    type Out = bool;

    #[inline(always)]
    fn run<S: Isa>(self) -> bool {
        let next = self.0.get(1..).unwrap_or(&[]);
        // Without a branch, so that it is vectorised.
        self.0.iter().zip(next).fold(true, |so_far, (a, b)| so_far & (a <= b))
    }
}

struct LiesBelow<'a, I>(&'a [I], usize);

impl<I: Index> Vectorize for LiesBelow<'_, I> {
    type Out = bool;

    #[inline(always)]
    fn run<S: Isa>(self) -> bool {
        let Some(&first) = self.0.first() else { return true };
        // Least and greatest in their own type, which takes half the instructions of a comparison as 64-bit numbers.
        let (least, greatest) = self
            .0
            .iter()
            .fold((first, first), |(least, greatest), &index| (least.min(index), greatest.max(index)));
        least.as_i64() >= 0 && greatest.as_usize() < self.1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_in_any_part_is_found() {
        let cpu = Cpu::with(2, crate::Simd::detect()).unwrap();
        let mut columns = vec![3_i32; 2 * CHECKED + 5];
        assert!(cpu.lie_below(&columns, 4));
        for (position, value) in [(0, 4), (CHECKED, -1), (2 * CHECKED + 4, i32::MAX)] {
            columns[position] = value;
            assert!(!cpu.lie_below(&columns, 4));
            columns[position] = 3;
        }
        let mut positions: Vec<i64> = (0..2 * CHECKED as i64).collect();
        assert!(cpu.ascend(&positions));
        // Between two parts.
        positions[CHECKED] = 0;
        assert!(!cpu.ascend(&positions));
    }
}
