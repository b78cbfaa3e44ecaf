//! ELL: rows by one work-item or, where they are few, by several.

use super::plan::{Grouped, ProductPlan, Traversal, Workspace};
use crate::buffer::RawBuffer;
use crate::defines::Defines;
use crate::index_type::IndexType;
use crate::lanes::LANES;
use crate::op::available_algorithms::Needs;
use crate::primitive::raw::VectorOperands;
use crate::primitive::row_groups::GROUPED_ROWS;
use crate::primitive::stored_values::StoredValues;
use crate::{Device, Kernel, View, ViewMut};
use sparse_core::op::{Op, SpmvKernel};
use sparse_core::{Algorithm, Backend, Ell, Index, PlanOptions, Result, Scalar, algorithms};

/// Warps of a compute unit that hide each other's waiting for memory: as many as an H100 holds.
const WARPS_PER_UNIT: usize = 64;

/// Elements of a row that a lane has on their way at once: `EACH` of the kernels.
const STEP: usize = 4;

/// The largest work-group of the kernels: `MAX_THREADS`, `MAX_LANES`.
const MAX_THREADS: usize = 1024;

algorithms! {
    /// The algorithms of ELL.
    pub(super) enum EllAlgorithm needs Needs {
        RowPerThread = Algorithm::new("row_per_thread", "the device is a CPU, or rows fill it"), Needs::Nothing;

        RowPerVector = Algorithm::new(
            "row_per_vector",
            "rows are too few to fill the device: up to 32 lanes a row, each in a warp with neighbouring rows",
        ),
        Needs::Nothing;

        /// For op(A) by columns.
        GroupedRows = GROUPED_ROWS, Needs::Nothing;
    }
}

/// The kernel of the rows.
#[derive(Debug)]
pub enum EllRows {
    /// One work-item per row.
    RowPerThread(Kernel),
    /// Several lanes per row: the number.
    RowPerVector(Kernel, usize),
}

impl Workspace for EllRows {}

impl EllRows {
    /// The kernel for this number of lanes per row.
    pub(super) fn new<T: Scalar, I: Index>(backend: &Device, lanes: usize) -> Result<Self> {
        let index = IndexType::of::<I>();
        let defines = Defines::default().index(index).offset(index);
        let kernel = |entry| backend.kernel_of(T::DTYPE, "ell_spmv", entry, defines);
        Ok(match lanes {
            1 => Self::RowPerThread(kernel("ell_spmv_row_per_thread")?),
            _ => Self::RowPerVector(kernel("ell_spmv_row_per_vector")?, lanes),
        })
    }

    /// Computes the product and adds `sums` of another part of A to it.
    pub(super) fn run<T: Scalar, I: Index>(
        &self,
        backend: &Device,
        a: &Ell<T, Device, I>,
        operands: VectorOperands<'_>,
        sums: Option<&RawBuffer>,
    ) -> Result<()> {
        let rows = a.nrows();
        let (Self::RowPerThread(kernel) | Self::RowPerVector(kernel, _)) = self;
        let launch = backend.launch(kernel).size(rows).size(a.width()).buffer(a.col_idx());
        let launch = launch.buffer(a.values()).vectors(operands).buffer_or_null(sums);
        match self {
            Self::RowPerThread(_) => launch.items(rows),
            Self::RowPerVector(_, lanes) => launch.group_per_row(rows.div_ceil(LANES), lanes * LANES),
        }
    }
}

impl Device {
    /// Lanes per row that fill the device with rows of `width` elements: a power of two.
    pub(super) fn ell_lanes(&self, rows: usize, width: usize) -> usize {
        if self.caps().is_cpu {
            return 1;
        }
        let missing = self.caps().compute_units * WARPS_PER_UNIT / rows.div_ceil(LANES).max(1);
        let most = self.most_ell_lanes().min(width.div_ceil(STEP));
        1 << missing.clamp(1, most.max(1)).ilog2()
    }

    /// The most lanes per row that a work-group holds.
    fn most_ell_lanes(&self) -> usize {
        self.properties().largest_group.min(MAX_THREADS) / LANES
    }
}

impl<T: Scalar, I: Index> SpmvKernel<Ell<T, Device, I>> for Device {
    type Plan = ProductPlan<EllRows>;

    fn spmv_algorithms(&self, op: Op) -> &'static [Algorithm] {
        self.offered_if(&|algorithm: EllAlgorithm| {
            (algorithm == EllAlgorithm::GroupedRows) == op.transposes()
        })
    }

    fn plan_spmv(&self, a: &Ell<T, Device, I>, op: Op, options: &PlanOptions) -> Result<Self::Plan> {
        let table = SpmvKernel::<Ell<T, Device, I>>::spmv_algorithms(self, op);
        let lanes = self.ell_lanes(a.nrows(), a.width());
        let preferred = match lanes {
            _ if op.transposes() => EllAlgorithm::GroupedRows,
            1 => EllAlgorithm::RowPerThread,
            _ => EllAlgorithm::RowPerVector,
        };
        let reason = format!("{} rows of {} elements, {lanes} lanes each", a.nrows(), a.width());
        let (algorithm, mut choice) = self.choose("spmv", options, table, (preferred, reason))?;
        let traversal = match algorithm {
            EllAlgorithm::GroupedRows => Traversal::Grouped(Grouped::new(self, a, op, options, &mut choice)?),
            EllAlgorithm::RowPerThread => Traversal::Stored(EllRows::new::<T, I>(self, 1)?),
            EllAlgorithm::RowPerVector => {
                // Forced, it has several lanes whatever the rows.
                let lanes = lanes.max(2).min(self.most_ell_lanes());
                Traversal::Stored(EllRows::new::<T, I>(self, lanes)?)
            }
        };
        Ok(ProductPlan { choice, traversal })
    }

    unsafe fn run_spmv(
        &self,
        plan: &mut Self::Plan,
        alpha: T::Acc,
        a: &Ell<T, Device, I>,
        x: View<'_, T>,
        beta: T::Acc,
        y: ViewMut<'_, T>,
    ) -> Result<()> {
        let operands = VectorOperands::new(alpha, x, beta, y);
        match &plan.traversal {
            Traversal::Grouped(grouped) => grouped.run(self, StoredValues::values(a), operands),
            Traversal::Stored(rows) => rows.run(self, a, operands, None),
        }
    }
}
