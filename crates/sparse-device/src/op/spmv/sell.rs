//! SELL: a row a work-item, its columns as they are stored or as 16-bit deltas.

use super::{Grouped, ProductPlan, Way, Workspace};
use crate::op::grouped::GROUPED_ROWS;
use crate::program::Defines;
use crate::{Buffer, Device, Kernel, View, ViewMut};
use sparse_core::op::{Op, SpmvKernel};
use sparse_core::{Algorithm, Backend, Error, Index, Matrix, PlanOptions, Result, Scalar, Sell};

const DELTAS: &str = "delta16";
const STORED: &[Algorithm] = &[
    Algorithm::new("row_per_thread", "always"),
    Algorithm::new(DELTAS, "never: columns as 16-bit distances from a base for each slot of a slice")
        .preprocessing("16-bit column deltas, a base for each slot of a slice"),
];
const TRANSPOSED: &[Algorithm] = &[GROUPED_ROWS];

/// The kernel of a product along the rows, and the columns that it reads in place of the matrix's.
#[derive(Debug)]
pub struct SellRows<I> {
    kernel: Kernel,
    deltas: Option<Deltas<I>>,
}

/// A column is the base of its slot, the places of a slice that stand side by side, and its delta.
#[derive(Debug)]
struct Deltas<I> {
    bases: Buffer<I>,
    deltas: Buffer<u16>,
}

impl<I: Index> Workspace for SellRows<I> {
    fn bytes(&self) -> usize {
        self.deltas.as_ref().map_or(0, |Deltas { bases, deltas }| bases.bytes() + deltas.bytes())
    }
}

impl<I: Index> Deltas<I> {
    fn new<T: Scalar, O: Index>(
        backend: &Device,
        a: &Sell<T, Device, I, O>,
        defines: Defines,
    ) -> Result<Self> {
        let places = a.col_idx().len;
        let slots = places / a.slice_height();
        let (bases, deltas) = (backend.allocate(slots)?, backend.allocate(places)?);
        let misfits = backend.zeros::<i32>(1)?;
        let make = backend.kernel_of::<T>("sell_deltas", "sell_deltas_make", defines)?;
        let launch = backend.launch(&make).size(slots).size(a.slice_height()).buffer(a.col_idx());
        launch.buffer(&bases).buffer(&deltas).buffer(&misfits).warps(slots)?;
        if backend.download(&misfits)? != [0] {
            let what = "spmv algorithm `delta16` for this pattern";
            return Err(Error::unsupported(what, "columns of one slot lie 65535 or more apart"));
        }
        Ok(Self { bases, deltas })
    }
}

impl<T: Scalar, I: Index, O: Index> SpmvKernel<Sell<T, Device, I, O>> for Device {
    type Plan = ProductPlan<I, SellRows<I>>;

    fn spmv_algorithms(&self, op: Op) -> &'static [Algorithm] {
        if op.transposes() { TRANSPOSED } else { STORED }
    }

    fn plan_spmv(&self, a: &Sell<T, Device, I, O>, op: Op, options: &PlanOptions) -> Result<Self::Plan> {
        let table = SpmvKernel::<Sell<T, Device, I, O>>::spmv_algorithms(self, op);
        let choice = options.choose("spmv", table, table[0].name, "its rows are made for it")?;
        let defines = Defines::default().index::<I>().offset::<O>();
        let way = match choice.algorithm {
            DELTAS => Way::Stored(SellRows {
                kernel: self.kernel_of::<T>("sell_deltas", "sell_deltas_spmv", defines.clone())?,
                deltas: Some(Deltas::new(self, a, defines)?),
            }),
            "row_per_thread" => Way::Stored(SellRows {
                kernel: self.kernel_of::<T>("sell_spmv", "sell_spmv_row_per_thread", defines)?,
                deltas: None,
            }),
            _ => Way::Grouped(Grouped::new(self, a, op)?),
        };
        Ok(ProductPlan { choice, way })
    }

    unsafe fn spmv(
        &self,
        plan: &mut Self::Plan,
        alpha: T::Acc,
        a: &Sell<T, Device, I, O>,
        x: View<'_, T>,
        beta: T::Acc,
        y: ViewMut<'_, T>,
    ) -> Result<()> {
        let rows = match &plan.way {
            Way::Grouped(grouped) => return grouped.run(self, alpha, a, x, beta, y),
            Way::Stored(rows) => rows,
        };
        let launch = self.launch(&rows.kernel).size(a.rows()).size(a.slice_height());
        let launch = launch.buffer(a.slice_ptr()).buffer(a.row_order());
        let launch = match &rows.deltas {
            Some(Deltas { bases, deltas }) => launch.buffer(bases).buffer(deltas),
            None => launch.buffer(a.col_idx()),
        };
        launch.buffer(a.values()).value(alpha).view(x).value(beta).view_mut(y).items(a.rows())
    }
}
