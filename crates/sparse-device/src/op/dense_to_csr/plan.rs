//! Dense to compressed rows: count, scan, fill; or all in one pass. The members' sizes are read back once: before the
//! rows are filled, or, if the plan has guessed a capacity, at the end.

use super::output_buffer::{Entries, capacity_for};
use super::single_pass::{self, SinglePass};
use crate::buffer::{Place, RawBuffer};
use crate::driver::Value;
use crate::launch::{LANES, Launch, in_words, steps, vector};
use crate::op::available_algorithms::Needs;
use crate::op::scan::Scan;
use crate::program::{Defines, IndexType};
use crate::{Buffer, Device, Kernel};
use sparse_core::error::checked_product;
use sparse_core::op::{CompressedArrays, DenseToCsrKernel, Keep, RealOf};
use sparse_core::{
    Algorithm, Backend, Choice, DType, DenseBatchView, Index, KernelPlan, PlanOptions, Result, Scalar,
    algorithms,
};

algorithms! {
    /// The algorithms of dense → compressed rows.
    enum DenseAlgorithm needs Needs {
        RowPerThread = Algorithm::new(
            "row_per_thread",
            "the device is a CPU, or neighbours in memory stand in one column",
        ),
        Needs::Nothing;

        RowPerWarp = Algorithm::new("row_per_warp", "never: a warp a row, which writes in parallel"),
        Needs::Nothing;

        Mask =
            Algorithm::new("mask", "otherwise: the same, and the second pass reads only where entries stand")
                .preprocessing("a bit for each element"),
        Needs::Nothing;

        /// For devices whose work-groups may wait for each other.
        LookBack = Algorithm::new(
            "look_back",
            "neighbours stand in one row, and the plan runs more than once: a single pass",
        )
        .preprocessing("the states of tiles; a guess of nnz, at first an eighth of the elements"),
        Needs::File(single_pass::FILE);

        RowPerSubGroup =
            Algorithm::new("row_per_sub_group", "never: a sub-group a row, which writes in parallel"),
        Needs::File(SUB_GROUP_FILE);

        RowPerWarpSycl =
            Algorithm::new("row_per_warp_sycl", "never: `row_per_warp` in SYCL C++, a sub-group of 32 a row"),
        Needs::File(WARP_FILE);
    }
}

/// Elements per entry in the first guess of a single pass's capacity.
const ELEMENTS_PER_ENTRY: usize = 8;
/// The file of the kernels of `mask`.
const MASK_FILE: &str = "dense_to_csr_mask";
/// The number of bits of a row is a multiple of this.
const MASK_COLS: usize = 256;
/// The most work-items of a group of `mask` whose lanes communicate through local memory, which is that large.
const LARGEST_LOCAL_BLOCK: usize = 128;
/// The file of the kernels of `row_per_sub_group`.
const SUB_GROUP_FILE: &str = "dense_to_csr_sub_group";
/// The file of the kernels of `row_per_warp_sycl`.
const WARP_FILE: &str = "dense_to_csr_warp";

/// The plan of a compression: kernels, and a workspace of one count per row.
#[derive(Debug)]
pub struct CompressionPlan {
    algorithm: DenseAlgorithm,
    choice: Choice,
    dtype: DType,
    index: IndexType,
    offset: IndexType,
    threshold: Threshold,
    passes: Passes,
    masked: Option<Masked>,
    single_pass: Option<SinglePass>,
    /// Entries to allocate before nnz is known, if a guess is worth it.
    capacity: Option<usize>,
    members: Kernel,
    offsets: Kernel,
    starts: Buffer<i64>,
    member_ptr: Buffer<i64>,
    scan: Scan<i64>,
}

/// The kernels of the two passes.
#[derive(Debug)]
struct Passes {
    count: Kernel,
    fill: Kernel,
}

/// The additions of `mask`: kernels for rows in whole words, and the bits.
#[derive(Debug)]
struct Masked {
    wide: Passes,
    bits: Buffer<i32>,
}

impl Masked {
    /// The kernels and bits for rows that begin at whole words.
    fn new(backend: &Device, dtype: DType, rows: usize, cols: usize, defines: &Defines) -> Result<Self> {
        let words = cols.div_ceil(MASK_COLS) * (MASK_COLS / i32::BITS as usize);
        let bits = backend.allocate(checked_product("rows x words of the mask", rows, words)?)?;
        Ok(Self { wide: Passes::masked(backend, dtype, vector(dtype.bytes()) > 1, defines)?, bits })
    }
}

impl Passes {
    fn new(
        backend: &Device,
        dtype: DType,
        index: IndexType,
        algorithm: DenseAlgorithm,
        defines: &Defines,
    ) -> Result<Self> {
        let of_file = |file, [count, fill]: [&'static str; 2], defines: &Defines| {
            let kernel = |entry| backend.kernel_of(dtype, file, entry, defines.clone());
            Ok(Self { count: kernel(count)?, fill: kernel(fill)? })
        };
        match algorithm {
            DenseAlgorithm::Mask => Self::masked(backend, dtype, false, defines),
            DenseAlgorithm::RowPerWarp => of_file(
                "dense_to_csr",
                ["dense_to_csr_count_row_per_warp", "dense_to_csr_fill_row_per_warp"],
                defines,
            ),
            DenseAlgorithm::RowPerSubGroup => of_file(
                SUB_GROUP_FILE,
                ["dense_to_csr_count_row_per_sub_group", "dense_to_csr_fill_row_per_sub_group"],
                defines,
            ),
            DenseAlgorithm::RowPerWarpSycl => of_file(
                WARP_FILE,
                ["dense_to_csr_count_warp", "dense_to_csr_fill_warp"],
                &Defines::default().index(index),
            ),
            // A single pass has kernels of its own, and none for a matrix without elements.
            DenseAlgorithm::RowPerThread | DenseAlgorithm::LookBack => of_file(
                "dense_to_csr",
                ["dense_to_csr_count_row_per_thread", "dense_to_csr_fill_row_per_thread"],
                defines,
            ),
        }
    }

    fn masked(backend: &Device, dtype: DType, wide: bool, defines: &Defines) -> Result<Self> {
        let defines = defines.clone().set("WIDE", u8::from(wide)).set("BLOCK", mask_block(backend));
        let kernel = |entry| backend.kernel_of(dtype, MASK_FILE, entry, defines.clone());
        Ok(Self { count: kernel("dense_to_csr_mask_count")?, fill: kernel("dense_to_csr_mask_fill")? })
    }
}

impl KernelPlan for CompressionPlan {
    fn choice(&self) -> &Choice {
        &self.choice
    }

    fn workspace_bytes(&self) -> usize {
        let bits = self.masked.as_ref().map_or(0, |masked| masked.bits.bytes());
        let states = self.single_pass.as_ref().map_or(0, SinglePass::bytes);
        self.starts.bytes() + self.member_ptr.bytes() + bits + states
    }
}

/// A threshold as a kernel argument: whether it is set, and its value.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Threshold(i32, Value);

impl Threshold {
    pub(crate) fn new<T: Scalar>(keep: Keep<T>) -> Self {
        match keep {
            Keep::NonZero => Self(0, Value::new(&RealOf::<T>::ZERO)),
            Keep::Above(tolerance) => Self(1, Value::new(&tolerance)),
        }
    }
}

impl Launch<'_> {
    /// Passes the threshold above which elements are kept.
    pub(crate) fn threshold(self, Threshold(is_set, tolerance): Threshold) -> Self {
        self.value(is_set).factor(tolerance)
    }
}

/// A batch of dense matrices.
#[derive(Clone, Copy)]
struct Batch<'a> {
    place: Place<'a>,
    count: usize,
    rows: usize,
    cols: usize,
    stride: usize,
    steps: (usize, usize),
}

impl<'a, T: Scalar> From<&DenseBatchView<'a, T, Device>> for Batch<'a> {
    fn from(a: &DenseBatchView<'a, T, Device>) -> Self {
        Self {
            place: a.data().into(),
            count: a.count(),
            rows: a.rows(),
            cols: a.cols(),
            stride: a.stride(),
            steps: steps(a.order(), a.leading_dimension()),
        }
    }
}

/// The work-items of a group of `mask`.
fn mask_block(backend: &Device) -> usize {
    let has_warps = backend.properties().warps_per_group > 1;
    if has_warps { backend.inner.block } else { backend.inner.block.min(LARGEST_LOCAL_BLOCK) }
}

impl<'a> Launch<'a> {
    /// The common arguments of counting and filling.
    fn batch(self, a: Batch<'a>) -> Self {
        let launch = self.size(a.count * a.rows).size(a.rows).size(a.cols).view(a.place);
        launch.size(a.stride).size(a.steps.0).size(a.steps.1)
    }
}

impl CompressionPlan {
    /// The plan for matrices like `a`.
    fn new(
        backend: &Device,
        a: Batch<'_>,
        (dtype, index, offset): (DType, IndexType, IndexType),
        threshold: Threshold,
        options: &PlanOptions,
    ) -> Result<Self> {
        let repeats = options.expected_calls > 1 && backend.has(single_pass::FILE);
        let fitting = match (backend.caps().is_cpu, a.steps.1) {
            (true, _) => (DenseAlgorithm::RowPerThread, "the device is a CPU"),
            (false, 1) if repeats => {
                (DenseAlgorithm::LookBack, "neighbours in memory stand in one row, and the plan repeats")
            }
            (false, 1) => (DenseAlgorithm::Mask, "neighbours in memory stand in one row"),
            (false, _) => (DenseAlgorithm::RowPerThread, "neighbours in memory stand in one column"),
        };
        let (algorithm, choice) = backend.choose("dense_to_csr", options, offered(backend), fitting)?;
        let defines = Defines::default().index(index).offset(offset);
        let kernel = |entry| backend.kernel_of(dtype, "dense_to_csr", entry, defines.clone());
        let rows = checked_product("count x rows", a.count, a.rows)?;
        let is_masked = algorithm == DenseAlgorithm::Mask;
        let masked = is_masked.then(|| Masked::new(backend, dtype, rows, a.cols, &defines)).transpose()?;
        let elements = checked_product("rows x columns", rows, a.cols)?;
        let is_single = algorithm == DenseAlgorithm::LookBack && elements > 0;
        let single_pass =
            is_single.then(|| SinglePass::new(backend, dtype, (rows, a.cols), &defines)).transpose()?;
        Ok(Self {
            passes: Passes::new(backend, dtype, index, algorithm, &defines)?,
            algorithm,
            choice,
            dtype,
            index,
            offset,
            threshold,
            masked,
            capacity: single_pass.as_ref().map(|_| elements / ELEMENTS_PER_ENTRY + 1),
            single_pass,
            members: kernel("dense_to_csr_members")?,
            offsets: kernel("dense_to_csr_offsets")?,
            starts: backend.allocate(rows + 1)?,
            member_ptr: backend.allocate(a.count + 1)?,
            scan: Scan::series(backend, rows + 1)?,
        })
    }

    /// True if rows can be read in whole words.
    fn is_in_words(&self, a: Batch<'_>) -> bool {
        in_words(self.dtype.bytes(), &[a.place.start, a.stride], a.steps)
    }

    /// The kernels for a matrix.
    fn passes_for(&self, a: Batch<'_>) -> &Passes {
        match &self.masked {
            Some(masked) if self.is_in_words(a) => &masked.wide,
            _ => &self.passes,
        }
    }

    /// Computes the start of each row.
    fn count(&self, backend: &Device, a: Batch<'_>) -> Result<()> {
        let launch = backend.launch(&self.passes_for(a).count).batch(a);
        let launch = launch.threshold(self.threshold).buffer(&self.starts);
        self.over(backend, a.count * a.rows + 1, self.with_bits(launch))?;
        self.scan.starts(backend, &self.starts)
    }

    /// Fills the rows if the capacity suffices; a single pass first computes the start of each row.
    fn fill(&self, backend: &Device, a: Batch<'_>, entries: &Entries) -> Result<()> {
        let kernel = match &self.single_pass {
            Some(pass) => pass.kernel(self.is_in_words(a)),
            None => &self.passes_for(a).fill,
        };
        let launch = backend.launch(kernel).batch(a);
        let launch = match self.masked {
            Some(_) => self.with_bits(launch.buffer(&self.starts)),
            None => launch.threshold(self.threshold).buffer(&self.starts),
        };
        let launch = launch.buffer(&entries.indices).buffer(&entries.values).size(entries.values.len);
        match &self.single_pass {
            Some(pass) => pass.run(backend, launch),
            None => self.over(backend, a.count * a.rows, launch),
        }
    }

    /// The offsets of all members.
    fn offsets(&self, backend: &Device, (count, rows): (usize, usize)) -> Result<RawBuffer> {
        let offsets = checked_product("count x offsets", count, rows + 1)?;
        let offsets = backend.allocate_raw(offsets, self.offset.bytes())?;
        let launch = backend.launch(&self.offsets).size(count).size(rows).buffer(&self.starts);
        launch.buffer(&offsets).items(offsets.len)?;
        Ok(offsets)
    }

    /// The first entry of each member, and nnz; waits for the device.
    fn members(&self, backend: &Device, (count, rows): (usize, usize)) -> Result<Vec<usize>> {
        let launch = backend.launch(&self.members).size(count).size(rows).buffer(&self.starts);
        launch.buffer(&self.member_ptr).items(count + 1)?;
        let starts = backend.download(&self.member_ptr)?;
        let member_ptr: Vec<_> = starts.into_iter().map(|at| at as usize).collect();
        for ends in member_ptr.windows(2) {
            self.offset.check("nnz", ends[1] - ends[0])?;
        }
        Ok(member_ptr)
    }

    /// The arrays of all members.
    fn compress(&mut self, backend: &Device, a: Batch<'_>) -> Result<(Vec<usize>, RawBuffer, Entries)> {
        let members = (a.count, a.rows);
        let allocate = |n| Entries::new(backend, self.index, self.dtype, n);
        if self.single_pass.is_none() {
            self.count(backend, a)?;
        }
        let guessed = self.capacity.map(allocate).transpose()?;
        if let Some(entries) = &guessed {
            self.fill(backend, a, entries)?;
        }
        let offsets = self.offsets(backend, members)?;
        let member_ptr = self.members(backend, members)?;
        let nnz = member_ptr[a.count];
        let entries = match guessed {
            Some(entries) if nnz <= entries.values.len => entries.cut(backend, nnz)?,
            _ => {
                let entries = allocate(nnz)?;
                self.fill(backend, a, &entries)?;
                entries
            }
        };
        self.capacity = Some(capacity_for(nnz));
        Ok((member_ptr, offsets, entries))
    }

    /// Adds the bits to a launch, if the algorithm has them.
    fn with_bits<'a>(&'a self, launch: Launch<'a>) -> Launch<'a> {
        match &self.masked {
            Some(masked) => launch.buffer(&masked.bits),
            None => launch,
        }
    }

    /// Launches over rows.
    fn over(&self, backend: &Device, rows: usize, launch: Launch<'_>) -> Result<()> {
        let block = mask_block(backend);
        match self.algorithm {
            DenseAlgorithm::RowPerWarp => launch.warps(rows),
            DenseAlgorithm::Mask => {
                launch.groups(rows.div_ceil(block / LANES).min(backend.most_groups()), block)
            }
            DenseAlgorithm::RowPerSubGroup | DenseAlgorithm::RowPerWarpSycl => launch.items(rows * LANES),
            DenseAlgorithm::RowPerThread | DenseAlgorithm::LookBack => launch.items(rows),
        }
    }
}

/// The algorithms that a device has.
fn offered(device: &Device) -> &'static [Algorithm] {
    device.offered(|_: DenseAlgorithm| true)
}

impl<T: Scalar, I: Index, O: Index> DenseToCsrKernel<T, I, O> for Device {
    type Plan = CompressionPlan;

    fn dense_to_csr_algorithms(&self) -> &'static [Algorithm] {
        offered(self)
    }

    fn plan_dense_to_csr(
        &self,
        a: &DenseBatchView<'_, T, Self>,
        keep: Keep<T>,
        options: &PlanOptions,
    ) -> Result<CompressionPlan> {
        let types = (T::DTYPE, IndexType::of::<I>(), IndexType::of::<O>());
        CompressionPlan::new(self, a.into(), types, Threshold::new(keep), options)
    }

    unsafe fn dense_to_csr(
        &self,
        plan: &mut CompressionPlan,
        a: DenseBatchView<'_, T, Self>,
    ) -> Result<CompressedArrays<Self, T, I, O>> {
        let (member_ptr, offsets, Entries { indices, values }) = plan.compress(self, (&a).into())?;
        let (offsets, indices, values) = (offsets.of(), indices.of(), values.of());
        Ok(CompressedArrays { member_ptr, offsets, indices, values })
    }
}
