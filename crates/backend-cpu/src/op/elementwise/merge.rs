//! The merge of two sorted rows, which sums (`UNION`) and element-wise products have in common.

use sparse_core::op::elementwise::scaled;
use sparse_core::{Accumulator, Index, Scalar};
use std::ops::Range;

/// Indices that are compared at once.
const LANES: usize = 8;

/// Rows of which one is longer are merged, shorter ones compared all with all, which needs no branch.
const LONG: usize = 64;

/// The number of elements of the union, or else of the intersection, of two sorted rows.
#[inline(always)]
pub(super) fn count<const UNION: bool, I: Index>(a: &[I], b: &[I]) -> usize {
    let common = match () {
        () if a == b => a.len(),
        () if a.len().max(b.len()) > LONG => count_common_by_merge(a, b),
        () => count_common(a, b),
    };
    if UNION { a.len() + b.len() - common } else { common }
}

/// The number of indices that two rows have in common.
#[inline(always)]
fn count_common<I: Index>(a: &[I], b: &[I]) -> usize {
    let (blocks, rest) = b.as_chunks::<LANES>();
    let mut found = [0_i32; LANES];
    for block in blocks {
        for i in a {
            (0..LANES).for_each(|lane| found[lane] += i32::from(block[lane] == *i));
        }
    }
    let in_rest = rest.iter().map(|j| a.iter().map(|i| i32::from(i == j)).sum::<i32>());
    (found.iter().sum::<i32>() + in_rest.sum::<i32>()) as usize
}

/// The same for sorted rows of any length.
#[inline(always)]
fn count_common_by_merge<I: Index>(a: &[I], b: &[I]) -> usize {
    let (mut p, mut q, mut common) = (0, 0, 0);
    while p < a.len() && q < b.len() {
        let (i, j) = (a[p], b[q]);
        common += usize::from(i == j);
        p += usize::from(i <= j);
        q += usize::from(j <= i);
    }
    common
}

/// The indices and values of a matrix, and a factor.
#[derive(Debug, Clone, Copy)]
pub(super) struct Operand<'a, T: Scalar, I> {
    pub(super) factor: T::Acc,
    pub(super) indices: &'a [I],
    pub(super) values: &'a [T],
}

impl<'a, T: Scalar, I> Operand<'a, T, I> {
    fn entries(&self, range: Range<usize>) -> Self {
        Self { indices: &self.indices[range.clone()], values: &self.values[range], ..*self }
    }

    #[inline(always)]
    fn at(&self, position: usize) -> T::Acc {
        scaled(self.factor, self.values[position])
    }
}

/// Writes the elements of a part of C: their values, and their indices unless the pattern of C is known.
#[derive(Debug)]
pub(super) struct Fill<'a, const UNION: bool, T: Scalar, I> {
    pub(super) indices: Option<&'a mut [I]>,
    pub(super) values: &'a mut [T],
    /// The number of elements written.
    pub(super) written: usize,
}

impl<const UNION: bool, T: Scalar, I: Index> Fill<'_, UNION, T, I> {
    /// Writes the elements of a row, or of some of its columns, with these entries of A and B.
    ///
    /// Which side advances is computed and not branched upon: no processor predicts it in rows of scattered columns.
    #[inline(always)]
    pub(super) fn merge(
        &mut self,
        (a, a_range): (&Operand<'_, T, I>, Range<usize>),
        (b, b_range): (&Operand<'_, T, I>, Range<usize>),
    ) {
        let (a, b) = (a.entries(a_range), b.entries(b_range));
        if a.indices == b.indices {
            return self.write(a.indices, |k| Self::combine(a.at(k), b.at(k)));
        }
        // −0 leaves every value as it is, −0 too.
        let absent = -T::Acc::ZERO;
        let (mut p, mut q, mut written) = (0, 0, self.written);
        while p < a.indices.len() && q < b.indices.len() {
            let (i, j) = (a.indices[p], b.indices[q]);
            let (in_a, in_b) = (i <= j, j <= i);
            if UNION || (in_a && in_b) {
                // Both are read, so that nothing need be branched upon.
                let (x, y) = (a.at(p), b.at(q));
                let (x, y) = (if in_a { x } else { absent }, if in_b { y } else { absent });
                self.values[written] = Self::combine(x, y);
                if let Some(indices) = &mut self.indices {
                    indices[written] = if in_a { i } else { j };
                }
                written += 1;
            }
            p += usize::from(in_a);
            q += usize::from(in_b);
        }
        self.written = written;
        if UNION {
            self.write(&a.indices[p..], |k| T::from_acc(a.at(p + k)));
            self.write(&b.indices[q..], |k| T::from_acc(b.at(q + k)));
        }
    }

    #[inline(always)]
    fn combine(a: T::Acc, b: T::Acc) -> T {
        T::from_acc(if UNION { a + b } else { a.times(b) })
    }

    /// Writes elements with these indices.
    #[inline(always)]
    fn write(&mut self, indices: &[I], value: impl Fn(usize) -> T) {
        let place = self.written..self.written + indices.len();
        self.written = place.end;
        self.values[place.clone()].iter_mut().enumerate().for_each(|(k, to)| *to = value(k));
        if let Some(all) = &mut self.indices {
            all[place].copy_from_slice(indices);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_of_counting_agree() {
        for (a_step, b_step) in [(1, 1), (1, 3), (3, 2), (7, 5)] {
            for len in [0, 1, 7, 8, 9, 31, 64] {
                let row = |step| -> Vec<i32> { (0..len).map(|k| k * step).collect() };
                let (a, b) = (row(a_step), row(b_step));
                let common = a.iter().filter(|i| b.contains(i)).count();
                assert_eq!((count_common(&a, &b), count_common_by_merge(&a, &b)), (common, common));
                assert_eq!(count::<true, _>(&a, &b) + count::<false, _>(&a, &b), a.len() + b.len());
            }
        }
    }
}
