//! SELL-C-σ: the rows of a slice side by side.

use super::lanes::{LANES, Slab};
use super::{Product, SEQUENTIAL, SpmvFormat, TRANSPOSED};
use crate::Cpu;
use crate::op::update::{Disjoint, Update};
use crate::parallel::{CHUNK, rows_by_entries};
use crate::simd::{Isa, Vectorize};
use sparse_core::op::Op;
use sparse_core::{Algorithm, Host, Index, Result, Scalar, Sell};
use std::ops::Range;

const STORED: &[Algorithm] = &[Algorithm::new("row_per_thread", "always"), SEQUENTIAL];

impl<T: Scalar, I: Index, O: Index> SpmvFormat for Sell<T, Host, I, O> {
    /// Ranges of slices with equal slots.
    type Native = Vec<Range<usize>>;

    fn algorithms(op: Op) -> &'static [Algorithm] {
        if op.transposes() { TRANSPOSED } else { STORED }
    }

    fn automatic(&self, op: Op) -> (&'static str, String) {
        if op.transposes() {
            ("transposed_pattern", "the entries of a column do not stand together".into())
        } else {
            ("row_per_thread", "the rows of a slice are padded to one width".into())
        }
    }

    fn prepare(&self, _: &'static str) -> Result<Self::Native> {
        Ok(rows_by_entries(self.slice_ptr(), CHUNK))
    }

    fn native_bytes(parts: &Self::Native) -> usize {
        size_of_val(parts.as_slice())
    }

    unsafe fn multiply(&self, cpu: &Cpu, parts: &mut Self::Native, product: Product<'_, T>) {
        let Product { x, y, update, conjugate } = product;
        let y = Disjoint::new(y);
        cpu.for_each(self.values().len(), parts.iter().collect(), |slices| {
            cpu.simd().run(Slices { a: self, slices: slices.clone(), x, y, update, conjugate });
        });
    }
}

/// Neighbouring slices of a SELL matrix.
struct Slices<'a, T: Scalar, I: Index, O: Index> {
    a: &'a Sell<T, Host, I, O>,
    slices: Range<usize>,
    x: &'a [T],
    y: Disjoint<T>,
    update: Update<T::Acc>,
    conjugate: bool,
}

impl<T: Scalar, I: Index, O: Index> Vectorize for Slices<'_, T, I, O> {
    type Out = ();

    #[inline(always)]
    fn run<S: Isa>(self) {
        let height = self.a.slice_height();
        for slice in self.slices {
            let slots = self.a.slice_ptr()[slice].as_usize()..self.a.slice_ptr()[slice + 1].as_usize();
            let rows = &self.a.row_order()[slice * height..];
            for (k, rows) in rows[..rows.len().min(height)].chunks(LANES).enumerate() {
                let mut sums = [T::Acc::ZERO; LANES];
                if !slots.is_empty() {
                    let slots = slots.start + k * LANES..slots.end;
                    let slab = Slab {
                        columns: &self.a.col_idx()[slots.clone()],
                        values: &self.a.values()[slots],
                        stride: height,
                        lanes: rows.len(),
                    };
                    slab.add_to::<S>(&mut sums, self.x, self.conjugate);
                }
                for (row, &sum) in rows.iter().zip(&sums) {
                    // SAFETY: the row order is a permutation, and each of its positions belongs to one slice.
                    self.update.write(unsafe { self.y.at(row.as_usize()) }, sum);
                }
            }
        }
    }
}
