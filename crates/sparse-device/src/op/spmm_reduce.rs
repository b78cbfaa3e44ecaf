//! `C ← ⊕ A·B`: a thread for each element of C, where neighbouring threads read the same entries of A; or a thread for
//! each chunk of a row and each column, whose results a second kernel combines in order.

use super::available_algorithms::Needs;
use crate::buffer::RawBuffer;
use crate::operand::DenseOperand;
use crate::primitive::chunks::Chunks;
use crate::primitive::partial_sums::SplitRows;
use crate::primitive::raw::RawCompressed;
use crate::{Buffer, Device, Kernel};
use sparse_core::error::checked_product;
use sparse_core::op::{Aggregation, SpmmReduceKernel};
use sparse_core::{
    Algorithm, Backend, Choice, Csr, DenseView, DenseViewMut, Index, KernelPlan, PlanOptions, Result, Scalar,
    algorithms,
};

/// The file of the kernels.
const FILE: &str = "csr_spmm_reduce";

/// Entries of a chunk, and the longest row that one thread takes: a longer one would delay its warp.
const LONGEST: usize = 512;
const CHUNK: usize = 128;

algorithms! {
    /// The algorithms of CSR.
    enum SpmmReduceAlgorithm needs Needs {
        ElementPerThread = Algorithm::new(
            "element_per_thread",
            "the device is a CPU, or no row has more than 512 entries: neighbouring columns of a row read its entries together",
        ),
        Needs::Nothing;

        RowSplit = Algorithm::new("row_split", "otherwise: a thread for each chunk of a row and column")
            .preprocessing("chunks of up to 128 entries, sorted by length, and a row of partial results for each"),
        Needs::Nothing;
    }
}

/// The plan of an aggregation.
#[derive(Debug)]
pub struct SpmmReducePlan {
    choice: Choice,
    by: Aggregation,
    kernel: Kernel,
    split: Option<Split>,
}

/// The chunks of rows, the rows with several chunks, and the buffers for their results.
#[derive(Debug)]
struct Split {
    chunks: Chunks,
    rows: SplitRows,
    partial: RawBuffer,
    partial_at: Buffer<i64>,
    combine: Kernel,
}

impl KernelPlan for SpmmReducePlan {
    fn choice(&self) -> &Choice {
        &self.choice
    }

    fn workspace_bytes(&self) -> usize {
        self.split.as_ref().map_or(0, Split::bytes)
    }
}

impl Split {
    fn new(backend: &Device, a: RawCompressed<'_>, by: Aggregation, columns: usize) -> Result<Self> {
        let (chunks, rows) = Chunks::tiles(backend, a, CHUNK)?;
        let results = checked_product("partial results x columns", chunks.partials, columns)?;
        Ok(Self {
            chunks,
            rows,
            partial: backend.allocate_raw(results, a.dtype.accumulator().bytes())?,
            partial_at: backend.allocate(if by.has_argument() { results } else { 0 })?,
            combine: backend.kernel_of(a.dtype, FILE, "csr_spmm_reduce_combine", a.defines())?,
        })
    }

    fn bytes(&self) -> usize {
        let rows = self.rows.rows.bytes() + self.rows.starts.bytes();
        self.chunks.bytes() + rows + self.partial.bytes() + self.partial_at.bytes()
    }
}

impl SpmmReducePlan {
    fn new(
        backend: &Device,
        by: Aggregation,
        a: RawCompressed<'_>,
        columns: usize,
        options: &PlanOptions,
    ) -> Result<Self> {
        let automatic = if backend.caps().is_cpu {
            (SpmmReduceAlgorithm::ElementPerThread, "the device is a CPU".into())
        } else {
            let longest = backend.longest_row(a.offsets)?;
            let is_late = longest > LONGEST;
            let algorithm =
                if is_late { SpmmReduceAlgorithm::RowSplit } else { SpmmReduceAlgorithm::ElementPerThread };
            (algorithm, format!("the longest row has {longest} entries"))
        };
        let offered = backend.offered::<SpmmReduceAlgorithm>();
        let (algorithm, choice) = backend.choose("spmm_reduce", options, offered, automatic)?;
        let (entry, split) = match algorithm {
            SpmmReduceAlgorithm::ElementPerThread => ("csr_spmm_reduce_element_per_thread", None),
            SpmmReduceAlgorithm::RowSplit => {
                ("csr_spmm_reduce_row_split", Some(Split::new(backend, a, by, columns)?))
            }
        };
        Ok(Self { choice, by, kernel: backend.kernel_of(a.dtype, FILE, entry, a.defines())?, split })
    }

    /// Computes the aggregation.
    fn run(
        &self,
        backend: &Device,
        a: RawCompressed<'_>,
        (b, c): (DenseOperand<'_>, DenseOperand<'_>),
        arg: Option<DenseOperand<'_>>,
    ) -> Result<()> {
        let (entries, by) = (a.indices.len, code(self.by));
        let Some(Split { chunks, rows, partial, partial_at, combine }) = &self.split else {
            let launch = backend.launch(&self.kernel).size(c.rows).size(c.cols).size(entries).value(by);
            let launch = launch.buffer(a.offsets).buffer(a.indices).buffer(a.values);
            return launch.dense(b).dense(c).dense_or_null(arg).items(c.rows.saturating_mul(c.cols));
        };
        let launch = backend.launch(&self.kernel).size(chunks.count).size(c.cols).size(entries).value(by);
        let launch = launch.buffer(&chunks.begins).buffer(&chunks.lengths).buffer(&chunks.rows);
        let launch = launch.buffer(&chunks.sum_index).buffer(a.indices).buffer(a.values).dense(b);
        let launch = launch.dense(c).dense_or_null(arg).buffer(partial).buffer(partial_at);
        launch.items(chunks.count.saturating_mul(c.cols))?;
        let split_rows = rows.rows.len;
        let launch = backend.launch(combine).size(split_rows).size(c.cols).value(by).buffer(a.offsets);
        let launch = launch.buffer(&rows.rows).buffer(&rows.starts).dense(c).dense_or_null(arg);
        launch.buffer(partial).buffer(partial_at).items(split_rows.saturating_mul(c.cols))
    }
}

impl<T: Scalar, I: Index, O: Index> SpmmReduceKernel<Csr<T, Device, I, O>> for Device {
    type Plan = SpmmReducePlan;

    fn spmm_reduce_algorithms(&self) -> &'static [Algorithm] {
        self.offered::<SpmmReduceAlgorithm>()
    }

    fn plan_spmm_reduce(
        &self,
        by: Aggregation,
        a: &Csr<T, Device, I, O>,
        columns: usize,
        options: &PlanOptions,
    ) -> Result<Self::Plan> {
        SpmmReducePlan::new(self, by, a.into(), columns, options)
    }

    unsafe fn run_spmm_reduce(
        &self,
        plan: &mut Self::Plan,
        a: &Csr<T, Device, I, O>,
        b: DenseView<'_, T, Device>,
        c: DenseViewMut<'_, T, Device>,
        arg: Option<DenseViewMut<'_, i64, Device>>,
    ) -> Result<()> {
        plan.run(self, a.into(), (b.into(), c.into()), arg.map(Into::into))
    }
}

/// The number of an aggregation in the kernels.
fn code(by: Aggregation) -> i32 {
    match by {
        Aggregation::Sum => 0,
        Aggregation::Mean => 1,
        Aggregation::Min => 2,
        Aggregation::Max => 3,
    }
}
