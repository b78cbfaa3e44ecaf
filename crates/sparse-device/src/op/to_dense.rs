//! Every format to dense: zeros, then the sum of the entries of each coordinate that occurs.

use super::available_algorithms::Needs;
use crate::defines::Defines;
use crate::driver::Value;
use crate::operand::DenseOperand;
use crate::primitive::stored_values::StoredValues;
use crate::primitive::triplets::Triplets;
use crate::primitive::values::Values;
use crate::{Device, Kernel};
use sparse_core::op::ToDenseKernel;
use sparse_core::{
    Algorithm, Choice, DType, DenseViewMut, KernelPlan, PlanOptions, Result, Scalar, algorithms,
};

algorithms! {
    /// The algorithms of conversions to dense.
    enum ToDenseAlgorithm needs Needs {
        CoordinateSums = Algorithm::new("coordinate_sums", "always").preprocessing(
            "the coordinates of the entries, sorted on the device where they are not known to be unique",
        ),
        Needs::Nothing;
    }
}

/// The plan of an expansion.
#[derive(Debug)]
pub struct ExpansionPlan {
    choice: Choice,
    /// The entries in the order of their coordinates.
    triplets: Triplets,
    dtype: DType,
    kernel: Kernel,
}

impl ExpansionPlan {
    fn new(
        backend: &Device,
        dtype: DType,
        options: &PlanOptions,
        triplets: &dyn Fn() -> Result<Triplets>,
    ) -> Result<Self> {
        let (ToDenseAlgorithm::CoordinateSums, choice) =
            backend.choose_only("to_dense", options, ToDenseAlgorithm::CoordinateSums)?;
        let triplets = triplets()?;
        let index = triplets.rows.index_type();
        let defines = Defines::default().index(index).set("POS", triplets.positions.type_name());
        let kernel = backend.kernel_of(dtype, "to_dense", "to_dense_sum", defines)?;
        Ok(Self { choice, triplets, dtype, kernel })
    }

    /// Writes `zero` everywhere, then the sums of entries.
    fn run(&self, backend: &Device, values: Values<'_>, zero: Value, dense: DenseOperand<'_>) -> Result<()> {
        backend.scale(self.dtype, zero, dense)?;
        let Triplets { rows, cols, positions } = &self.triplets;
        let launch = backend.launch(&self.kernel).size(positions.len()).buffer(rows).buffer(cols);
        launch.positions(positions).values(values).dense(dense).items(positions.len())
    }
}

impl KernelPlan for ExpansionPlan {
    fn choice(&self) -> &Choice {
        &self.choice
    }

    fn workspace_bytes(&self) -> usize {
        self.triplets.bytes()
    }
}

impl<M: StoredValues> ToDenseKernel<M> for Device {
    type Plan = ExpansionPlan;

    fn to_dense_algorithms(&self) -> &'static [Algorithm] {
        self.offered::<ToDenseAlgorithm>()
    }

    fn plan_to_dense(&self, a: &M, options: &PlanOptions) -> Result<Self::Plan> {
        ExpansionPlan::new(self, M::Scalar::DTYPE, options, &|| a.triplets(self))
    }

    unsafe fn run_to_dense(
        &self,
        plan: &mut Self::Plan,
        a: &M,
        dense: DenseViewMut<'_, M::Scalar, Self>,
    ) -> Result<()> {
        let zero = Value::new(&<M::Scalar as Scalar>::Acc::ZERO);
        plan.run(self, a.values(), zero, dense.into())
    }
}
