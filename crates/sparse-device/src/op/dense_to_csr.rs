//! Dense to compressed rows: count, scan, fill, with one read-back of the members' sizes between.

use super::scan::Scan;
use crate::launch::{LANES, Launch, in_words, steps, vector};
use crate::program::Defines;
use crate::{Buffer, Device, Driver};
use sparse_core::error::checked_product;
use sparse_core::op::{CompressedArrays, DenseToCsrKernel, Keep, RealOf};
use sparse_core::{
    Algorithm, Backend, Choice, DenseBatchView, Index, KernelPlan, PlanOptions, Result, Scalar,
};
use std::sync::Arc;

const BY_WARP: &str = "row_per_warp";
const BY_MASK: &str = "mask";
const ALGORITHMS: &[Algorithm] = &[
    Algorithm::new("row_per_thread", "the device is a CPU, or neighbours in memory stand in one column"),
    Algorithm::new(
        BY_WARP,
        "otherwise, without the next: a work-group of 32 a row, which writes in parallel",
    ),
    Algorithm::new(BY_MASK, "otherwise: the same, and the second pass reads only where entries stand")
        .preprocessing("room for a bit for each element"),
];
/// The file of the last algorithm.
const FILES: &[&str] = &["dense_to_csr_mask"];

/// The plan of a compression: kernels, and room for a count for each row.
#[derive(Debug)]
pub struct CompressionPlan<D: Driver, T: Scalar> {
    choice: Choice,
    keep: Keep<T>,
    passes: Passes<D>,
    masked: Option<Masked<D>>,
    members: Arc<D::Kernel>,
    offsets: Arc<D::Kernel>,
    starts: Buffer<D, i64>,
    member_ptr: Buffer<D, i64>,
    scan: Scan<D, i64>,
}

/// The kernels of the two passes.
#[derive(Debug)]
struct Passes<D: Driver> {
    count: Arc<D::Kernel>,
    fill: Arc<D::Kernel>,
}

/// What `mask` has more: kernels for rows in whole words, and the bits.
#[derive(Debug)]
struct Masked<D: Driver> {
    wide: Passes<D>,
    bits: Buffer<D, i32>,
}

impl<D: Driver> Masked<D> {
    /// Room for rows of whole words, which take no less than others.
    fn new<T: Scalar>(backend: &Device<D>, rows: usize, cols: usize, defines: &Defines) -> Result<Self> {
        let words = cols.div_ceil(LANES * vector::<T>()) * vector::<T>();
        let bits = backend.allocate(checked_product("rows x words of the mask", rows, words)?)?;
        Ok(Self { wide: Passes::masked::<T>(backend, vector::<T>() > 1, defines)?, bits })
    }
}

impl<D: Driver> Passes<D> {
    fn new<T: Scalar>(backend: &Device<D>, algorithm: &str, defines: &Defines) -> Result<Self> {
        let kernel = |entry| backend.kernel_of::<T>("dense_to_csr", entry, defines.clone());
        Ok(match algorithm {
            BY_MASK => Self::masked::<T>(backend, false, defines)?,
            BY_WARP => Self {
                count: kernel("dense_to_csr_count_row_per_warp")?,
                fill: kernel("dense_to_csr_fill_row_per_warp")?,
            },
            _ => Self {
                count: kernel("dense_to_csr_count_row_per_thread")?,
                fill: kernel("dense_to_csr_fill_row_per_thread")?,
            },
        })
    }

    fn masked<T: Scalar>(backend: &Device<D>, wide: bool, defines: &Defines) -> Result<Self> {
        let defines = defines.clone().set("WIDE", u8::from(wide));
        let kernel = |entry| backend.kernel_of::<T>(FILES[0], entry, defines.clone());
        Ok(Self { count: kernel("dense_to_csr_mask_count")?, fill: kernel("dense_to_csr_mask_fill")? })
    }
}

impl<D: Driver, T: Scalar> KernelPlan for CompressionPlan<D, T> {
    fn choice(&self) -> &Choice {
        &self.choice
    }

    fn workspace_bytes(&self) -> usize {
        let bits = self.masked.as_ref().map_or(0, |masked| masked.bits.bytes());
        self.starts.bytes() + self.member_ptr.bytes() + bits
    }
}

/// A threshold as kernels take it: whether there is one, and which.
pub(super) fn threshold<T: Scalar>(keep: Keep<T>) -> (i32, RealOf<T>) {
    match keep {
        Keep::NonZero => (0, RealOf::<T>::ZERO),
        Keep::Above(tolerance) => (1, tolerance),
    }
}

impl<D: Driver, T: Scalar> CompressionPlan<D, T> {
    /// Sets the arguments that counting and filling share.
    fn source<'a, 'v: 'a>(
        &self,
        launch: Launch<'a, D>,
        a: DenseBatchView<'v, T, Device<D>>,
    ) -> Launch<'a, D> {
        let (row_step, col_step) = steps(a.order(), a.leading_dimension());
        let launch = launch.size(a.count() * a.rows()).size(a.rows()).size(a.cols()).view(a.data());
        launch.size(a.stride()).size(row_step).size(col_step)
    }

    /// The kernels for a matrix.
    fn passes_for(&self, a: &DenseBatchView<'_, T, Device<D>>) -> &Passes<D> {
        let in_words = in_words::<T>(&[a.data().start, a.stride()], steps(a.order(), a.leading_dimension()));
        match &self.masked {
            Some(masked) if in_words => &masked.wide,
            _ => &self.passes,
        }
    }

    /// Counts the entries of each row.
    fn count(&self, backend: &Device<D>, a: DenseBatchView<'_, T, Device<D>>) -> Result<()> {
        let (has_threshold, tolerance) = threshold(self.keep);
        let launch = self.source(backend.launch(&self.passes_for(&a).count), a);
        let launch = launch.value(has_threshold).value(tolerance).buffer(&self.starts);
        self.over(a.count() * a.rows() + 1, self.with_bits(launch))
    }

    /// Fills the rows, which start where `starts` says by now.
    fn fill<I: Index>(
        &self,
        backend: &Device<D>,
        a: DenseBatchView<'_, T, Device<D>>,
        indices: &Buffer<D, I>,
        values: &Buffer<D, T>,
    ) -> Result<()> {
        let launch = self.source(backend.launch(&self.passes_for(&a).fill), a);
        let launch = match self.masked {
            Some(_) => self.with_bits(launch.buffer(&self.starts)),
            None => {
                let (has_threshold, tolerance) = threshold(self.keep);
                launch.value(has_threshold).value(tolerance).buffer(&self.starts)
            }
        };
        self.over(a.count() * a.rows(), launch.buffer(indices).buffer(values))
    }

    /// Sets the bits, where the algorithm keeps them.
    fn with_bits<'a>(&'a self, launch: Launch<'a, D>) -> Launch<'a, D> {
        match &self.masked {
            Some(masked) => launch.buffer(&masked.bits),
            None => launch,
        }
    }

    /// Runs over rows.
    fn over(&self, rows: usize, launch: Launch<'_, D>) -> Result<()> {
        match self.choice.algorithm {
            BY_WARP | BY_MASK => launch.warps(rows),
            _ => launch.items(rows),
        }
    }
}

impl<D: Driver, T: Scalar, I: Index, O: Index> DenseToCsrKernel<T, I, O> for Device<D> {
    type Plan = CompressionPlan<D, T>;

    fn dense_to_csr_algorithms(&self) -> &'static [Algorithm] {
        self.offered(ALGORITHMS, FILES)
    }

    fn plan_dense_to_csr(
        &self,
        a: &DenseBatchView<'_, T, Self>,
        keep: Keep<T>,
        options: &PlanOptions,
    ) -> Result<CompressionPlan<D, T>> {
        let (_, col_step) = steps(a.order(), a.leading_dimension());
        let (automatic, reason) = match (self.driver().is_cpu(), col_step) {
            (true, _) => ("row_per_thread", "the device is a CPU"),
            (false, 1) if self.has(FILES[0]) => (BY_MASK, "neighbours in memory stand in one row"),
            (false, 1) => (BY_WARP, "neighbours in memory stand in one row"),
            (false, _) => ("row_per_thread", "neighbours in memory stand in one column"),
        };
        let choice = options.choose("dense_to_csr", self.offered(ALGORITHMS, FILES), automatic, reason)?;
        let defines = Defines::default().index::<I>().offset::<O>();
        let kernel = |entry| self.kernel_of::<T>("dense_to_csr", entry, defines.clone());
        let rows = checked_product("count x rows", a.count(), a.rows())?;
        let masked = match choice.algorithm {
            BY_MASK => Some(Masked::new::<T>(self, rows, a.cols(), &defines)?),
            _ => None,
        };
        Ok(CompressionPlan {
            passes: Passes::new::<T>(self, choice.algorithm, &defines)?,
            choice,
            keep,
            masked,
            members: kernel("dense_to_csr_members")?,
            offsets: kernel("dense_to_csr_offsets")?,
            starts: self.allocate(rows + 1)?,
            member_ptr: self.allocate(a.count() + 1)?,
            scan: Scan::series(self, rows + 1)?,
        })
    }

    unsafe fn dense_to_csr(
        &self,
        plan: &mut CompressionPlan<D, T>,
        a: DenseBatchView<'_, T, Self>,
    ) -> Result<CompressedArrays<Self, T, I, O>> {
        plan.count(self, a)?;
        plan.scan.starts(self, &mut plan.starts)?;
        let launch = self.launch(&plan.members).size(a.count()).size(a.rows()).buffer(&plan.starts);
        launch.buffer(&plan.member_ptr).items(a.count() + 1)?;
        let member_ptr: Vec<_> = self.download(&plan.member_ptr)?.into_iter().map(|at| at as usize).collect();
        for ends in member_ptr.windows(2) {
            O::try_new("nnz", ends[1] - ends[0])?;
        }
        let nnz = member_ptr[a.count()];
        let offsets = self.allocate(checked_product("count x offsets", a.count(), a.rows() + 1)?)?;
        let (indices, values) = (self.allocate(nnz)?, self.allocate(nnz)?);
        let launch = self.launch(&plan.offsets).size(a.count()).size(a.rows()).buffer(&plan.starts);
        launch.buffer(&offsets).items(offsets.len)?;
        plan.fill(self, a, &indices, &values)?;
        Ok(CompressedArrays { member_ptr, offsets, indices, values })
    }
}
