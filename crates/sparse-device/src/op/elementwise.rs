//! Sums and element-wise products: a plan merges the patterns on the device, and a run combines the values at the
//! positions that it has found.
//!
//! A run reads two positions and two values for each element of C, and writes one value.

use super::available_algorithms::Needs;
use crate::buffer::RawBuffer;
use crate::defines::Defines;
use crate::driver::Value;
use crate::primitive::in_order::in_order;
use crate::primitive::merged_rows::MergedRows;
use crate::primitive::positions::Positions;
use crate::primitive::raw::RawCompressed;
use crate::primitive::rearrangement::ToCompressed;
use crate::primitive::stored_values::StoredValues;
use crate::{Device, Kernel};
use sparse_core::format::{CompressedPattern, IndexOrder};
use sparse_core::op::{Elementwise, ElementwiseKernel};
use sparse_core::{
    Algorithm, Axis, Choice, Compressed, DType, Index, KernelPlan, PlanOptions, Result, Scalar, algorithms,
};
use std::sync::Arc;

algorithms! {
    /// The algorithms of sums and element-wise products.
    enum ElementwiseAlgorithm needs Needs {
        BinarySearch = Algorithm::new("binary_search", "always").preprocessing(
            "the pattern of C and the positions of its elements in A and in B, by a search for each entry in a row of the \
             other matrix; of operands with duplicates or in no order, copies in order",
        ),
        Needs::Nothing;
    }
}

/// The plan of sums or element-wise products of two patterns.
#[derive(Debug)]
pub struct MergePlan<A: Axis, T: Scalar, I: Index, O: Index> {
    choice: Choice,
    /// Operands that are in no order or have duplicates, in order.
    in_order: [Option<ToCompressed<A, T, I, O>>; 2],
    pattern: Arc<CompressedPattern<Device, I, O>>,
    elements: Elements,
}

/// The elements of C, by their positions in A and in B.
#[derive(Debug)]
struct Elements {
    op: Elementwise,
    kernel: Kernel,
    a_positions: Positions,
    b_positions: Positions,
}

impl<A: Axis, T: Scalar, I: Index, O: Index> KernelPlan for MergePlan<A, T, I, O> {
    fn choice(&self) -> &Choice {
        &self.choice
    }

    fn workspace_bytes(&self) -> usize {
        self.elements.a_positions.bytes() + self.elements.b_positions.bytes()
    }
}

impl Elements {
    fn new(backend: &Device, op: Elementwise, dtype: DType, at: (Positions, Positions)) -> Result<Self> {
        let defines = Defines::default().set("POS", at.0.type_name());
        let kernel = backend.kernel_of(dtype, "elementwise", "elementwise_values", defines)?;
        Ok(Self { op, kernel, a_positions: at.0, b_positions: at.1 })
    }

    fn run(
        &self,
        backend: &Device,
        (alpha, a): (Value, &RawBuffer),
        (beta, b): (Value, &RawBuffer),
    ) -> Result<RawBuffer> {
        let n = self.a_positions.len();
        let values = backend.allocate_raw(n, a.element_bytes)?;
        let multiplies = i32::from(self.op == Elementwise::Multiply);
        let launch = backend.launch(&self.kernel).size(n).value(multiplies);
        let launch = launch.factor(alpha).positions(&self.a_positions).buffer(a);
        launch.factor(beta).positions(&self.b_positions).buffer(b).buffer(&values).items(n)?;
        Ok(values)
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
        let (ElementwiseAlgorithm::BinarySearch, choice) =
            self.choose_only("elementwise", options, ElementwiseAlgorithm::BinarySearch)?;
        let in_order = [in_order(self, a, &choice)?, in_order(self, b, &choice)?];
        let [left, right] = [(&in_order[0], a), (&in_order[1], b)]
            .map(|(plan, given)| RawCompressed::from(plan.as_ref().map_or(given, |plan| plan.target())));
        let MergedRows { offsets, indices, a_positions, b_positions } =
            MergedRows::new(self, op, left, right)?;
        let order = IndexOrder { major_sorted: true, sorted: true, unique: true };
        // SAFETY: the kernels wrote offsets that ascend from 0 to the number of elements, whose indices are those of A
        // and of B, merged in their order.
        let pattern = unsafe {
            CompressedPattern::new_unchecked((left.rows, left.cols), offsets.of(), indices.of(), order)
        };
        let elements = Elements::new(self, op, T::DTYPE, (a_positions, b_positions))?;
        Ok(MergePlan { choice, in_order, pattern: Arc::new(pattern), elements })
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
        let (alpha, beta) = (Value::new(&alpha), Value::new(&beta));
        let values = plan.elements.run(self, (alpha, left.values()), (beta, right.values()))?;
        Compressed::from_pattern(plan.pattern.clone(), values.of())
    }
}
