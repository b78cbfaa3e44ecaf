//! Row sums: blocks of rows, each summed by one thread.

use super::{SEQUENTIAL, is_sequential};
use crate::Cpu;
use sparse_core::op::RowSumsKernel;
use sparse_core::reference::Reference;
use sparse_core::{Algorithm, Choice, Csr, Host, Index, PlanOptions, Result, Scalar};

const ALGORITHMS: [Algorithm; 2] = [Algorithm::new("row_blocks", "always"), SEQUENTIAL];

/// Rows that one thread sums.
const BLOCK: usize = 4096;

impl<T: Scalar, I: Index, O: Index> RowSumsKernel<Csr<T, Host, I, O>> for Cpu {
    type Plan = Choice;

    fn row_sums_algorithms(&self) -> &'static [Algorithm] {
        &ALGORITHMS
    }

    fn plan_row_sums(&self, _: &Csr<T, Host, I, O>, options: &PlanOptions) -> Result<Choice> {
        options.choose("row_sums", &ALGORITHMS, ALGORITHMS[0].name, ALGORITHMS[0].chosen)
    }

    unsafe fn row_sums(&self, plan: &mut Choice, a: &Csr<T, Host, I, O>, sums: &mut [T]) -> Result<()> {
        if is_sequential(plan) {
            // SAFETY: the caller makes the reference's promises of the plan and the operands.
            return unsafe { Reference.row_sums(plan, a, sums) };
        }
        let blocks = sums.chunks_mut(BLOCK).enumerate().collect();
        self.for_each(a.nnz(), blocks, |(block, sums): (usize, &mut [T])| {
            let ends = a.offsets()[block * BLOCK..].windows(2);
            for (ends, sum) in ends.zip(sums) {
                let values = &a.values()[ends[0].as_usize()..ends[1].as_usize()];
                *sum = T::from_acc(values.iter().fold(T::Acc::ZERO, |sum, value| sum + value.to_acc()));
            }
        });
        Ok(())
    }
}
