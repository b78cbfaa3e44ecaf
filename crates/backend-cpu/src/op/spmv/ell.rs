//! ELL: neighbouring rows side by side.

use super::slab_sums::add_slab;
use super::{Needs, Prepared, Product, SpmvFormat, TRANSPOSED_PATTERN};
use crate::Cpu;
use crate::op::SEQUENTIAL;
use crate::parallel::{CHUNK, chunks, split_mut};
use crate::primitive::slab::{Columns, LANES, Slab};
use crate::primitive::update::Update;
use crate::simd::{Isa, Vectorize};
use sparse_core::op::Op;
use sparse_core::{Algorithm, Ell, Host, Index, Result, Scalar, algorithms};
use std::ops::Range;

algorithms! {
    /// The algorithms of ELL.
    pub enum EllAlgorithm needs Needs {
        RowPerThread = Algorithm::new("row_per_thread", "always"), Needs::Own;
        TransposedPattern = TRANSPOSED_PATTERN, Needs::RowPattern;
        Sequential = SEQUENTIAL, Needs::Own;
    }
}

impl<T: Scalar, I: Index> SpmvFormat for Ell<T, Host, I> {
    type Native = ();

    type Algorithm = EllAlgorithm;
    const SEQUENTIAL: Self::Algorithm = EllAlgorithm::Sequential;

    fn fits(algorithm: Self::Algorithm, op: Op) -> bool {
        match algorithm {
            EllAlgorithm::RowPerThread => !op.transposes(),
            EllAlgorithm::TransposedPattern => op.transposes(),
            EllAlgorithm::Sequential => true,
        }
    }

    fn automatic(&self, op: Op) -> (Self::Algorithm, String) {
        if op.transposes() {
            let reason = "the entries of a column are not contiguous";
            return (EllAlgorithm::TransposedPattern, reason.into());
        }
        (EllAlgorithm::RowPerThread, "rows are padded to one width".into())
    }

    fn prepare(&self, _: &Cpu, algorithm: Self::Algorithm, _: Op) -> Result<Prepared<Self::Native>> {
        Ok(match algorithm {
            EllAlgorithm::Sequential => Prepared::Sequential,
            EllAlgorithm::TransposedPattern => Prepared::RowPattern,
            EllAlgorithm::RowPerThread => Prepared::Native(()),
        })
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
    let tasks = chunks(a.nrows(), rows_per_task);
    let parts = split_mut(y, &tasks);
    let work = a.nrows() * (a.width() + 1);
    cpu.for_each_in_runs(work, tasks.into_iter().zip(parts).collect(), |(rows, y)| {
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
                stride: self.a.nrows(),
                width: self.a.width(),
                lanes: y.len(),
            };
            // SAFETY: rows `first..first + lanes` of a matrix, whose columns the length of `x` was checked against.
            unsafe { add_slab::<S, T, I>(&slab, &mut sums, self.x, self.op) };
            (self.more)(first..first + y.len(), &mut sums);
            for (y, &sum) in y.iter_mut().zip(&sums) {
                self.update.write(y, sum);
            }
        }
    }
}
