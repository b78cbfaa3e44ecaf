//! ELL: one row per work-item.

use super::plan::{Grouped, ProductPlan, Traversal};
use crate::defines::Defines;
use crate::index_type::IndexType;
use crate::op::available_algorithms::Needs;
use crate::primitive::raw::VectorOperands;
use crate::primitive::row_groups::GROUPED_ROWS;
use crate::primitive::stored_values::StoredValues;
use crate::{Device, Kernel, View, ViewMut};
use sparse_core::op::{Op, SpmvKernel};
use sparse_core::{Algorithm, Ell, Index, PlanOptions, Result, Scalar, SparseFormat, algorithms};

algorithms! {
    /// The algorithms of ELL.
    enum EllAlgorithm needs Needs {
        RowPerThread = Algorithm::new("row_per_thread", "always"), Needs::Nothing;
        /// For op(A) by columns.
        GroupedRows = GROUPED_ROWS, Needs::Nothing;
    }
}

impl<T: Scalar, I: Index> SpmvKernel<Ell<T, Device, I>> for Device {
    type Plan = ProductPlan<Kernel>;

    fn spmv_algorithms(&self, op: Op) -> &'static [Algorithm] {
        self.offered_if(|algorithm: EllAlgorithm| (algorithm == EllAlgorithm::GroupedRows) == op.transposes())
    }

    fn plan_spmv(&self, a: &Ell<T, Device, I>, op: Op, options: &PlanOptions) -> Result<Self::Plan> {
        let table = SpmvKernel::<Ell<T, Device, I>>::spmv_algorithms(self, op);
        let fitting = if op.transposes() { EllAlgorithm::GroupedRows } else { EllAlgorithm::RowPerThread };
        let (algorithm, choice) = self.choose("spmv", options, table, (fitting, "there is no other"))?;
        let traversal = match algorithm {
            EllAlgorithm::GroupedRows => Traversal::Grouped(Grouped::new(self, a, op)?),
            EllAlgorithm::RowPerThread => {
                let defines = Defines::default().index(IndexType::of::<I>()).offset(IndexType::of::<I>());
                Traversal::Stored(self.kernel_of(T::DTYPE, "ell_spmv", "ell_spmv_row_per_thread", defines)?)
            }
        };
        Ok(ProductPlan { choice, traversal })
    }

    unsafe fn spmv(
        &self,
        plan: &mut Self::Plan,
        alpha: T::Acc,
        a: &Ell<T, Device, I>,
        x: View<'_, T>,
        beta: T::Acc,
        y: ViewMut<'_, T>,
    ) -> Result<()> {
        let operands = VectorOperands::new(alpha, x, beta, y);
        let kernel = match &plan.traversal {
            Traversal::Grouped(grouped) => return grouped.run(self, StoredValues::values(a), operands),
            Traversal::Stored(kernel) => kernel,
        };
        let launch =
            self.launch(kernel).size(a.rows()).size(a.width()).buffer(a.col_idx()).buffer(a.values());
        launch.vectors(operands).items(a.rows())
    }
}
