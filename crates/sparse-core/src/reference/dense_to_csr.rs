//! Dense to CSR: row by row, element by element.

use super::{Reference, algorithms, sequential};
use crate::error::Result;
use crate::format::DenseBatchView;
use crate::index::Index;
use crate::op::{CompressedArrays, DenseToCsrKernel, Keep};
use crate::plan::{Algorithm, Choice, KernelPlan, PlanOptions};
use crate::scalar::Scalar;

/// The plan of a compression: the elements to keep.
#[derive(Debug)]
pub struct CompressionPlan<T: Scalar> {
    choice: Choice,
    keep: Keep<T>,
}

impl<T: Scalar> KernelPlan for CompressionPlan<T> {
    fn choice(&self) -> &Choice {
        &self.choice
    }
}

// SAFETY: every row has its columns in their order, and its end as an offset.
unsafe impl<T: Scalar, I: Index, O: Index> DenseToCsrKernel<T, I, O> for Reference {
    type Plan = CompressionPlan<T>;

    fn dense_to_csr_algorithms(&self) -> &'static [Algorithm] {
        algorithms()
    }

    fn plan_dense_to_csr(
        &self,
        _: &DenseBatchView<'_, T>,
        keep: Keep<T>,
        options: &PlanOptions,
    ) -> Result<Self::Plan> {
        Ok(CompressionPlan { choice: sequential("dense_to_csr", options)?, keep })
    }

    unsafe fn run_dense_to_csr(
        &self,
        plan: &mut Self::Plan,
        a: DenseBatchView<'_, T>,
    ) -> Result<CompressedArrays<Self, T, I, O>> {
        let (mut member_ptr, mut offsets) = (vec![0], vec![]);
        let (mut indices, mut values) = (vec![], vec![]);
        for k in 0..a.count() {
            let (member, start) = (a.member(k), values.len());
            offsets.push(O::default());
            for i in 0..a.nrows() {
                for j in 0..a.ncols() {
                    let value = member.at(i, j);
                    if plan.keep.keeps(value) {
                        indices.push(I::cast(j));
                        values.push(value);
                    }
                }
                offsets.push(O::try_new("nnz", values.len() - start)?);
            }
            member_ptr.push(values.len());
        }
        Ok(CompressedArrays { member_ptr, offsets, indices, values })
    }
}
