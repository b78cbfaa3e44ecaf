//! ELL: neighbouring rows side by side.

use super::lanes::{Columns, LANES, Slab};
use super::{Product, SEQUENTIAL, SpmvFormat, TRANSPOSED};
use crate::Cpu;
use crate::op::update::Update;
use crate::parallel::{CHUNK, chunks, split_mut};
use crate::simd::{Isa, Vectorize};
use sparse_core::op::Op;
use sparse_core::{Algorithm, Ell, Host, Index, Result, Scalar, SparseFormat};
use std::ops::Range;

const STORED: &[Algorithm] = &[Algorithm::new("row_per_thread", "always"), SEQUENTIAL];

impl<T: Scalar, I: Index> SpmvFormat for Ell<T, Host, I> {
    type Native = ();

    fn algorithms(op: Op) -> &'static [Algorithm] {
        if op.transposes() { TRANSPOSED } else { STORED }
    }

    fn automatic(&self, op: Op) -> (&'static str, String) {
        if op.transposes() {
            ("transposed_pattern", "the entries of a column are not contiguous".into())
        } else {
            ("row_per_thread", "rows are padded to one width".into())
        }
    }

    fn prepare(&self, _: &'static str, _: Op) -> Result<()> {
        Ok(())
    }

    fn native_bytes((): &()) -> usize {
        0
    }

    unsafe fn multiply(&self, cpu: &Cpu, (): &mut (), product: Product<'_, T>) {
        multiply_ell(cpu, self, product, |_, _| {});
    }
}

/// Multiplies with an ELL matrix; `more(rows, sums)` may add to the sums of some rows.
pub(super) fn multiply_ell<T: Scalar, I: Index>(
    cpu: &Cpu,
    a: &Ell<T, Host, I>,
    product: Product<'_, T>,
    more: impl Fn(Range<usize>, &mut [T::Acc]) + Send + Sync,
) {
    let Product { x, y, update, op } = product;
    let rows_per_task = (CHUNK / (a.width() + 1)).max(1).next_multiple_of(LANES);
    let tasks = chunks(a.rows(), rows_per_task);
    let parts = split_mut(y, &tasks);
    let work = a.rows() * (a.width() + 1);
    cpu.for_each(work, tasks.into_iter().zip(parts).collect(), |(rows, y)| {
        cpu.simd().run(EllRows { a, rows, x, y, update, op, more: &more });
    });
}

/// Neighbouring rows of an ELL matrix.
struct EllRows<'a, T: Scalar, I: Index, F> {
    a: &'a Ell<T, Host, I>,
    rows: Range<usize>,
    x: &'a [T],
    y: &'a mut [T],
    update: Update<T::Acc>,
    op: Op,
    more: &'a F,
}

impl<T: Scalar, I: Index, F: Fn(Range<usize>, &mut [T::Acc])> Vectorize for EllRows<'_, T, I, F> {
    type Out = ();

    #[inline(always)]
    fn run<S: Isa>(self) {
        for (k, y) in self.y.chunks_mut(LANES).enumerate() {
            let first = self.rows.start + k * LANES;
            let mut sums = [T::Acc::ZERO; LANES];
            let slab = Slab {
                columns: Columns::Plain(self.a.col_idx()),
                values: self.a.values(),
                start: first,
                stride: self.a.rows(),
                width: self.a.width(),
                lanes: y.len(),
            };
            // SAFETY: rows `first..first + lanes` of a matrix, whose columns the length of `x` was checked against.
            unsafe { slab.add_to::<S>(&mut sums, self.x, self.op) };
            (self.more)(first..first + y.len(), &mut sums);
            for (y, &sum) in y.iter_mut().zip(&sums) {
                self.update.write(y, sum);
            }
        }
    }
}
