//! COO: seed 002's segmented sum, one work-item after another, or grouped entries.

use super::{Grouped, ProductPlan, Way, Workspace};
use crate::launch::LANES;
use crate::op::grouped::GROUPED_ROWS;
use crate::program::Defines;
use crate::{Buffer, Device, Driver, View, ViewMut};
use sparse_core::op::{Op, SpmvKernel};
use sparse_core::{Algorithm, Coo, Error, Index, Matrix, PlanOptions, Result, Scalar};
use std::sync::Arc;

const SEQUENTIAL: Algorithm = Algorithm::new("sequential", "never: one work-item takes all entries")
    .preprocessing("room for a sum for each row");
const BY_ROWS: &[Algorithm] = &[
    Algorithm::new("segmented", "the rows of A are in order")
        .preprocessing("room for a sum for each row and a carry for each warp"),
    GROUPED_ROWS,
    SEQUENTIAL,
];
const BY_COLUMNS: &[Algorithm] = &[GROUPED_ROWS, SEQUENTIAL];

/// Units of 32 entries that a warp walks, at least, before another warp is worth it.
const UNITS_PER_WARP: usize = 8;

/// The plan of op(A)·x in unrounded sums, one for each row.
#[derive(Debug)]
pub(super) struct CooSums<D: Driver, T: Scalar> {
    sums: Buffer<D, T::Acc>,
    rows: usize,
    op: Op,
    sequential: Arc<D::Kernel>,
    segments: Option<Segments<D, T>>,
}

/// The intervals of the warps and the carries between them.
#[derive(Debug)]
struct Segments<D: Driver, T: Scalar> {
    walk: Arc<D::Kernel>,
    add_carries: Arc<D::Kernel>,
    block: usize,
    groups: usize,
    units: usize,
    per_warp: usize,
    carry_row: Buffer<D, i64>,
    carry_sum: Buffer<D, T::Acc>,
}

impl<D: Driver, T: Scalar> CooSums<D, T> {
    pub(super) fn new<I: Index>(
        backend: &Device<D>,
        a: &Coo<T, Device<D>, I>,
        op: Op,
        segmented: bool,
    ) -> Result<Self> {
        let (rows, _) = op.shape(a);
        let block = backend.inner.block;
        let defines = Defines::default().index::<I>().offset::<I>().conj(op).set("BLOCK", block);
        let kernel = |entry| backend.kernel_of::<T>("coo_spmv", entry, defines.clone());
        let sums = backend.allocate(rows)?;
        let segments = match segmented {
            false => None,
            true => {
                let units = a.nnz() / LANES;
                let groups = units.div_ceil(block / LANES * UNITS_PER_WARP).clamp(1, backend.most_groups());
                let warps = groups * (block / LANES);
                Some(Segments {
                    walk: kernel("coo_spmv_segmented")?,
                    add_carries: kernel("coo_spmv_carries")?,
                    block,
                    groups,
                    units,
                    per_warp: units.div_ceil(warps),
                    carry_row: backend.allocate(warps)?,
                    carry_sum: backend.allocate(warps)?,
                })
            }
        };
        Ok(Self { sums, rows, op, sequential: kernel("coo_spmv_sequential")?, segments })
    }

    /// Computes the sums, in three stages where rows are in order, and gives them.
    pub(super) fn run<I: Index>(
        &self,
        backend: &Device<D>,
        a: &Coo<T, Device<D>, I>,
        x: View<'_, D, T>,
    ) -> Result<&Buffer<D, T::Acc>> {
        let (rows, cols) = match self.op.transposes() {
            false => (a.row_idx(), a.col_idx()),
            true => (a.col_idx(), a.row_idx()),
        };
        backend.clear(&self.sums)?;
        let mut walked = 0;
        if let Some(s) = self.segments.as_ref().filter(|s| s.units > 0) {
            walked = s.units * LANES;
            let launch = backend.launch(&s.walk).size(s.units).size(s.per_warp);
            let launch = launch.buffer(rows).buffer(cols).buffer(a.values()).view(x).buffer(&self.sums);
            launch.buffer(&s.carry_row).buffer(&s.carry_sum).groups(s.groups, s.block)?;
        }
        if walked < a.nnz() {
            let launch = backend.launch(&self.sequential).size(walked).size(a.nnz());
            launch.buffer(rows).buffer(cols).buffer(a.values()).view(x).buffer(&self.sums).groups(1, 1)?;
        }
        if let Some(s) = self.segments.as_ref().filter(|s| s.units > 0) {
            let launch = backend.launch(&s.add_carries).size(s.units.div_ceil(s.per_warp));
            launch.buffer(&s.carry_row).buffer(&s.carry_sum).buffer(&self.sums).groups(1, s.block)?;
        }
        Ok(&self.sums)
    }
}

/// The plan of y: the sums, and the kernel that makes y of them.
#[derive(Debug)]
pub struct CooProduct<D: Driver, T: Scalar> {
    sums: CooSums<D, T>,
    update: Arc<D::Kernel>,
}

impl<D: Driver, T: Scalar> Workspace for CooProduct<D, T> {
    fn bytes(&self) -> usize {
        self.sums.bytes()
    }
}

impl<D: Driver, T: Scalar> Workspace for CooSums<D, T> {
    fn bytes(&self) -> usize {
        let carries =
            self.segments.as_ref().map_or(0, |s| s.carry_row.len * (size_of::<i64>() + size_of::<T::Acc>()));
        self.rows * size_of::<T::Acc>() + carries
    }
}

impl<D: Driver, T: Scalar, I: Index> SpmvKernel<Coo<T, Device<D>, I>> for Device<D> {
    type Plan = ProductPlan<D, I, CooProduct<D, T>>;

    fn spmv_algorithms(&self, op: Op) -> &'static [Algorithm] {
        if op.transposes() { BY_COLUMNS } else { BY_ROWS }
    }

    fn plan_spmv(&self, a: &Coo<T, Device<D>, I>, op: Op, options: &PlanOptions) -> Result<Self::Plan> {
        let table = SpmvKernel::<Coo<T, Device<D>, I>>::spmv_algorithms(self, op);
        let sorted = a.order().major_sorted;
        let (automatic, reason) = match sorted && !op.transposes() {
            true => ("segmented", "the rows are in order"),
            false => (GROUPED_ROWS.name, "the rows of op(A) are not in order"),
        };
        let choice = options.choose("spmv", table, automatic, reason)?;
        let segmented = choice.algorithm == "segmented";
        if segmented && !sorted {
            return Err(Error::unsupported(
                "spmv algorithm `segmented` on this matrix",
                "its rows are not in order: sort it, or take `grouped_rows`",
            ));
        }
        let way = match choice.algorithm {
            "grouped_rows" => Way::Grouped(Grouped::new(self, a, op)?),
            _ => Way::Stored(CooProduct {
                sums: CooSums::new(self, a, op, segmented)?,
                update: self.vector_kernel::<T>("vector_update")?,
            }),
        };
        Ok(ProductPlan { choice, way })
    }

    unsafe fn spmv(
        &self,
        plan: &mut Self::Plan,
        alpha: T::Acc,
        a: &Coo<T, Device<D>, I>,
        x: View<'_, D, T>,
        beta: T::Acc,
        y: ViewMut<'_, D, T>,
    ) -> Result<()> {
        let stored = match &plan.way {
            Way::Grouped(grouped) => return grouped.run(self, alpha, a, x, beta, y),
            Way::Stored(stored) => stored,
        };
        let (sums, rows) = (stored.sums.run(self, a, x)?, stored.sums.rows);
        let launch = self.launch(&stored.update).size(rows).value(alpha).buffer(sums);
        launch.value(beta).view_mut(y).items(rows)
    }
}
