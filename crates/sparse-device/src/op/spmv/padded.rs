//! ELL and HYB: a row a work-item; HYB's overflow before it, as COO.

use super::coo::CooSums;
use super::{Grouped, ProductPlan, Way, Workspace};
use crate::op::grouped::GROUPED_ROWS;
use crate::program::Defines;
use crate::{Device, Driver, View, ViewMut};
use sparse_core::op::{Op, SpmvKernel};
use sparse_core::{Algorithm, Ell, Hyb, Index, Matrix, PlanOptions, Result, Scalar};
use std::sync::Arc;

const ROW_PER_THREAD: &[Algorithm] = &[Algorithm::new("row_per_thread", "always")];
const DEVICE: &[Algorithm] =
    &[Algorithm::new("device", "always: the overflow by `segmented`, then the rows")
        .preprocessing("room for a sum for each row and a carry for each warp")];
const TRANSPOSED: &[Algorithm] = &[GROUPED_ROWS];

/// The table of a format with one algorithm of its own.
fn table(own: &'static [Algorithm], op: Op) -> &'static [Algorithm] {
    if op.transposes() { TRANSPOSED } else { own }
}

impl<D: Driver, T: Scalar, I: Index> SpmvKernel<Ell<T, Device<D>, I>> for Device<D> {
    type Plan = ProductPlan<D, I, Arc<D::Kernel>>;

    fn spmv_algorithms(&self, op: Op) -> &'static [Algorithm] {
        table(ROW_PER_THREAD, op)
    }

    fn plan_spmv(&self, a: &Ell<T, Device<D>, I>, op: Op, options: &PlanOptions) -> Result<Self::Plan> {
        let table = table(ROW_PER_THREAD, op);
        let choice = options.choose("spmv", table, table[0].name, "there is no other")?;
        let way = match op.transposes() {
            true => Way::Grouped(Grouped::new(self, a, op)?),
            false => {
                let defines = Defines::default().index::<I>().offset::<I>();
                Way::Stored(self.kernel_of::<T>("ell_spmv", "ell_spmv_row_per_thread", defines)?)
            }
        };
        Ok(ProductPlan { choice, way })
    }

    unsafe fn spmv(
        &self,
        plan: &mut Self::Plan,
        alpha: T::Acc,
        a: &Ell<T, Device<D>, I>,
        x: View<'_, D, T>,
        beta: T::Acc,
        y: ViewMut<'_, D, T>,
    ) -> Result<()> {
        let kernel = match &plan.way {
            Way::Grouped(grouped) => return grouped.run(self, alpha, a, x, beta, y),
            Way::Stored(kernel) => kernel,
        };
        let launch =
            self.launch(kernel).size(a.rows()).size(a.width()).buffer(a.col_idx()).buffer(a.values());
        launch.value(alpha).view(x).value(beta).view_mut(y).items(a.rows())
    }
}

/// The plan of HYB: the overflow's sums, and a kernel that adds the rows of the ELL part to them.
#[derive(Debug)]
pub struct HybParts<D: Driver, T: Scalar> {
    overflow: CooSums<D, T>,
    rows: Arc<D::Kernel>,
}

impl<D: Driver, T: Scalar> Workspace for HybParts<D, T> {
    fn bytes(&self) -> usize {
        self.overflow.bytes()
    }
}

impl<D: Driver, T: Scalar, I: Index> SpmvKernel<Hyb<T, Device<D>, I>> for Device<D> {
    type Plan = ProductPlan<D, I, HybParts<D, T>>;

    fn spmv_algorithms(&self, op: Op) -> &'static [Algorithm] {
        table(DEVICE, op)
    }

    fn plan_spmv(&self, a: &Hyb<T, Device<D>, I>, op: Op, options: &PlanOptions) -> Result<Self::Plan> {
        let table = table(DEVICE, op);
        let choice = options.choose("spmv", table, table[0].name, "there is no other")?;
        let way = match op.transposes() {
            true => Way::Grouped(Grouped::new(self, a, op)?),
            false => {
                let defines = Defines::default().index::<I>().offset::<I>();
                let rows = self.kernel_of::<T>("ell_spmv", "ell_spmv_with_sums", defines)?;
                Way::Stored(HybParts { overflow: CooSums::new(self, a.coo(), op, "segmented")?, rows })
            }
        };
        Ok(ProductPlan { choice, way })
    }

    unsafe fn spmv(
        &self,
        plan: &mut Self::Plan,
        alpha: T::Acc,
        a: &Hyb<T, Device<D>, I>,
        x: View<'_, D, T>,
        beta: T::Acc,
        y: ViewMut<'_, D, T>,
    ) -> Result<()> {
        let parts = match &plan.way {
            Way::Grouped(grouped) => return grouped.run(self, alpha, a, x, beta, y),
            Way::Stored(parts) => parts,
        };
        let sums = parts.overflow.run(self, a.coo(), x)?;
        let ell = a.ell();
        let launch = self.launch(&parts.rows).size(a.rows()).size(ell.width()).buffer(ell.col_idx());
        let launch = launch.buffer(ell.values()).value(alpha).view(x).value(beta).view_mut(y);
        launch.buffer(sums).items(a.rows())
    }
}
