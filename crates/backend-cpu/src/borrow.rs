//! CSR over arrays of somebody else's, which are checked by all threads.

use crate::Cpu;
use crate::parallel::{CHUNK, chunks};
use crate::simd::{Isa, Vectorize};
use sparse_core::op::Op;
use sparse_core::{Error, HostCsr, Index, IndexOrder, Result, Scalar};
use std::sync::atomic::{AtomicBool, Ordering};

/// The order of indices that nobody has looked at.
pub(crate) const UNKNOWN: IndexOrder = IndexOrder { major_sorted: true, sorted: false, unique: false };

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
        // SAFETY: the caller promises what `borrow` asks, and all that it would refuse has been looked for: sizes,
        // first and last position, ascending positions and the range of columns. `UNKNOWN` promises no order.
        unsafe {
            if self.is_framed((rows, cols), &*offsets, &*indices, values.len())
                && self.lie_below(&*indices, cols)
            {
                return Ok(HostCsr::borrow_unchecked((rows, cols), offsets, indices, values, UNKNOWN));
            }
            // It finds the same fault, and says where.
            HostCsr::borrow(rows, cols, offsets, indices, values)
        }
    }

    /// `y ← op(A)·x` with A in CSR over offsets, indices and values of the caller's, for one product: without a plan,
    /// and columns are checked by the pass that multiplies.
    ///
    /// ```
    /// # use backend_cpu::Cpu;
    /// use sparse_core::op::Op;
    ///
    /// let (offsets, indices, values) = ([0, 1, 2], [1, 0], [2.0, 3.0]);
    /// let mut y = [0.0; 2];
    /// // SAFETY: nobody writes the arrays.
    /// unsafe { Cpu::new()?.multiply_borrowed((2, 2), (&offsets, &indices, &values), Op::None, &[1.0, 10.0], &mut y)? };
    /// assert_eq!(y, [20.0, 3.0]);
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`HostCsr::borrow`], after which `y` may have any values; [`Error::Shape`] for an x or y of another
    /// length.
    ///
    /// # Safety
    /// That of [`HostCsr::borrow`] for the time of the call.
    pub unsafe fn multiply_borrowed<T: Scalar, I: Index, O: Index>(
        &self,
        (rows, cols): (usize, usize),
        (offsets, indices, values): (*const [O], *const [I], *const [T]),
        op: Op,
        x: &[T],
        y: &mut [T],
    ) -> Result<()> {
        let (long, wide) = op.orient(rows, cols);
        if (x.len(), y.len()) != (wide, long) {
            let reason =
                format!("x has {} and y {} elements where {wide} and {long} are right", x.len(), y.len());
            return Err(Error::shape("spmv", reason));
        }
        // SAFETY: the caller promises what `borrow` asks, and all but the range of columns has been looked for, which
        // `multiply_once` compares before it uses one. The matrix does not leave this function.
        unsafe {
            if self.is_framed((rows, cols), &*offsets, &*indices, values.len()) {
                let a = HostCsr::borrow_unchecked((rows, cols), offsets, indices, values, UNKNOWN);
                if self.multiply_once(&a, op, x, y)? {
                    return Ok(());
                }
            }
            // It finds the same fault, and says where.
            HostCsr::borrow(rows, cols, offsets, indices, values).map(drop)
        }
    }

    /// True if sizes and positions are those of a matrix in CSR.
    pub(crate) fn is_framed<I: Index, O: Index>(
        &self,
        (rows, cols): (usize, usize),
        positions: &[O],
        columns: &[I],
        values: usize,
    ) -> bool {
        rows <= I::MAX
            && cols <= I::MAX
            && columns.len() <= O::MAX
            && values == columns.len()
            && positions.len().checked_sub(1) == Some(rows)
            && positions.first().is_some_and(|first| first.as_usize() == 0)
            && positions.last().is_some_and(|last| last.as_usize() == columns.len())
            && self.ascend(positions)
    }

    fn ascend<O: Index>(&self, positions: &[O]) -> bool {
        self.all(positions, 1, |part| self.simd().run(Ascends(part)))
    }

    /// True if all indices are from 0 to `end` − 1.
    pub(crate) fn lie_below<I: Index>(&self, columns: &[I], end: usize) -> bool {
        self.all(columns, 0, |part| self.lies_below(part, end))
    }

    /// As [`lie_below`](Self::lie_below), by the calling thread.
    pub(crate) fn lies_below<I: Index>(&self, columns: &[I], end: usize) -> bool {
        let extremes = self.simd().run(Extremes(columns));
        extremes.is_none_or(|(least, greatest)| least.as_i64() >= 0 && greatest.as_usize() < end)
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
        // Without a branch, so that it is vectorized.
        self.0.iter().zip(next).fold(true, |so_far, (a, b)| so_far & (a <= b))
    }
}

/// The least and the greatest of some indices.
pub(crate) struct Extremes<'a, I>(pub(crate) &'a [I]);

impl<I: Index> Vectorize for Extremes<'_, I> {
    type Out = Option<(I, I)>;

    #[inline(always)]
    fn run<S: Isa>(self) -> Option<(I, I)> {
        let &first = self.0.first()?;
        // In their own type, which takes half the instructions of a comparison as 64-bit numbers.
        Some(
            self.0
                .iter()
                .fold((first, first), |(least, greatest), &index| (least.min(index), greatest.max(index))),
        )
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
