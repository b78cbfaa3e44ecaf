//! Every format to dense: zeros, then the sum of the entries of each coordinate that occurs.

use super::numbered::{Numbered, position};
use super::positions::Positions;
use crate::program::Defines;
use crate::{Buffer, Device, Kernel};
use sparse_core::op::{ToDenseKernel, VectorKernel};
use sparse_core::reference::Entries;
use sparse_core::{Algorithm, Backend, Choice, DenseViewMut, Index, KernelPlan, PlanOptions, Result, Scalar};

const COORDINATE_SUMS: &[Algorithm] = &[Algorithm::new("coordinate_sums", "always").preprocessing(
    "the coordinates of the entries, sorted on the device where they are not known to be unique",
)];

/// The coordinates of entries, equal ones side by side, and where their values stand.
#[derive(Debug)]
pub struct Places<I> {
    pub(super) rows: Buffer<I>,
    pub(super) cols: Buffer<I>,
    pub(super) positions: Positions,
}

impl<I: Index> Places<I> {
    /// The entries of a numbered matrix, sorted here.
    pub(super) fn numbered<M: Entries<Scalar = f64>>(backend: &Device, a: &M) -> Result<Self> {
        let mut entries: Vec<_> = a.entries().collect();
        entries.sort_by_key(|&(i, j, _)| (i, j));
        let rows: Vec<_> = entries.iter().map(|&(i, _, _)| I::try_new("a row", i)).collect::<Result<_>>()?;
        let cols: Vec<_> =
            entries.iter().map(|&(_, j, _)| I::try_new("a column", j)).collect::<Result<_>>()?;
        let positions: Vec<_> = entries.iter().map(|&(_, _, number)| position(number)).collect();
        let positions = Positions::upload(backend, &positions)?;
        Ok(Self { rows: backend.upload(&rows)?, cols: backend.upload(&cols)?, positions })
    }
}

/// The plan of an expansion.
#[derive(Debug)]
pub struct ExpansionPlan<I> {
    choice: Choice,
    places: Places<I>,
    kernel: Kernel,
}

impl<I: Index> KernelPlan for ExpansionPlan<I> {
    fn choice(&self) -> &Choice {
        &self.choice
    }

    fn workspace_bytes(&self) -> usize {
        self.places.rows.bytes() + self.places.cols.bytes() + self.places.positions.bytes()
    }
}

impl<M: Numbered> ToDenseKernel<M> for Device {
    type Plan = ExpansionPlan<M::Index>;

    fn to_dense_algorithms(&self) -> &'static [Algorithm] {
        COORDINATE_SUMS
    }

    fn plan_to_dense(&self, a: &M, options: &PlanOptions) -> Result<Self::Plan> {
        let choice = options.choose("to_dense", COORDINATE_SUMS, "coordinate_sums", "there is no other")?;
        let places = a.places(self)?;
        let defines = Defines::default().index::<M::Index>().set("POS", places.positions.type_name());
        let kernel = self.kernel_of::<M::Scalar>("to_dense", "to_dense_sum", defines)?;
        Ok(ExpansionPlan { choice, places, kernel })
    }

    unsafe fn to_dense(
        &self,
        plan: &mut Self::Plan,
        a: &M,
        mut dense: DenseViewMut<'_, M::Scalar, Self>,
    ) -> Result<()> {
        let zero = <M::Scalar as Scalar>::Acc::ZERO;
        // SAFETY: the caller promises that the output lives in this context.
        unsafe { self.scale_dense(zero, dense.reborrow())? };
        let (places, n) = (&plan.places, plan.places.positions.len());
        let launch = self.launch(&plan.kernel).size(n).buffer(&places.rows).buffer(&places.cols);
        launch.positions(&places.positions).values(a.values()).dense_mut(dense).items(n)
    }
}
