//! COO: seed 002's segmented sum, atomic additions, one work-item for all entries, or grouped entries.

use super::{Grouped, ProductPlan, Way, Workspace};
use crate::launch::{LANES, Launch};
use crate::op::grouped::GROUPED_ROWS;
use crate::op::offer::Offer;
use crate::program::Defines;
use crate::{Buffer, Device, Kernel, View, ViewMut};
use sparse_core::op::{Op, SpmvKernel};
use sparse_core::{Algorithm, Coo, Error, Index, Matrix, PlanOptions, Result, Scalar};

const SEQUENTIAL: Algorithm = Algorithm::new("sequential", "never: one work-item takes all entries")
    .preprocessing("room for a sum for each row");
const ATOMIC: Algorithm = Algorithm::new("atomic", "never: entries in any order, by atomic additions")
    .preprocessing("room for a sum for each row")
    .relaxed();
const SEGMENTED: Algorithm = Algorithm::new("segmented", "the rows of A are in order")
    .preprocessing("room for a sum for each row and a carry for each warp");
const SYCL_SEGMENTED: Algorithm = Algorithm {
    name: "segmented_sycl",
    chosen: "never: the same in SYCL C++, by sub-groups of 32",
    ..SEGMENTED
};
const BY_ROWS: Offer =
    Offer { algorithms: &[SEGMENTED, GROUPED_ROWS, ATOMIC, SEQUENTIAL, SYCL_SEGMENTED], files: &[WARP_FILE] };
const BY_COLUMNS: &[Algorithm] = &[GROUPED_ROWS, ATOMIC, SEQUENTIAL];

/// The file of the kernel of `segmented_sycl`.
const WARP_FILE: &str = "coo_spmv_warp";

/// Units of 32 entries that a warp walks, at least, before another warp is worth it.
const UNITS_PER_WARP: usize = 8;

/// The plan of op(A)·x in unrounded sums, one for each row.
#[derive(Debug)]
pub struct CooSums<T: Scalar> {
    sums: Buffer<T::Acc>,
    rows: usize,
    op: Op,
    walk: Walk<T>,
}

/// How the entries come to their sums.
#[derive(Debug)]
enum Walk<T: Scalar> {
    /// One after the other.
    Sequential(Kernel),
    /// In any order, by atomic additions.
    Atomic(Kernel),
    /// By intervals.
    Segmented(Segments<T>),
}

/// The intervals of the warps and the carries between them.
#[derive(Debug)]
struct Segments<T: Scalar> {
    walk: Kernel,
    rest: Kernel,
    add_carries: Kernel,
    block: usize,
    groups: usize,
    units: usize,
    per_warp: usize,
    carry_row: Buffer<i64>,
    carry_sum: Buffer<T::Acc>,
}

impl<T: Scalar> Segments<T> {
    /// `walk` is the kernel that walks the intervals.
    fn new(backend: &Device, nnz: usize, walk: Kernel, defines: &Defines) -> Result<Self> {
        let block = backend.inner.block;
        let kernel = |entry| coo_kernel::<T>(backend, entry, defines);
        let units = nnz / LANES;
        let groups = units.div_ceil(block / LANES * UNITS_PER_WARP).clamp(1, backend.most_groups());
        let warps = groups * (block / LANES);
        Ok(Self {
            walk,
            rest: kernel("coo_spmv_sequential")?,
            add_carries: kernel("coo_spmv_carries")?,
            block,
            groups,
            units,
            per_warp: units.div_ceil(warps),
            carry_row: backend.allocate(warps)?,
            carry_sum: backend.allocate(warps)?,
        })
    }
}

fn coo_kernel<T: Scalar>(backend: &Device, entry: &'static str, defines: &Defines) -> Result<Kernel> {
    backend.kernel_of::<T>("coo_spmv", entry, defines.clone().set("BLOCK", backend.inner.block))
}

impl<T: Scalar> CooSums<T> {
    pub(super) fn new<I: Index>(
        backend: &Device,
        a: &Coo<T, Device, I>,
        op: Op,
        algorithm: &str,
    ) -> Result<Self> {
        let (rows, _) = op.shape(a);
        let defines = Defines::default().index::<I>().offset::<I>().conj::<T>(op);
        let segmented = |kernel| Ok(Walk::Segmented(Segments::new(backend, a.nnz(), kernel, &defines)?));
        let walk = match algorithm {
            "segmented" => segmented(coo_kernel::<T>(backend, "coo_spmv_segmented", &defines)?)?,
            "segmented_sycl" => {
                let defines = Defines::default().index::<I>().set("BLOCK", backend.inner.block);
                segmented(backend.kernel_of::<T>(WARP_FILE, "coo_spmv_segmented_warp", defines)?)?
            }
            "atomic" => {
                Walk::Atomic(backend.kernel_of::<T>("coo_spmv_atomic", "coo_spmv_atomic", defines)?)
            }
            _ => Walk::Sequential(coo_kernel::<T>(backend, "coo_spmv_sequential", &defines)?),
        };
        Ok(Self { sums: backend.allocate(rows)?, rows, op, walk })
    }

    /// Sets the arguments that all walks share.
    fn operands<'a, I: Index>(
        &'a self,
        launch: Launch<'a>,
        a: &'a Coo<T, Device, I>,
        x: View<'a, T>,
    ) -> Launch<'a> {
        let (rows, cols) = match self.op.transposes() {
            false => (a.row_idx(), a.col_idx()),
            true => (a.col_idx(), a.row_idx()),
        };
        launch.buffer(rows).buffer(cols).buffer(a.values()).view(x).buffer(&self.sums)
    }

    /// Computes the sums, and gives them.
    pub(super) fn run<I: Index>(
        &self,
        backend: &Device,
        a: &Coo<T, Device, I>,
        x: View<'_, T>,
    ) -> Result<&Buffer<T::Acc>> {
        let nnz = a.nnz();
        let one_by_one = |kernel, from| {
            let launch = backend.launch(kernel).size(from).size(nnz);
            self.operands(launch, a, x).groups(usize::from(from < nnz), 1)
        };
        backend.clear(&self.sums)?;
        match &self.walk {
            Walk::Sequential(kernel) => one_by_one(kernel, 0)?,
            Walk::Atomic(kernel) => self.operands(backend.launch(kernel).size(nnz), a, x).items(nnz)?,
            Walk::Segmented(s) if s.units == 0 => one_by_one(&s.rest, 0)?,
            Walk::Segmented(s) => {
                let launch = backend.launch(&s.walk).size(s.units).size(s.per_warp);
                let launch = self.operands(launch, a, x).buffer(&s.carry_row).buffer(&s.carry_sum);
                launch.groups(s.groups, s.block)?;
                one_by_one(&s.rest, s.units * LANES)?;
                let launch = backend.launch(&s.add_carries).size(s.units.div_ceil(s.per_warp));
                let launch = launch.buffer(&s.carry_row).buffer(&s.carry_sum).buffer(&self.sums);
                launch.groups(1, s.block)?;
            }
        }
        Ok(&self.sums)
    }
}

/// The plan of y: the sums, and the kernel that makes y of them.
#[derive(Debug)]
pub struct CooProduct<T: Scalar> {
    sums: CooSums<T>,
    update: Kernel,
}

impl<T: Scalar> Workspace for CooProduct<T> {
    fn bytes(&self) -> usize {
        self.sums.bytes()
    }
}

impl<T: Scalar> Workspace for CooSums<T> {
    fn bytes(&self) -> usize {
        let carries = match &self.walk {
            Walk::Segmented(s) => s.carry_row.bytes() + s.carry_sum.bytes(),
            _ => 0,
        };
        self.sums.bytes() + carries
    }
}

impl<T: Scalar, I: Index> SpmvKernel<Coo<T, Device, I>> for Device {
    type Plan = ProductPlan<I, CooProduct<T>>;

    fn spmv_algorithms(&self, op: Op) -> &'static [Algorithm] {
        if op.transposes() { BY_COLUMNS } else { BY_ROWS.on(self) }
    }

    fn plan_spmv(&self, a: &Coo<T, Device, I>, op: Op, options: &PlanOptions) -> Result<Self::Plan> {
        let sorted = a.order().major_sorted;
        let (automatic, reason) = match sorted && !op.transposes() {
            true => ("segmented", "the rows are in order"),
            false => (GROUPED_ROWS.name, "the rows of op(A) are not in order"),
        };
        let choice = match op.transposes() {
            true => options.choose("spmv", BY_COLUMNS, automatic, reason)?,
            false => BY_ROWS.choose(self, "spmv", options, (automatic, reason))?,
        };
        if ["segmented", "segmented_sycl"].contains(&choice.algorithm) && !sorted {
            return Err(Error::unsupported(
                format!("spmv algorithm `{}` on this matrix", choice.algorithm),
                "its rows are not in order: sort it, or take `grouped_rows`",
            ));
        }
        let way = match choice.algorithm {
            "grouped_rows" => Way::Grouped(Grouped::new(self, a, op)?),
            _ => Way::Stored(CooProduct {
                sums: CooSums::new(self, a, op, choice.algorithm)?,
                update: self.vector_kernel::<T>("vector_update")?,
            }),
        };
        Ok(ProductPlan { choice, way })
    }

    unsafe fn spmv(
        &self,
        plan: &mut Self::Plan,
        alpha: T::Acc,
        a: &Coo<T, Device, I>,
        x: View<'_, T>,
        beta: T::Acc,
        y: ViewMut<'_, T>,
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
