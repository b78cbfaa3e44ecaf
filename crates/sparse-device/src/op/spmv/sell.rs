//! SELL: one row per work-item, with its columns as they are stored or as 16-bit deltas.

use super::plan::{Grouped, ProductPlan, Traversal, Workspace};
use crate::buffer::RawBuffer;
use crate::defines::Defines;
use crate::index_type::IndexType;
use crate::op::available_algorithms::Needs;
use crate::primitive::raw::VectorOperands;
use crate::primitive::row_groups::GROUPED_ROWS;
use crate::primitive::stored_values::StoredValues;
use crate::{Buffer, Device, Kernel, View, ViewMut};
use sparse_core::op::{Op, SpmvKernel};
use sparse_core::{Algorithm, Backend, Error, Index, PlanOptions, Result, Scalar, Sell, algorithms};

algorithms! {
    /// The algorithms of SELL.
    enum SellAlgorithm needs Needs {
        RowPerThread = Algorithm::new("row_per_thread", "always"), Needs::Nothing;

        Delta16 =
            Algorithm::new("delta16", "many calls on a GPU, columns of neighbouring rows lie less than 65535 apart")
                .preprocessing("16-bit column deltas, a base for each column of a slice"),
        Needs::Nothing;

        /// For op(A) by columns.
        GroupedRows = GROUPED_ROWS, Needs::Nothing;
    }
}

/// The kernel of a product along the rows, and the deltas that it reads in place of the columns.
#[derive(Debug)]
pub struct SellRows {
    kernel: Kernel,
    deltas: Option<Deltas>,
}

/// Columns as deltas: a column is the base of its position in a slice's rows, which the lanes of the slice share, plus
/// a 16-bit delta.
#[derive(Debug)]
struct Deltas {
    bases: RawBuffer,
    deltas: Buffer<u16>,
}

impl Workspace for SellRows {
    fn bytes(&self) -> usize {
        self.deltas.as_ref().map_or(0, |Deltas { bases, deltas }| bases.bytes() + deltas.bytes())
    }
}

/// Calls from which on a plan looks whether columns fit 16 bits, which takes it a few products' time. Measured on an
/// H100, stencils and bands of 3 to 81 entries a row, columns over deltas: 0.93 to 1.15 in f32, 0.97 to 1.13 in f64.
const CALLS_FOR_DELTAS: usize = 32;

impl Deltas {
    /// The columns as deltas; `None` if one does not fit.
    fn new(
        backend: &Device,
        columns: &RawBuffer,
        slice_height: usize,
        make: &Kernel,
    ) -> Result<Option<Self>> {
        let slots = columns.len / slice_height;
        let (bases, deltas) =
            (backend.allocate_raw(slots, columns.element_bytes)?, backend.allocate(columns.len)?);
        let misfits = backend.zeros::<i32>(1)?;
        let launch = backend.launch(make).size(slots).size(slice_height).buffer(columns);
        launch.buffer(&bases).buffer(&deltas).buffer(&misfits).warps(slots)?;
        Ok((backend.download(&misfits)? == [0]).then_some(Self { bases, deltas }))
    }
}

impl<T: Scalar, I: Index, O: Index> SpmvKernel<Sell<T, Device, I, O>> for Device {
    type Plan = ProductPlan<SellRows>;

    fn spmv_algorithms(&self, op: Op) -> &'static [Algorithm] {
        self.offered_if(&|algorithm: SellAlgorithm| {
            (algorithm == SellAlgorithm::GroupedRows) == op.transposes()
        })
    }

    fn plan_spmv(&self, a: &Sell<T, Device, I, O>, op: Op, options: &PlanOptions) -> Result<Self::Plan> {
        let table = SpmvKernel::<Sell<T, Device, I, O>>::spmv_algorithms(self, op);
        let defines = Defines::default().index(IndexType::of::<I>()).offset(IndexType::of::<O>());
        let kernel = |entry| self.kernel_of(T::DTYPE, "sell_deltas", entry, defines.clone());
        let find_deltas = || Deltas::new(self, a.col_idx(), a.slice_height(), &kernel("sell_deltas_make")?);
        let looks_for_deltas = options.algorithm.is_none()
            && options.expected_calls >= CALLS_FOR_DELTAS
            && !(op.transposes() || self.caps().is_cpu);
        let found = if looks_for_deltas { find_deltas()? } else { None };
        let preferred = match &found {
            _ if op.transposes() => (SellAlgorithm::GroupedRows, "rows of op(A) are columns of slices"),
            Some(_) => (SellAlgorithm::Delta16, "columns fit 16 bits, and the plan runs often"),
            None => (SellAlgorithm::RowPerThread, "its rows are made for it"),
        };
        let (algorithm, mut choice) = self.choose("spmv", options, table, preferred)?;
        let traversal = match algorithm {
            SellAlgorithm::Delta16 => {
                let deltas = found.map_or_else(find_deltas, |found| Ok(Some(found)))?;
                let deltas = deltas.ok_or_else(|| {
                    Error::unsupported(
                        "spmv algorithm `delta16` for this pattern",
                        "columns at one position of a slice's rows lie 65535 or more apart",
                    )
                })?;
                Traversal::Stored(SellRows { kernel: kernel("sell_deltas_spmv")?, deltas: Some(deltas) })
            }
            SellAlgorithm::RowPerThread => Traversal::Stored(SellRows {
                kernel: self.kernel_of(T::DTYPE, "sell_spmv", "sell_spmv_row_per_thread", defines)?,
                deltas: None,
            }),
            SellAlgorithm::GroupedRows => {
                Traversal::Grouped(Grouped::new(self, a, op, options, &mut choice)?)
            }
        };
        Ok(ProductPlan { choice, traversal })
    }

    unsafe fn run_spmv(
        &self,
        plan: &mut Self::Plan,
        alpha: T::Acc,
        a: &Sell<T, Device, I, O>,
        x: View<'_, T>,
        beta: T::Acc,
        y: ViewMut<'_, T>,
    ) -> Result<()> {
        let operands = VectorOperands::new(alpha, x, beta, y);
        let rows = match &plan.traversal {
            Traversal::Grouped(grouped) => return grouped.run(self, StoredValues::values(a), operands),
            Traversal::Stored(rows) => rows,
        };
        let launch = self.launch(&rows.kernel).size(a.nrows()).size(a.slice_height());
        let launch = launch.buffer(a.slice_ptr()).buffer(a.row_order());
        let launch = match &rows.deltas {
            Some(Deltas { bases, deltas }) => launch.buffer(bases).buffer(deltas),
            None => launch.buffer(a.col_idx()),
        };
        launch.buffer(a.values()).vectors(operands).items(a.nrows())
    }
}
