//! CSR and CSC: the compressed direction by rows, the other by grouped entries.

use super::shares::Shares;
use super::{Grouped, ProductPlan, Way};
use crate::op::grouped::GROUPED_ROWS;
use crate::{Device, Driver, View, ViewMut};
use sparse_core::op::{Op, SpmvKernel};
use sparse_core::{Algorithm, Axis, Compressed, Index, Matrix, PlanOptions, Result, Scalar};

const STORED: &[Algorithm] = &[
    Algorithm::new("row_per_thread", "the device is a CPU, or rows have fewer than 8 entries in the mean"),
    Algorithm::new(
        "row_per_warp",
        "rows have 8 entries or more in the mean, and the driver has no other for them",
    ),
    Algorithm::new("row_per_vector", "rows have 8 entries or more in the mean: 2 to 32 lanes a row"),
    Algorithm::new("merge_path", "some row is much longer than the mean, and the plan runs more than once")
        .preprocessing("the first row of each tile, and room for two sums a tile"),
    Algorithm::new("row_blocks", "never").preprocessing("the first row of each block"),
];
/// The files of the algorithms behind the first two.
const FILES: &[&str] = &["csr_spmv_vector", "csr_spmv_merge", "csr_spmv_row_blocks"];
const ACROSS: &[Algorithm] = &[GROUPED_ROWS];

/// Entries a row, in the mean, from which on several lanes a row are worth it.
const LONG_ROWS: usize = 8;

/// How many times the mean the longest row has before rows count as unlike, if it has [`LONGEST_ALIKE`] entries.
const UNLIKE: usize = 16;

/// Entries up to which a row counts as like the others, whatever the mean.
const LONGEST_ALIKE: usize = 256;

/// Whether op(A) goes along the rows (CSR) or columns (CSC) that are stored.
pub(in crate::op) fn along<A: Axis>(op: Op) -> bool {
    A::IS_ROW != op.transposes()
}

impl<D: Driver, A: Axis, T: Scalar, I: Index, O: Index> SpmvKernel<Compressed<A, T, Device<D>, I, O>>
    for Device<D>
{
    type Plan = ProductPlan<D, I, Shares<D, T>>;

    fn spmv_algorithms(&self, op: Op) -> &'static [Algorithm] {
        if along::<A>(op) { self.offered(STORED, FILES) } else { ACROSS }
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
        let (automatic, reason) = self.share_out(a, options)?;
        let choice = options.choose("spmv", self.offered(STORED, FILES), automatic, reason)?;
        let way = Way::Stored(Shares::new(self, a, op, choice.algorithm)?);
        Ok(ProductPlan { choice, way })
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
        match &plan.way {
            Way::Grouped(grouped) => grouped.run(self, alpha, a, x, beta, y),
            Way::Stored(shares) => shares.run(self, (alpha, beta), a, x, y),
        }
    }
}

impl<D: Driver> Device<D> {
    /// The algorithm that fits the rows, and why. It looks at their lengths where a plan is worth it.
    fn share_out<A: Axis, T: Scalar, I: Index, O: Index>(
        &self,
        a: &Compressed<A, T, Device<D>, I, O>,
        options: &PlanOptions,
    ) -> Result<(&'static str, String)> {
        let mean = a.nnz() / a.pattern().major().max(1);
        let reason = format!("rows have {mean} entries in the mean");
        let fits = |name| self.offered(STORED, FILES).iter().any(|algorithm| algorithm.name == name);
        if self.driver().is_cpu() {
            return Ok(("row_per_thread", "the device is a CPU".into()));
        }
        if fits("merge_path") && options.algorithm.is_none() && options.expected_calls > 1 {
            let longest = self.statistics_of(a.offsets())?.longest;
            if longest > LONGEST_ALIKE.max(UNLIKE * mean) {
                return Ok(("merge_path", format!("{reason}, one has {longest}")));
            }
        }
        let by_mean = match (fits("row_per_vector"), mean) {
            (true, LONG_ROWS..) => "row_per_vector",
            (false, LONG_ROWS..) => "row_per_warp",
            _ => "row_per_thread",
        };
        Ok((by_mean, reason))
    }
}
