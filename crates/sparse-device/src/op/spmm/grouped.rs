//! Products with the entries grouped by the rows of op(A): those of batches, COO, ELL, HYB and SELL, and of CSR and CSC
//! across the compressed direction.

use crate::op::available_algorithms::Needs;
use crate::primitive::raw::DenseOperands;
use crate::primitive::row_groups::{GROUPED_ROWS, RowGroups};
use crate::primitive::stored_values::StoredValues;
use crate::primitive::values::Values;
use crate::{Device, Kernel};
use sparse_core::op::{Op, SpmmKernel};
use sparse_core::{
    Algorithm, Axis, BatchCompressed, Choice, Coo, DType, DenseView, DenseViewMut, Ell, Hyb, Index,
    KernelPlan, PlanOptions, Result, Scalar, Sell, algorithms,
};

algorithms! {
    /// The algorithms for grouped entries.
    pub(super) enum GroupedAlgorithm needs Needs {
        GroupedRows = GROUPED_ROWS, Needs::Nothing;
    }
}

/// A product with the entries grouped by the rows of op(A).
#[derive(Debug)]
pub struct GroupedPlan {
    choice: Choice,
    kernel: Kernel,
    groups: RowGroups,
}

impl GroupedPlan {
    pub(super) fn new<M: StoredValues>(
        backend: &Device,
        a: &M,
        op: Op,
        options: &PlanOptions,
    ) -> Result<Self> {
        Self::of(backend, M::Scalar::DTYPE, op, options, &|| a.row_groups(backend, op))
    }

    fn of(
        backend: &Device,
        dtype: DType,
        op: Op,
        options: &PlanOptions,
        groups: &dyn Fn() -> Result<RowGroups>,
    ) -> Result<Self> {
        let (GroupedAlgorithm::GroupedRows, choice) =
            backend.choose_only("spmm", options, GroupedAlgorithm::GroupedRows)?;
        let groups = groups()?;
        Ok(Self { choice, kernel: backend.grouped_kernel(dtype, "grouped_spmm", &groups, op)?, groups })
    }

    pub(super) fn run(
        &self,
        backend: &Device,
        values: Values<'_>,
        operands: DenseOperands<'_>,
    ) -> Result<()> {
        let (rows, cols) = (operands.c.rows, operands.c.cols);
        let launch = backend.launch(&self.kernel).size(rows).size(cols).groups_of(&self.groups, values);
        launch.matrices(operands).items(rows * cols)
    }
}

impl KernelPlan for GroupedPlan {
    fn choice(&self) -> &Choice {
        &self.choice
    }

    fn workspace_bytes(&self) -> usize {
        self.groups.bytes()
    }
}

macro_rules! grouped_spmm {
    ([$($generics:tt)*], $matrix:ty) => {
        impl<T: Scalar, $($generics)*> SpmmKernel<$matrix> for Device {
            type Plan = GroupedPlan;

            fn spmm_algorithms(&self, _: Op) -> &'static [Algorithm] {
                self.offered::<GroupedAlgorithm>()
            }

            fn plan_spmm(&self, a: &$matrix, op: Op, _: usize, options: &PlanOptions) -> Result<GroupedPlan> {
                GroupedPlan::new(self, a, op, options)
            }

            unsafe fn run_spmm(
                &self,
                plan: &mut GroupedPlan,
                alpha: T::Acc,
                a: &$matrix,
                b: DenseView<'_, T, Self>,
                beta: T::Acc,
                c: DenseViewMut<'_, T, Self>,
            ) -> Result<()> {
                plan.run(self, StoredValues::values(a), DenseOperands::new(alpha, b, beta, c))
            }
        }
    };
}

grouped_spmm!([A: Axis, I: Index, O: Index], BatchCompressed<A, T, Device, I, O>);
grouped_spmm!([I: Index], Coo<T, Device, I>);
grouped_spmm!([I: Index], Ell<T, Device, I>);
grouped_spmm!([I: Index], Hyb<T, Device, I>);
grouped_spmm!([I: Index, O: Index], Sell<T, Device, I, O>);
