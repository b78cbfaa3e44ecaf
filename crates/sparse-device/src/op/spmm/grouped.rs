//! Products with the entries grouped by the rows of op(A): those of batches, COO, ELL, HYB and SELL, and of CSR and CSC
//! across the compressed direction.

use super::row_product::RowPlan;
use crate::Device;
use crate::op::available_algorithms::Needs;
use crate::primitive::raw::DenseOperands;
use crate::primitive::row_groups::{GROUPED_ROWS, GroupedRows};
use crate::primitive::stored_values::StoredValues;
use crate::primitive::values::Values;
use sparse_core::op::{Op, SpmmKernel};
use sparse_core::{
    Algorithm, Axis, BatchCompressed, Choice, Coo, DenseView, DenseViewMut, Ell, Hyb, Index, KernelPlan,
    PlanOptions, Result, Scalar, Sell, algorithms,
};

algorithms! {
    /// The algorithms for grouped entries.
    pub(super) enum GroupedAlgorithm needs Needs {
        GroupedRows = GROUPED_ROWS, Needs::Nothing;
    }
}

/// A product with the entries grouped by the rows of op(A), as one of compressed rows.
#[derive(Debug)]
pub struct GroupedPlan {
    choice: Choice,
    rows: GroupedRows,
    product: RowPlan,
}

impl GroupedPlan {
    pub(super) fn new<M: StoredValues>(
        backend: &Device,
        a: &M,
        op: Op,
        columns: usize,
        options: &PlanOptions,
    ) -> Result<Self> {
        let (GroupedAlgorithm::GroupedRows, choice) =
            backend.choose_only("spmm", options, GroupedAlgorithm::GroupedRows)?;
        Self::of(backend, (GroupedRows::new(backend, a, op)?, a.values()), op, columns, (options, choice))
    }

    fn of(
        backend: &Device,
        (rows, values): (GroupedRows, Values<'_>),
        op: Op,
        columns: usize,
        (options, mut choice): (&PlanOptions, Choice),
    ) -> Result<Self> {
        let options = PlanOptions { algorithm: None, ..options.clone() };
        let product = backend.plan_rows_spmm(rows.pattern(values), op, columns, &options)?;
        choice.reason = format!("{}; its rows by {}", choice.reason, product.choice());
        Ok(Self { choice, rows, product })
    }

    pub(super) fn run(
        &self,
        backend: &Device,
        values: Values<'_>,
        operands: DenseOperands<'_>,
    ) -> Result<()> {
        self.product.run(backend, self.rows.with_values(backend, values)?, operands)
    }
}

impl KernelPlan for GroupedPlan {
    fn choice(&self) -> &Choice {
        &self.choice
    }

    fn workspace_bytes(&self) -> usize {
        self.rows.bytes() + self.product.workspace_bytes()
    }
}

macro_rules! grouped_spmm {
    ([$($generics:tt)*], $matrix:ty) => {
        impl<T: Scalar, $($generics)*> SpmmKernel<$matrix> for Device {
            type Plan = GroupedPlan;

            fn spmm_algorithms(&self, _: Op) -> &'static [Algorithm] {
                self.offered::<GroupedAlgorithm>()
            }

            fn plan_spmm(
                &self,
                a: &$matrix,
                op: Op,
                columns: usize,
                options: &PlanOptions,
            ) -> Result<GroupedPlan> {
                GroupedPlan::new(self, a, op, columns, options)
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
