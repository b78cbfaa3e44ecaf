//! Pruning: counts the entries to keep, then copies them.

use super::{SEQUENTIAL, is_sequential};
use crate::Cpu;
use crate::parallel::{CHUNK, chunks};
use sparse_core::op::{Keep, PruneKernel};
use sparse_core::reference::Reference;
use sparse_core::{
    Algorithm, Axis, Choice, Compressed, Coo, Host, Index, PlanOptions, Result, Scalar, SparseFormat,
};

const ALGORITHMS: [Algorithm; 2] = [Algorithm::new("count_fill", "always"), SEQUENTIAL];

/// Rows whose entries are counted together.
const COUNTED_ROWS: usize = 1024;

fn choose(options: &PlanOptions) -> Result<Choice> {
    options.choose("prune", &ALGORITHMS, ALGORITHMS[0].name, "every entry is looked at twice and copied once")
}

impl<A: Axis, T: Scalar, I: Index, O: Index> PruneKernel<Compressed<A, T, Host, I, O>> for Cpu {
    type Plan = Choice;

    fn prune_algorithms(&self) -> &'static [Algorithm] {
        &ALGORITHMS
    }

    fn plan_prune(&self, _: &Compressed<A, T, Host, I, O>, options: &PlanOptions) -> Result<Choice> {
        choose(options)
    }

    unsafe fn prune(
        &self,
        plan: &mut Choice,
        a: &Compressed<A, T, Host, I, O>,
        keep: Keep<T>,
    ) -> Result<Compressed<A, T, Host, I, O>> {
        if is_sequential(plan) {
            // SAFETY: the caller makes the reference's promises of the plan and the operands.
            return unsafe { Reference.prune(plan, a, keep) };
        }
        let pattern = a.pattern();
        let mut lengths = vec![0; pattern.major()];
        self.for_chunks(&mut lengths, COUNTED_ROWS, |first, lengths| {
            for (row, length) in (first..).zip(lengths) {
                *length = a.values()[pattern.range(row)].iter().filter(|&&value| keep.keeps(value)).count();
            }
        });
        let arrays = self.fill_rows::<T, I, O>(&lengths, |rows, indices, values| {
            let entries = pattern.range(rows.start).start..pattern.range(rows.end - 1).end;
            let entries = a.indices()[entries.clone()].iter().zip(&a.values()[entries]);
            let kept = entries.filter(|entry| keep.keeps(*entry.1));
            for ((index, value), entry) in indices.iter_mut().zip(values).zip(kept) {
                (*index, *value) = (*entry.0, *entry.1);
            }
        })?;
        // SAFETY: the offsets are the sums of the counts; the entries are some of those of `a`, in their order.
        Ok(unsafe {
            Compressed::new_unchecked(
                a.rows(),
                a.cols(),
                arrays.offsets,
                arrays.indices,
                arrays.values,
                a.order(),
            )
        })
    }
}

impl<T: Scalar, I: Index> PruneKernel<Coo<T, Host, I>> for Cpu {
    type Plan = Choice;

    fn prune_algorithms(&self) -> &'static [Algorithm] {
        &ALGORITHMS
    }

    fn plan_prune(&self, _: &Coo<T, Host, I>, options: &PlanOptions) -> Result<Choice> {
        choose(options)
    }

    unsafe fn prune(&self, plan: &mut Choice, a: &Coo<T, Host, I>, keep: Keep<T>) -> Result<Coo<T, Host, I>> {
        if is_sequential(plan) {
            // SAFETY: the caller makes the reference's promises of the plan and the operands.
            return unsafe { Reference.prune(plan, a, keep) };
        }
        let ranges = chunks(a.nnz(), CHUNK);
        let kept = self.map(a.nnz(), ranges, |range| -> Vec<usize> {
            range.filter(|&k| keep.keeps(a.values()[k])).collect()
        });
        let kept = kept.concat();
        let row_idx = kept.iter().map(|&k| a.row_idx()[k]).collect();
        let col_idx = kept.iter().map(|&k| a.col_idx()[k]).collect();
        let values = kept.iter().map(|&k| a.values()[k]).collect();
        // SAFETY: the entries are some of those of `a`, in their order.
        Ok(unsafe { Coo::new_unchecked(a.rows(), a.cols(), row_idx, col_idx, values, a.order()) })
    }
}
