//! CSR and CSC: the compressed direction by rows, the other by grouped entries.

use super::{Grouped, ProductPlan, Way};
use crate::op::grouped::GROUPED_ROWS;
use crate::program::Defines;
use crate::{Device, Driver, View, ViewMut};
use sparse_core::op::{Op, SpmvKernel};
use sparse_core::{Algorithm, Axis, Compressed, Index, Matrix, PlanOptions, Result, Scalar};
use std::sync::Arc;

const STORED: &[Algorithm] = &[
    Algorithm::new("row_per_thread", "the device is a CPU, or rows have fewer than 8 entries in the mean"),
    Algorithm::new("row_per_warp", "otherwise: a work-group of 32 a row"),
];
const ACROSS: &[Algorithm] = &[GROUPED_ROWS];

/// Entries a row, in the mean, from which on a work-group a row is worth it.
const LONG_ROWS: usize = 8;

/// Whether op(A) goes along the rows (CSR) or columns (CSC) that are stored.
pub(in crate::op) fn along<A: Axis>(op: Op) -> bool {
    A::IS_ROW != op.transposes()
}

impl<D: Driver, A: Axis, T: Scalar, I: Index, O: Index> SpmvKernel<Compressed<A, T, Device<D>, I, O>>
    for Device<D>
{
    type Plan = ProductPlan<D, Arc<D::Kernel>>;

    fn spmv_algorithms(&self, op: Op) -> &'static [Algorithm] {
        if along::<A>(op) { STORED } else { ACROSS }
    }

    fn plan_spmv(
        &self,
        a: &Compressed<A, T, Device<D>, I, O>,
        op: Op,
        options: &PlanOptions,
    ) -> Result<Self::Plan> {
        if !along::<A>(op) {
            let choice =
                options.choose("spmv", ACROSS, GROUPED_ROWS.name, "op(A) goes across what is stored")?;
            return Ok(ProductPlan { choice, way: Way::Grouped(Grouped::new(self, a, op)?) });
        }
        let mean = a.nnz() / a.pattern().major().max(1);
        let automatic =
            if self.driver().is_cpu() || mean < LONG_ROWS { "row_per_thread" } else { "row_per_warp" };
        let reason = format_args!("rows have {mean} entries in the mean");
        let choice = options.choose("spmv", STORED, automatic, reason)?;
        let entry = match choice.algorithm {
            "row_per_warp" => "csr_spmv_row_per_warp",
            _ => "csr_spmv_row_per_thread",
        };
        let defines = Defines::default().index::<I>().offset::<O>().conj(op);
        let kernel = self.kernel_of::<T>("csr_spmv", entry, defines)?;
        Ok(ProductPlan { choice, way: Way::Stored(kernel) })
    }

    unsafe fn spmv(
        &self,
        plan: &mut Self::Plan,
        alpha: T::Acc,
        a: &Compressed<A, T, Device<D>, I, O>,
        x: View<'_, D, T>,
        beta: T::Acc,
        y: ViewMut<'_, D, T>,
    ) -> Result<()> {
        let kernel = match &plan.way {
            Way::Grouped(grouped) => return grouped.run(self, alpha, a, x, beta, y),
            Way::Stored(kernel) => kernel,
        };
        let rows = a.pattern().major();
        let launch =
            self.launch(kernel).size(rows).buffer(a.offsets()).buffer(a.indices()).buffer(a.values());
        let launch = launch.value(alpha).view(x).value(beta).view_mut(y);
        match plan.choice.algorithm {
            "row_per_warp" => launch.warps(rows),
            _ => launch.items(rows),
        }
    }
}
