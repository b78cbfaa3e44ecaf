//! The plan of dense → compressed rows. The members' sizes are read back once: before the rows are filled, or at the
//! end, if the plan has allocated an estimated capacity.

use super::algorithm::{DenseAlgorithm, choose_algorithm};
use super::batch::Batch;
use super::output_buffer::{Entries, capacity_for};
use super::passes::{Masked, Passes, mask_block};
use super::single_pass::SinglePass;
use crate::buffer::RawBuffer;
use crate::defines::Defines;
use crate::index_type::IndexType;
use crate::lanes::{LANES, in_words};
use crate::launch::Launch;
use crate::primitive::prefix_sum::PrefixSum;
use crate::primitive::tolerance::Tolerance;
use crate::{Buffer, Device, Kernel};
use sparse_core::error::checked_product;
use sparse_core::op::{CompressedArrays, DenseToCsrKernel, Keep};
use sparse_core::{
    Algorithm, Backend, Choice, DType, DenseBatchView, Index, KernelPlan, PlanOptions, Result, Scalar,
};

/// Elements per entry in the first estimate of a single pass's capacity.
const ELEMENTS_PER_ENTRY: usize = 8;

/// The plan of a compression: kernels, and a workspace of one count per row.
#[derive(Debug)]
pub struct CompressionPlan {
    algorithm: DenseAlgorithm,
    choice: Choice,
    dtype: DType,
    index: IndexType,
    offset: IndexType,
    tolerance: Tolerance,
    passes: Passes,
    masked: Option<Masked>,
    single_pass: Option<SinglePass>,
    /// Capacity, in entries, that is allocated before nnz is known; `None` waits for nnz.
    capacity: Option<usize>,
    offsets: Kernel,
    starts: Buffer<i64>,
    member_ptr: Buffer<i64>,
    sum: PrefixSum<i64>,
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

impl CompressionPlan {
    /// The plan for matrices like `a`.
    fn new(
        backend: &Device,
        a: Batch<'_>,
        (dtype, index, offset): (DType, IndexType, IndexType),
        tolerance: Tolerance,
        options: &PlanOptions,
    ) -> Result<Self> {
        let offered = backend.offered::<DenseAlgorithm>();
        let preferred = choose_algorithm(backend, a, options);
        let (algorithm, choice) = backend.choose("dense_to_csr", options, offered, preferred)?;
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
            tolerance,
            masked,
            capacity: single_pass.as_ref().map(|_| elements / ELEMENTS_PER_ENTRY + 1),
            single_pass,
            offsets: kernel("dense_to_csr_offsets")?,
            starts: backend.allocate(rows + 1)?,
            member_ptr: backend.allocate(a.count + 1)?,
            sum: PrefixSum::series(backend, rows + 1)?,
        })
    }

    /// True if rows can be read in whole words.
    fn is_in_words(&self, a: Batch<'_>) -> bool {
        in_words(self.dtype.bytes(), &[a.data.start, a.stride], a.steps)
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
        let launch = launch.tolerance(self.tolerance).buffer(&self.starts);
        self.over(backend, a, a.count * a.rows + 1, self.with_bits(launch))?;
        self.sum.starts(backend, &self.starts)
    }

    /// Fills the rows if the capacity suffices. A single pass first computes the start of each row or, of a single
    /// matrix, its offsets and nnz.
    fn fill(&self, backend: &Device, a: Batch<'_>, offsets: &RawBuffer, entries: &Entries) -> Result<()> {
        let kernel = match &self.single_pass {
            Some(pass) => pass.kernel(self.is_in_words(a)),
            None => &self.passes_for(a).fill,
        };
        let launch = backend.launch(kernel).batch(a);
        let launch = match self.masked {
            Some(_) => self.with_bits(launch.buffer(&self.starts)),
            None => launch.tolerance(self.tolerance).buffer(&self.starts),
        };
        let launch = match self.single_pass {
            Some(_) => launch.buffer(offsets),
            None => launch,
        };
        let launch = launch.buffer(&entries.indices).buffer(&entries.values).size(entries.values.len);
        match &self.single_pass {
            Some(pass) => pass.run(backend, launch),
            None => self.over(backend, a, a.count * a.rows, launch),
        }
    }

    /// Enqueues the computation of the offsets of all members, and of each member's first entry.
    fn write_offsets(
        &self,
        backend: &Device,
        (count, rows): (usize, usize),
        offsets: &RawBuffer,
    ) -> Result<()> {
        let launch = backend.launch(&self.offsets).size(count).size(rows).buffer(&self.starts);
        launch.buffer(offsets).buffer(&self.member_ptr).items(offsets.len + 1)
    }

    /// The first entry of each member, and nnz; waits for the device.
    fn member_ptr(&self, backend: &Device) -> Result<Vec<usize>> {
        let starts = backend.download(&self.member_ptr)?;
        let member_ptr: Vec<_> = starts.into_iter().map(|at| at as usize).collect();
        for ends in member_ptr.windows(2) {
            self.offset.check("nnz", ends[1] - ends[0])?;
        }
        Ok(member_ptr)
    }

    /// nnz of a single matrix, whose offsets a single pass has written; waits for the device.
    fn nnz(&self, backend: &Device, rows: usize) -> Result<usize> {
        let nnz = backend.download_before(self.starts.view().slice(rows..rows + 1), &mut || Ok(()))? as usize;
        self.offset.check("nnz", nnz)?;
        Ok(nnz)
    }

    /// The arrays of all members.
    fn compress(&mut self, backend: &Device, a: Batch<'_>) -> Result<(Vec<usize>, RawBuffer, Entries)> {
        let allocate = |n| Entries::new(backend, self.index, self.dtype, n);
        if self.single_pass.is_none() {
            self.count(backend, a)?;
        }
        let offsets = checked_product("count x offsets", a.count, a.rows + 1)?;
        let offsets = backend.allocate_raw(offsets, self.offset.bytes())?;
        let guessed = self.capacity.map(allocate).transpose()?;
        if let Some(entries) = &guessed {
            self.fill(backend, a, &offsets, entries)?;
        }
        let member_ptr = match self.single_pass {
            Some(_) if a.count == 1 => vec![0, self.nnz(backend, a.rows)?],
            _ => {
                self.write_offsets(backend, (a.count, a.rows), &offsets)?;
                self.member_ptr(backend)?
            }
        };
        let nnz = member_ptr[a.count];
        let entries = match guessed {
            Some(entries) if nnz <= entries.values.len => entries.cut(backend, nnz)?,
            _ => {
                let entries = allocate(nnz)?;
                self.fill(backend, a, &offsets, &entries)?;
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

    /// Launches over `rows` rows or, for algorithms with a task per matrix, over their members.
    fn over(&self, backend: &Device, a: Batch<'_>, rows: usize, launch: Launch<'_>) -> Result<()> {
        let block = mask_block(backend);
        match self.algorithm {
            DenseAlgorithm::RowPerWarp | DenseAlgorithm::RowPerWarpStaged => launch.warps(rows),
            DenseAlgorithm::Mask => {
                launch.groups(rows.div_ceil(block / LANES).min(backend.most_groups()), block)
            }
            DenseAlgorithm::MatrixPerThread => launch.items(a.count.max(1)),
            DenseAlgorithm::MatrixPerWarp => launch.warps(a.count.max(1)),
            DenseAlgorithm::RowPerSubGroup | DenseAlgorithm::RowPerWarpSycl => launch.items(rows * LANES),
            DenseAlgorithm::RowPerThread | DenseAlgorithm::LookBack => launch.items(rows),
        }
    }
}

// SAFETY: the kernels write prefix sums of the lengths of rows, and the columns of each row in their order.
unsafe impl<T: Scalar, I: Index, O: Index> DenseToCsrKernel<T, I, O> for Device {
    type Plan = CompressionPlan;

    fn dense_to_csr_algorithms(&self) -> &'static [Algorithm] {
        self.offered::<DenseAlgorithm>()
    }

    fn plan_dense_to_csr(
        &self,
        a: &DenseBatchView<'_, T, Self>,
        keep: Keep<T>,
        options: &PlanOptions,
    ) -> Result<CompressionPlan> {
        let types = (T::DTYPE, IndexType::of::<I>(), IndexType::of::<O>());
        CompressionPlan::new(self, a.into(), types, Tolerance::new(keep), options)
    }

    unsafe fn run_dense_to_csr(
        &self,
        plan: &mut CompressionPlan,
        a: DenseBatchView<'_, T, Self>,
    ) -> Result<CompressedArrays<Self, T, I, O>> {
        let (member_ptr, offsets, Entries { indices, values }) = plan.compress(self, (&a).into())?;
        let (offsets, indices, values) = (offsets.of(), indices.of(), values.of());
        Ok(CompressedArrays { member_ptr, offsets, indices, values })
    }
}
