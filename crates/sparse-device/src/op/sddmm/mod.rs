//! `C ← alpha·P ∘ (U·Vᵀ) + beta·C`: chunks of equal numbers of entries, independent of the lengths of rows.

mod batch;
mod choice;
mod quads;

use self::choice::{Inspection, has_whole_words};
use self::quads::Quads;
use super::available_algorithms::Needs;
use crate::buffer::RawBuffer;
use crate::defines::Defines;
use crate::driver::Value;
use crate::lanes::{LANES, in_words, vector};
use crate::launch::Launch;
use crate::operand::{DenseOperand, Pointer};
use crate::primitive::raw::{RawCompressed, RawCoo};
use crate::{Device, Kernel, ViewMut};
use sparse_core::op::{Sampling, SddmmKernel};
use sparse_core::{
    Accumulator, Algorithm, Axis, Backend, Choice, Compressed, Coo, DType, DenseView, Index, KernelPlan,
    PlanOptions, Result, Scalar, algorithms,
};

/// The file of the kernels.
const FILE: &str = "sddmm";

/// The file of the kernel for whole words of U and V, where the row of each entry is known.
const ALIGNED: &str = "sddmm_aligned";

/// Warps of [`ALIGNED`] that a compute unit runs at once.
const ALIGNED_WARPS: usize = 16;

/// Entries of a chunk: the kernels' macro `CHUNK`.
const CHUNK: usize = 128;

/// Bytes of a row of V that neighbouring lanes read together: a cache line. More lanes would add steps to the sum over
/// lanes, fewer would read parts of cache lines.
const LINE: usize = 128;

algorithms! {
    /// The algorithms of all formats.
    enum SddmmAlgorithm needs Needs {
        LanesPerEntry = Algorithm::new(
            "lanes_per_entry",
            "the device is no CPU: up to 32 lanes for four neighbouring entries, by 16 bytes a lane where rows of U and V \
             are aligned; CUDA, where they have at least 128 bytes: 8 lanes for eight entries",
        )
        .preprocessing("the row of each entry, for several calls; OpenCL with up to 512 bytes of a row of U"),
        Needs::Nothing;

        ColumnSlices = Algorithm::new(
            "column_slices",
            "the device is no CPU, its cache does not hold V, whose rows have more than 512 bytes (with 8 lanes for eight \
             entries 1024; 512 or 256 where columns of a row are far from each other): as `lanes_per_entry`, by one slice of as \
             many bytes after the other; half precision has one slice",
        )
        .preprocessing("the row of each entry, for several calls"),
        Needs::Nothing;

        ColumnPanels = Algorithm::new(
            "column_panels",
            "CUDA, several calls, f32 or f64, columns that ascend in each row: panels of columns whose rows of V have 64 or 128 KiB, where \
             rows have 4 entries and one in 40 columns of each; one panel where rows have 64 entries on average or rows of V \
             less than 128 bytes. By slices as `column_slices` where rows of V have more than 1024 bytes",
        )
        .preprocessing("quads of entries, in the order of the panels"),
        Needs::File(quads::FILE);

        ChunkPerThread =
            Algorithm::new("chunk_per_thread", "the device is a CPU: a work-item for 128 neighbouring entries"),
        Needs::Nothing;
    }
}

/// The algorithms that a device has; panels are for compressed rows.
fn offered(backend: &Device, is_compressed: bool) -> &'static [Algorithm] {
    backend
        .offered_if(&|algorithm: SddmmAlgorithm| is_compressed || algorithm != SddmmAlgorithm::ColumnPanels)
}

/// The plan of a sampled product.
#[derive(Debug)]
pub struct SddmmPlan {
    choice: Choice,
    algorithm: SddmmAlgorithm,
    sampling: Sampling,
    kernel: Kernel,
    /// [`ALIGNED`], if the rows of entries are known and the device has it.
    aligned: Option<Kernel>,
    quads: Option<Quads>,
    /// The row of each entry, so that no lane searches for it.
    rows: Option<RawBuffer>,
    /// Columns of U and V that are multiplied at a time, if not all.
    slice: Option<usize>,
}

impl KernelPlan for SddmmPlan {
    fn choice(&self) -> &Choice {
        &self.choice
    }

    fn workspace_bytes(&self) -> usize {
        self.rows.as_ref().map_or(0, RawBuffer::bytes) + self.quads.as_ref().map_or(0, Quads::bytes)
    }
}

/// Entries by compressed rows or with a row each; those of CSC are of the transpose.
#[derive(Debug, Clone, Copy)]
struct RawEntries<'a> {
    dtype: DType,
    shape: (usize, usize),
    row_of: RowOf<'a>,
    indices: &'a RawBuffer,
    values: &'a RawBuffer,
}

/// The means to find the row of an entry.
#[derive(Debug, Clone, Copy)]
enum RowOf<'a> {
    /// The offsets of the rows.
    Compressed(RawCompressed<'a>),
    /// A row for each entry.
    Coordinates(&'a RawBuffer),
}

impl<'a> From<RawCompressed<'a>> for RawEntries<'a> {
    fn from(p: RawCompressed<'a>) -> Self {
        let RawCompressed { dtype, rows, cols, indices, values, .. } = p;
        Self { dtype, shape: (rows, cols), row_of: RowOf::Compressed(p), indices, values }
    }
}

impl<'a> From<RawCoo<'a>> for RawEntries<'a> {
    fn from(p: RawCoo<'a>) -> Self {
        let RawCoo { dtype, shape, row_idx, col_idx, values, .. } = p;
        Self { dtype, shape, row_of: RowOf::Coordinates(row_idx), indices: col_idx, values }
    }
}

impl<'a> RowOf<'a> {
    fn compressed(self) -> Option<RawCompressed<'a>> {
        match self {
            Self::Compressed(a) => Some(a),
            Self::Coordinates(_) => None,
        }
    }
}

/// The operands except the entries.
#[derive(Debug, Clone, Copy)]
struct SampledOperands<'a> {
    alpha: Value,
    u: DenseOperand<'a>,
    v: DenseOperand<'a>,
    beta: Value,
    /// The factor of C after the first slice of columns.
    one: Value,
    c: Pointer<'a>,
}

impl<'a> SampledOperands<'a> {
    /// The operands along the stored direction: U and V change places for compressed columns.
    fn new<A: Accumulator>(
        (alpha, beta): (A, A),
        (u, v): (DenseOperand<'a>, DenseOperand<'a>),
        c: Pointer<'a>,
        is_transposed: bool,
    ) -> Self {
        let (u, v) = if is_transposed { (v, u) } else { (u, v) };
        let [alpha, beta, one] = [alpha, beta, A::one()].map(|factor| Value::new(&factor));
        Self { alpha, u, v, beta, one, c }
    }

    /// Lanes for an entry, and 1 if each reads 16 bytes at a time, else 0.
    fn lanes(&self, dtype: DType) -> (usize, usize) {
        let (bytes, inner) = (dtype.bytes(), self.u.cols);
        let wide = [self.u, self.v].iter().all(|dense| in_words(bytes, &[dense.data.start], dense.steps));
        let elements = if wide { vector(bytes) } else { 1 };
        let most = (LINE / (elements * bytes)).min(LANES);
        (inner.div_ceil(elements).next_power_of_two().min(most), usize::from(wide))
    }

    /// True if rows of U and V are whole words, `least` bytes at least, as [`ALIGNED`] and quads take them.
    fn is_aligned(&self, dtype: DType, least: usize) -> bool {
        let bytes = dtype.bytes();
        let is_near = |dense: DenseOperand<'_>| u32::try_from(dense.steps.0.saturating_mul(bytes)).is_ok();
        let (_, wide) = self.lanes(dtype);
        wide == 1 && has_whole_words(dtype, self.u.cols, least) && is_near(self.u) && is_near(self.v)
    }
}

impl SddmmPlan {
    fn new(
        backend: &Device,
        p: RawEntries<'_>,
        sampling: Sampling,
        inner: usize,
        options: &PlanOptions,
    ) -> Result<Self> {
        let found = Inspection::new(backend, p, inner, options)?;
        let offered = offered(backend, p.row_of.compressed().is_some());
        let (algorithm, choice) = backend.choose("sddmm", options, offered, found.preferred(backend))?;
        let entry = match algorithm {
            SddmmAlgorithm::ChunkPerThread => "sddmm_chunk_per_thread",
            _ => "sddmm_lanes_per_entry",
        };
        let stores_rows = options.expected_calls > 1 && found.stores_rows(algorithm);
        let (offsets, rows) = match p.row_of {
            RowOf::Compressed(a) => (a.offsets, stores_rows.then(|| backend.major_indices(a)).transpose()?),
            RowOf::Coordinates(_) => (p.indices, None),
        };
        let index = Defines::default().index(p.indices.index_type());
        let kernel = backend.kernel_of(p.dtype, FILE, entry, index.clone().offset(offsets.index_type()))?;
        let aligned = found.takes_aligned(algorithm);
        let aligned = aligned.then(|| backend.kernel_of(p.dtype, ALIGNED, ALIGNED, index)).transpose()?;
        let quads = found.quads(backend, p, algorithm)?;
        let slice = found.slice(algorithm, p.dtype);
        Ok(Self { choice, algorithm, sampling, kernel, aligned, quads, rows, slice })
    }

    fn run(&self, backend: &Device, p: RawEntries<'_>, operands: SampledOperands<'_>) -> Result<()> {
        let SampledOperands { u, v, one, .. } = operands;
        let width = self.slice.unwrap_or(u.cols).max(1);
        let slice = |start: usize| start..u.cols.min(start + width);
        let first = slice(0);
        self.run_slice(
            backend,
            p,
            SampledOperands { u: u.columns(first.clone()), v: v.columns(first), ..operands },
        )?;
        for start in (width..u.cols).step_by(width) {
            let (u, v) = (u.columns(slice(start)), v.columns(slice(start)));
            self.run_slice(backend, p, SampledOperands { u, v, beta: one, ..operands })?;
        }
        Ok(())
    }

    fn run_slice(&self, backend: &Device, p: RawEntries<'_>, operands: SampledOperands<'_>) -> Result<()> {
        let entries = p.indices.len;
        let (offsets, row_idx) = match (p.row_of, &self.rows) {
            (RowOf::Compressed(_), Some(rows)) => (None, Some(rows)),
            (RowOf::Compressed(a), None) => (Some(a.offsets), None),
            (RowOf::Coordinates(rows), _) => (None, Some(rows)),
        };
        if let Some(quads) =
            self.quads.as_ref().filter(|quads| operands.is_aligned(p.dtype, quads.least_bytes()))
        {
            let launch = self.passed(quads.launch(backend, operands.u.cols), p, &operands);
            return launch.groups(quads.groups(), quads::GROUP);
        }
        if let (Some(kernel), Some(rows), true) = (&self.aligned, row_idx, operands.is_aligned(p.dtype, LINE))
        {
            let launch = backend.launch(kernel).size(entries).size(operands.u.cols).buffer(rows);
            let most = backend.caps().compute_units * ALIGNED_WARPS;
            return self
                .passed(launch.buffer(p.indices), p, &operands)
                .warps(entries.div_ceil(LANES).min(most));
        }
        let launch = backend.launch(&self.kernel).size(entries).size(p.shape.0).size(operands.u.cols);
        let is_on_cpu = self.algorithm == SddmmAlgorithm::ChunkPerThread;
        let launch = if is_on_cpu {
            launch
        } else {
            let (lanes, wide) = operands.lanes(p.dtype);
            launch.size(lanes).size(wide)
        };
        let launch = launch.buffer_or_null(offsets).buffer_or_null(row_idx).buffer(p.indices);
        let launch = self.passed(launch, p, &operands);
        let chunks = entries.div_ceil(CHUNK);
        if is_on_cpu { launch.items(chunks) } else { launch.warps(chunks) }
    }

    /// Adds the values and the operands after the arguments for the entries.
    fn passed<'a>(
        &self,
        launch: Launch<'a>,
        p: RawEntries<'a>,
        operands: &SampledOperands<'a>,
    ) -> Launch<'a> {
        let SampledOperands { alpha, u, v, beta, c, .. } = *operands;
        let values = (self.sampling == Sampling::Values).then_some(p.values);
        let launch = launch.buffer_or_null(values);
        launch.factor(alpha).dense(u).dense(v).factor(beta).view(c)
    }
}

macro_rules! sddmm {
    ([$($generics:tt)*], $matrix:ty, $raw:ident, $is_compressed:expr, $is_transposed:expr) => {
        impl<T: Scalar, $($generics)*> SddmmKernel<$matrix> for Device {
            type Plan = SddmmPlan;

            fn sddmm_algorithms(&self) -> &'static [Algorithm] {
                offered(self, $is_compressed)
            }

            fn plan_sddmm(
                &self,
                p: &$matrix,
                sampling: Sampling,
                inner: usize,
                options: &PlanOptions,
            ) -> Result<SddmmPlan> {
                SddmmPlan::new(self, $raw::from(p).into(), sampling, inner, options)
            }

            unsafe fn run_sddmm(
                &self,
                plan: &mut SddmmPlan,
                alpha: T::Acc,
                p: &$matrix,
                u: DenseView<'_, T, Self>,
                v: DenseView<'_, T, Self>,
                beta: T::Acc,
                c: ViewMut<'_, T>,
            ) -> Result<()> {
                let factors = (u.into(), v.into());
                let operands = SampledOperands::new((alpha, beta), factors, c.into(), $is_transposed);
                plan.run(self, $raw::from(p).into(), operands)
            }
        }
    };
}

sddmm!([A: Axis, I: Index, O: Index], Compressed<A, T, Device, I, O>, RawCompressed, true, !A::IS_ROW);
sddmm!([I: Index], Coo<T, Device, I>, RawCoo, false, false);
