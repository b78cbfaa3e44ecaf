//! COO: a segmented sum, atomic additions, one work-item for all entries, or grouped entries.

use super::plan::{Grouped, ProductPlan, Traversal, Workspace};
use crate::buffer::RawBuffer;
use crate::defines::Defines;
use crate::lanes::LANES;
use crate::launch::Launch;
use crate::op::available_algorithms::Needs;
use crate::operand::Pointer;
use crate::primitive::raw::{RawCoo, VectorOperands};
use crate::primitive::row_groups::GROUPED_ROWS;
use crate::primitive::stored_values::StoredValues;
use crate::{Buffer, Device, Kernel, View, ViewMut};
use sparse_core::op::{Op, SpmvKernel};
use sparse_core::{Algorithm, Coo, DType, Error, Index, PlanOptions, Result, Scalar, algorithms};

const SEGMENTED: Algorithm = Algorithm::new("segmented", "the rows of A are in order")
    .preprocessing("a sum for each row and a carry for each warp");

algorithms! {
    /// The algorithms of COO.
    enum CooAlgorithm needs Needs {
        /// For sorted rows.
        Segmented = SEGMENTED, Needs::Nothing;

        GroupedRows = GROUPED_ROWS, Needs::Nothing;

        Atomic = Algorithm::new("atomic", "never: entries in any order, by atomic additions")
            .preprocessing("a sum for each row")
            .relaxed(),
        Needs::Nothing;

        Sequential = Algorithm::new("sequential", "never: one work-item takes all entries")
            .preprocessing("a sum for each row"),
        Needs::Nothing;

        /// For sorted rows.
        SegmentedSycl = Algorithm {
            name: "segmented_sycl",
            chosen: "never: the same in SYCL C++, by sub-groups of 32",
            ..SEGMENTED
        },
        Needs::File(WARP_FILE);
    }
}

impl CooAlgorithm {
    /// True if entries must be in order of their rows, those of op(A).
    fn needs_sorted_rows(self) -> bool {
        match self {
            Self::Segmented | Self::SegmentedSycl => true,
            Self::GroupedRows | Self::Atomic | Self::Sequential => false,
        }
    }
}

/// The file of the kernel of `segmented_sycl`.
const WARP_FILE: &str = "coo_spmv_warp";

/// The fewest units of 32 entries per warp: another warp is worth it only beyond.
const UNITS_PER_WARP: usize = 8;

/// The plan of the unrounded sums op(A)·x, one for each row.
#[derive(Debug)]
pub struct CooSums {
    sums: RawBuffer,
    rows: usize,
    op: Op,
    walk: Walk,
}

/// The order in which entries are added.
#[derive(Debug)]
pub(super) enum Walk {
    /// One work-item, entry after entry.
    Sequential(Kernel),
    /// A work-item per entry, by atomic additions.
    Atomic(Kernel),
    /// A warp per interval of entries.
    Segmented(Segments),
}

/// The intervals of the warps and the carries between them.
#[derive(Debug)]
pub(super) struct Segments {
    walk: Kernel,
    rest: Kernel,
    add_carries: Kernel,
    block: usize,
    groups: usize,
    units: usize,
    per_warp: usize,
    carry_row: Buffer<i64>,
    carry_sum: RawBuffer,
}

impl Segments {
    /// Allocates the intervals; `walk` is the kernel that adds their entries.
    fn new(backend: &Device, a: RawCoo<'_>, walk: Kernel, defines: &Defines) -> Result<Self> {
        let block = backend.inner.block;
        let kernel = |entry| coo_kernel(backend, a.dtype, entry, defines);
        let units = a.nnz() / LANES;
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
            carry_sum: backend.allocate_raw(warps, a.dtype.accumulator().bytes())?,
        })
    }
}

fn coo_kernel(backend: &Device, dtype: DType, entry: &'static str, defines: &Defines) -> Result<Kernel> {
    backend.kernel_of(dtype, "coo_spmv", entry, defines.clone().set("BLOCK", backend.inner.block))
}

impl Walk {
    /// The segmented sum of intervals, for entries in the order of their rows.
    pub(super) fn segmented(backend: &Device, a: RawCoo<'_>, op: Op) -> Result<Self> {
        let defines = a.product_defines(op);
        let kernel = coo_kernel(backend, a.dtype, "coo_spmv_segmented", &defines)?;
        Ok(Self::Segmented(Segments::new(backend, a, kernel, &defines)?))
    }

    /// The segmented sum in SYCL C++, by sub-groups.
    fn segmented_sycl(backend: &Device, a: RawCoo<'_>, op: Op) -> Result<Self> {
        let defines = Defines::default().index(a.row_idx.index_type()).set("BLOCK", backend.inner.block);
        let kernel = backend.kernel_of(a.dtype, WARP_FILE, "coo_spmv_segmented_warp", defines)?;
        Ok(Self::Segmented(Segments::new(backend, a, kernel, &a.product_defines(op))?))
    }

    fn atomic(backend: &Device, a: RawCoo<'_>, op: Op) -> Result<Self> {
        let defines = a.product_defines(op);
        Ok(Self::Atomic(backend.kernel_of(a.dtype, "coo_spmv_atomic", "coo_spmv_atomic", defines)?))
    }

    fn sequential(backend: &Device, a: RawCoo<'_>, op: Op) -> Result<Self> {
        let defines = a.product_defines(op);
        Ok(Self::Sequential(coo_kernel(backend, a.dtype, "coo_spmv_sequential", &defines)?))
    }
}

impl CooSums {
    /// Sums of op(A)'s rows along a walk.
    pub(super) fn new(backend: &Device, a: RawCoo<'_>, op: Op, walk: Walk) -> Result<Self> {
        let rows = if op.transposes() { a.shape.1 } else { a.shape.0 };
        Ok(Self { sums: backend.allocate_raw(rows, a.dtype.accumulator().bytes())?, rows, op, walk })
    }

    /// Sets the common arguments of all walks.
    fn operands<'a>(&'a self, launch: Launch<'a>, a: RawCoo<'a>, x: Pointer<'a>) -> Launch<'a> {
        let (rows, cols) = self.op.orient(a.row_idx, a.col_idx);
        launch.buffer(rows).buffer(cols).buffer(a.values).view(x).buffer(&self.sums)
    }

    /// Computes the sums, and returns them.
    pub(super) fn run(&self, backend: &Device, a: RawCoo<'_>, x: Pointer<'_>) -> Result<&RawBuffer> {
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

/// The plan of y: the sums, and the kernel that computes y from them.
#[derive(Debug)]
pub struct CooProduct {
    sums: CooSums,
    update: Kernel,
}

impl CooProduct {
    /// Computes the product.
    fn run(&self, backend: &Device, a: RawCoo<'_>, operands: VectorOperands<'_>) -> Result<()> {
        let VectorOperands { alpha, x, beta, y } = operands;
        let (sums, rows) = (self.sums.run(backend, a, x)?, self.sums.rows);
        let launch = backend.launch(&self.update).size(rows).factor(alpha).buffer(sums);
        launch.factor(beta).view(y).items(rows)
    }
}

impl Workspace for CooProduct {
    fn bytes(&self) -> usize {
        self.sums.bytes()
    }
}

impl Workspace for CooSums {
    fn bytes(&self) -> usize {
        let carries = match &self.walk {
            Walk::Segmented(s) => s.carry_row.bytes() + s.carry_sum.bytes(),
            Walk::Sequential(_) | Walk::Atomic(_) => 0,
        };
        self.sums.bytes() + carries
    }
}

impl<T: Scalar, I: Index> SpmvKernel<Coo<T, Device, I>> for Device {
    type Plan = ProductPlan<CooProduct>;

    fn spmv_algorithms(&self, op: Op) -> &'static [Algorithm] {
        self.offered_if(&|algorithm: CooAlgorithm| !(op.transposes() && algorithm.needs_sorted_rows()))
    }

    fn plan_spmv(&self, a: &Coo<T, Device, I>, op: Op, options: &PlanOptions) -> Result<Self::Plan> {
        let sorted = a.order().major_sorted;
        let preferred = match sorted && !op.transposes() {
            true => (CooAlgorithm::Segmented, "the rows are in order"),
            false => (CooAlgorithm::GroupedRows, "the rows of op(A) are not in order"),
        };
        let offered = SpmvKernel::<Coo<T, Device, I>>::spmv_algorithms(self, op);
        let (algorithm, mut choice) = self.choose("spmv", options, offered, preferred)?;
        if algorithm.needs_sorted_rows() && !sorted {
            return Err(Error::unsupported(
                format!("spmv algorithm `{}` on this matrix", choice.algorithm),
                "its rows are not in order: sort it, or take `grouped_rows`",
            ));
        }
        let raw = RawCoo::from(a);
        let walk = match algorithm {
            CooAlgorithm::GroupedRows => {
                let grouped = Grouped::new(self, a, op, options, &mut choice)?;
                return Ok(ProductPlan { choice, traversal: Traversal::Grouped(grouped) });
            }
            CooAlgorithm::Segmented => Walk::segmented(self, raw, op)?,
            CooAlgorithm::SegmentedSycl => Walk::segmented_sycl(self, raw, op)?,
            CooAlgorithm::Atomic => Walk::atomic(self, raw, op)?,
            CooAlgorithm::Sequential => Walk::sequential(self, raw, op)?,
        };
        let (sums, update) =
            (CooSums::new(self, raw, op, walk)?, self.vector_kernel(T::DTYPE, "vector_update")?);
        let traversal = Traversal::Stored(CooProduct { sums, update });
        Ok(ProductPlan { choice, traversal })
    }

    unsafe fn run_spmv(
        &self,
        plan: &mut Self::Plan,
        alpha: T::Acc,
        a: &Coo<T, Device, I>,
        x: View<'_, T>,
        beta: T::Acc,
        y: ViewMut<'_, T>,
    ) -> Result<()> {
        let operands = VectorOperands::new(alpha, x, beta, y);
        match &plan.traversal {
            Traversal::Grouped(grouped) => grouped.run(self, StoredValues::values(a), operands),
            Traversal::Stored(stored) => stored.run(self, a.into(), operands),
        }
    }
}
