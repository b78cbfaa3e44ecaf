//! Sums and element-wise products: a plan counts the elements along the path that merges A and B, and a run goes along
//! it again. The first run writes the pattern of C, too.

use super::available_algorithms::Needs;
use crate::Device;
use crate::driver::Value;
use crate::primitive::merged_rows::MergedRows;
use crate::primitive::raw::RawCompressed;
use crate::primitive::rearrangement::ToCompressed;
use crate::primitive::sorted_copy::in_order;
use crate::primitive::stored_values::StoredValues;
use sparse_core::format::{CompressedPattern, IndexOrder};
use sparse_core::op::{Elementwise, ElementwiseKernel};
use sparse_core::{
    Algorithm, Axis, Choice, Compressed, Index, KernelPlan, PlanOptions, Result, Scalar, algorithms,
};
use std::sync::Arc;

algorithms! {
    /// The algorithms of sums and element-wise products.
    enum ElementwiseAlgorithm needs Needs {
        MergePath = Algorithm::new("merge_path", "always").preprocessing(
            "the starts of the tiles of the path that merges A and B, and the elements of C before each; of operands with \
             duplicates or in no order, copies in order",
        ),
        Needs::Nothing;
    }
}

/// The plan of sums or element-wise products of two patterns.
#[derive(Debug)]
pub struct MergePlan<A: Axis, T: Scalar, I: Index, O: Index> {
    choice: Choice,
    /// Sorted copies without duplicates of operands that need them.
    in_order: [Option<ToCompressed<A, T, I, O>>; 2],
    rows: MergedRows,
    /// The pattern of C, which the first run writes.
    pattern: Option<Arc<CompressedPattern<Device, I, O>>>,
}

impl<A: Axis, T: Scalar, I: Index, O: Index> KernelPlan for MergePlan<A, T, I, O> {
    fn choice(&self) -> &Choice {
        &self.choice
    }

    fn workspace_bytes(&self) -> usize {
        self.rows.bytes()
    }
}

impl<A: Axis, T: Scalar, I: Index, O: Index> ElementwiseKernel<Compressed<A, T, Device, I, O>> for Device {
    type Plan = MergePlan<A, T, I, O>;

    fn elementwise_algorithms(&self) -> &'static [Algorithm] {
        self.offered::<ElementwiseAlgorithm>()
    }

    fn plan_elementwise(
        &self,
        op: Elementwise,
        a: &Compressed<A, T, Device, I, O>,
        b: &Compressed<A, T, Device, I, O>,
        options: &PlanOptions,
    ) -> Result<Self::Plan> {
        let (ElementwiseAlgorithm::MergePath, choice) =
            self.choose_only("elementwise", options, ElementwiseAlgorithm::MergePath)?;
        let in_order = [in_order(self, a, &choice)?, in_order(self, b, &choice)?];
        let [left, right] = [(&in_order[0], a), (&in_order[1], b)]
            .map(|(plan, given)| RawCompressed::from(plan.as_ref().map_or(given, |plan| plan.target())));
        let rows = MergedRows::new(self, op, left, right)?;
        Ok(MergePlan { choice, in_order, rows, pattern: None })
    }

    unsafe fn run_elementwise(
        &self,
        plan: &mut Self::Plan,
        alpha: T::Acc,
        a: &Compressed<A, T, Device, I, O>,
        beta: T::Acc,
        b: &Compressed<A, T, Device, I, O>,
    ) -> Result<Compressed<A, T, Device, I, O>> {
        let sorted = |plan: &Option<ToCompressed<A, T, I, O>>, given| {
            plan.as_ref().map(|plan| plan.run(self, StoredValues::values(given))).transpose()
        };
        let (left, right) = (sorted(&plan.in_order[0], a)?, sorted(&plan.in_order[1], b)?);
        let (left, right) = (left.as_ref().unwrap_or(a), right.as_ref().unwrap_or(b));
        let (raw_a, raw_b) = ((Value::new(&alpha), left.into()), (Value::new(&beta), right.into()));
        if let Some(pattern) = &plan.pattern {
            let values = plan.rows.values(self, raw_a, raw_b)?;
            return Compressed::from_pattern(pattern.clone(), values.of());
        }
        let [offsets, indices, values] = plan.rows.fill(self, raw_a, raw_b)?;
        let order = IndexOrder { major_sorted: true, sorted: true, unique: true };
        let shape = (left.pattern().major(), left.pattern().minor());
        // SAFETY: the kernels wrote offsets that ascend from 0 to the number of elements, whose indices are those of A
        // and of B, merged in their order.
        let pattern =
            Arc::new(unsafe { CompressedPattern::new_unchecked(shape, offsets.of(), indices.of(), order) });
        plan.pattern = Some(pattern.clone());
        Compressed::from_pattern(pattern, values.of())
    }
}
