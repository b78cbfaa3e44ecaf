//! HYB: the overflow as COO, on the device before the rows of the ELL part, or on the host beside them.

use super::coo::{CooSums, Walk};
use super::ell::EllRows;
use super::host_overflow::HostOverflow;
use super::plan::{Grouped, ProductPlan, Traversal, Workspace};
use crate::op::available_algorithms::Needs;
use crate::primitive::raw::{RawCoo, VectorOperands};
use crate::primitive::row_groups::GROUPED_ROWS;
use crate::primitive::stored_values::StoredValues;
use crate::{Device, View, ViewMut};
use sparse_core::op::{Op, SpmvKernel};
use sparse_core::{Algorithm, Hyb, Index, PlanOptions, Result, Scalar, algorithms};

algorithms! {
    /// The algorithms of HYB.
    enum HybAlgorithm needs Needs {
        Device = Algorithm::new("device", "always: the overflow by `segmented`, then the rows")
            .preprocessing("a sum for each row and a carry for each warp"),
        Needs::Nothing;

        HostCoo = Algorithm::new(
            "host_coo",
            "never: the host adds the overflow up while the device has the rows; waits for the host, so that no graph can \
             record it",
        )
        .preprocessing("the coordinates of the overflow on the host, x, and two sums for each row"),
        Needs::Nothing;

        /// For op(A) by columns.
        GroupedRows = GROUPED_ROWS, Needs::Nothing;
    }
}

/// The plan of both parts.
#[derive(Debug)]
pub enum HybParts<T: Scalar> {
    /// The overflow's sums, and the rows of the ELL part, which are added to them.
    Device(CooSums, EllRows),
    /// The overflow on the host.
    Host(HostOverflow<T>),
}

impl<T: Scalar> Workspace for HybParts<T> {
    fn bytes(&self) -> usize {
        match self {
            Self::Device(overflow, _) => overflow.bytes(),
            Self::Host(overflow) => overflow.bytes(),
        }
    }
}

impl<T: Scalar, I: Index> SpmvKernel<Hyb<T, Device, I>> for Device {
    type Plan = ProductPlan<HybParts<T>>;

    fn spmv_algorithms(&self, op: Op) -> &'static [Algorithm] {
        self.offered_if(&|algorithm: HybAlgorithm| {
            (algorithm == HybAlgorithm::GroupedRows) == op.transposes()
        })
    }

    fn plan_spmv(&self, a: &Hyb<T, Device, I>, op: Op, options: &PlanOptions) -> Result<Self::Plan> {
        let table = SpmvKernel::<Hyb<T, Device, I>>::spmv_algorithms(self, op);
        let preferred = if op.transposes() { HybAlgorithm::GroupedRows } else { HybAlgorithm::Device };
        let (algorithm, mut choice) =
            self.choose("spmv", options, table, (preferred, "it is the default"))?;
        let traversal = match algorithm {
            HybAlgorithm::Device => {
                let rows = EllRows::new::<T, I>(self, self.ell_lanes(a.nrows(), a.ell().width()))?;
                let overflow = RawCoo::from(a.coo());
                let walk = Walk::segmented(self, overflow, op)?;
                Traversal::Stored(HybParts::Device(CooSums::new(self, overflow, op, walk)?, rows))
            }
            HybAlgorithm::HostCoo => Traversal::Stored(HybParts::Host(HostOverflow::new(self, a)?)),
            HybAlgorithm::GroupedRows => Traversal::Grouped(Grouped::new(self, a, op, options, &mut choice)?),
        };
        Ok(ProductPlan { choice, traversal })
    }

    unsafe fn run_spmv(
        &self,
        plan: &mut Self::Plan,
        alpha: T::Acc,
        a: &Hyb<T, Device, I>,
        x: View<'_, T>,
        beta: T::Acc,
        y: ViewMut<'_, T>,
    ) -> Result<()> {
        let operands = VectorOperands::new(alpha, x, beta, y);
        let (overflow, rows) = match &mut plan.traversal {
            Traversal::Grouped(grouped) => return grouped.run(self, StoredValues::values(a), operands),
            Traversal::Stored(HybParts::Host(overflow)) => return overflow.run(self, a, x, operands),
            Traversal::Stored(HybParts::Device(overflow, rows)) => (overflow, rows),
        };
        let sums = overflow.run(self, a.coo().into(), x.into())?;
        rows.run(self, a.ell(), operands, Some(sums))
    }
}
