//! `C ← alpha·A·B + beta·C` for compressed rows in chunks: chunks that are whole rows write C, the others leave sums
//! that a second kernel adds in their order.

use super::chunks::Chunks;
use crate::launch::{LANES, in_words, steps, vector};
use crate::program::Defines;
use crate::{Buffer, Device, Kernel};
use sparse_core::error::checked_product;
use sparse_core::op::Op;
use sparse_core::space::{View as _, ViewMut as _};
use sparse_core::{Axis, Compressed, DenseView, DenseViewMut, Index, Matrix, Order, Result, Scalar, Space};
use std::ops::Range;

/// The file of the kernels.
const FILE: &str = "csr_spmm_split";

/// The plan: the chunks, a kernel for operands of either alignment, and room for the sums of chunks.
#[derive(Debug)]
pub struct RowSplit<T: Scalar> {
    narrow: Way,
    wide: Way,
    sums: Kernel,
    chunks: Chunks,
    columns: usize,
    partial: Buffer<T::Acc>,
    packed: Option<Packed<T>>,
}

/// A slice of B in memory of its own.
#[derive(Debug)]
struct Packed<T: Scalar> {
    kernel: Kernel,
    columns: usize,
    slice: Buffer<T>,
}

/// What C is multiplied with.
type Factors<T> = (<T as Scalar>::Acc, <T as Scalar>::Acc);

/// A kernel, the columns that a warp takes with it, and the chunks that go side by side.
#[derive(Debug)]
struct Way {
    kernel: Kernel,
    columns: usize,
    together: usize,
}

/// The bytes of a row of B that a slice has: as many as two steps of a warp, where rows are so short that there is
/// little else to wait for; otherwise fewer, so that more of the rows of B stay in the cache; and the fewest that are
/// still whole lines where B is large and much used.
const SLICES: [usize; 3] = [1024, 256, 128];

/// Entries a row, in the mean, up to which rows count as short.
const SHORT: usize = 8;

/// How often the rows of B are used, in the mean, from which on the cache is worth more than longer reads.
const REUSES: usize = 32;

/// Bits of the classes of chunk lengths: where chunks share a warp, whose longest they wait for, and where each has a warp of
/// its own. Measured on an H100 over 58 matrices of unlike rows, beside the exact order of lengths: 0.987 × with K = 32 (1 bit;
/// 0 bits 0.978 ×, but 1.11 × at worst), 0.947 × with K = 256 (0 bits, 1.04 × at worst and 0.61 × at best, where rows that
/// are neighbours read the same rows of B).
const SHARED_CLASS_BITS: u32 = 1;
const WARP_CLASS_BITS: u32 = 0;

/// Bytes of B from which on its slices are copied before they are used: a device finds its way in so much memory slowly
/// (the reach of its translation buffers), and a copy costs little beside what rows are used for.
const FAR: usize = 1 << 30;

/// Whether slices of B, of this shape, are better copied where A has `nnz` entries.
pub(super) fn is_far<T: Scalar>(nnz: usize, (b_rows, columns): (usize, usize)) -> bool {
    let bytes = b_rows.saturating_mul(columns).saturating_mul(size_of::<T>());
    bytes >= FAR && nnz >= REUSES * b_rows && columns > SLICES[1] / size_of::<T>()
}

/// Columns that are taken at a time.
fn slice_columns<T: Scalar>(
    cache_bytes: usize,
    nnz: usize,
    (rows, b_rows): (usize, usize),
    columns: usize,
) -> usize {
    let [long, usual, short] = SLICES.map(|bytes| bytes / size_of::<T>());
    let slice = if nnz < SHORT * rows && columns >= long {
        long
    } else if b_rows * SLICES[1] > cache_bytes && nnz >= REUSES * b_rows {
        short
    } else {
        usual
    };
    slice.min(columns)
}

impl Way {
    /// With 16 bytes of columns a lane if it is `wide`, else with one column.
    fn new<T: Scalar>(backend: &Device, wide: bool, columns: usize, defines: &Defines) -> Result<Self> {
        let vector = if wide { vector::<T>() } else { 1 };
        let lanes = columns.div_ceil(vector).next_power_of_two().clamp(4, LANES);
        let packs = if wide && lanes == LANES { 2 } else { 1 };
        let defines = defines.clone().set("WIDE", u8::from(wide)).set("LANES", lanes);
        let kernel = backend.kernel_of::<T>(FILE, "csr_spmm_row_split", defines)?;
        Ok(Self { kernel, columns: lanes * vector * packs, together: LANES / lanes })
    }
}

impl<T: Scalar> RowSplit<T> {
    pub(super) fn new<A: Axis, I: Index, O: Index>(
        backend: &Device,
        a: &Compressed<A, T, Device, I, O>,
        op: Op,
        columns: usize,
        is_packed: bool,
    ) -> Result<Self> {
        let defines = Defines::default().index::<I>().offset::<O>().conj::<T>(op);
        let (nnz, (_, b_rows)) = (a.nnz(), op.shape(a));
        let slice = slice_columns::<T>(backend.properties().cache_bytes, nnz, op.shape(a), columns).max(1);
        let wide = Way::new::<T>(backend, true, slice, &defines)?;
        let class_bits = if wide.together > 1 { SHARED_CLASS_BITS } else { WARP_CLASS_BITS };
        let chunks = Chunks::new::<I, O>(backend, a.offsets(), nnz, columns.div_ceil(slice), class_bits)?;
        let kernel = |entry| {
            let any = defines.clone().set("WIDE", 0).set("LANES", LANES);
            backend.kernel_of::<T>(FILE, entry, any)
        };
        let packed = match is_packed {
            true => Some(Packed {
                kernel: kernel("csr_spmm_pack")?,
                columns: slice,
                slice: backend.allocate(checked_product("rows of B x columns", b_rows, slice)?)?,
            }),
            false => None,
        };
        Ok(Self {
            narrow: Way::new::<T>(backend, false, slice, &defines)?,
            wide,
            sums: kernel("csr_spmm_row_split_sums")?,
            partial: backend.allocate(checked_product("chunks x columns", chunks.splits, columns)?)?,
            chunks,
            columns,
            packed,
        })
    }

    pub(super) fn bytes(&self) -> usize {
        let packed = self.packed.as_ref().map_or(0, |packed| packed.slice.bytes());
        self.chunks.bytes() + self.partial.bytes() + packed
    }

    pub(super) fn run<A: Axis, I: Index, O: Index>(
        &self,
        backend: &Device,
        factors: Factors<T>,
        a: &Compressed<A, T, Device, I, O>,
        b: DenseView<'_, T, Device>,
        mut c: DenseViewMut<'_, T, Device>,
    ) -> Result<()> {
        let Some(packed) = &self.packed else { return self.multiply(backend, factors, a, b, c) };
        for first in (0..self.columns).step_by(packed.columns) {
            let columns = first..self.columns.min(first + packed.columns);
            let slice = packed.fill(backend, columns_of(b, columns.clone())?)?;
            self.multiply(backend, factors, a, slice, columns_of_mut(c.reborrow(), columns)?)?;
        }
        Ok(())
    }

    /// The product for the columns of `b` and `c`.
    fn multiply<A: Axis, I: Index, O: Index>(
        &self,
        backend: &Device,
        (alpha, beta): Factors<T>,
        a: &Compressed<A, T, Device, I, O>,
        b: DenseView<'_, T, Device>,
        mut c: DenseViewMut<'_, T, Device>,
    ) -> Result<()> {
        let (chunks, columns) = (&self.chunks, c.cols());
        let b_words = in_words::<T>(&[b.data().start], steps(b.order(), b.leading_dimension()));
        let c_words = in_words::<T>(&[c.data_mut().start], steps(c.order(), c.leading_dimension()));
        let wide = columns.is_multiple_of(vector::<T>()) && b_words && c_words;
        let way = if wide { &self.wide } else { &self.narrow };
        let launch = backend.launch(&way.kernel).size(chunks.count).buffer(&chunks.begins);
        let launch = launch.buffer(&chunks.lengths).buffer(&chunks.rows).buffer(&chunks.slots);
        let launch = launch.size(columns).buffer(a.indices()).buffer(a.values());
        let launch = launch.value(alpha).dense(b).value(beta).dense_mut(c.reborrow()).buffer(&self.partial);
        launch.warps(chunks.count.div_ceil(way.together) * columns.div_ceil(way.columns))?;
        let launch = backend.launch(&self.sums).size(chunks.splits).buffer(&chunks.split_rows);
        let launch = launch.buffer(&chunks.split_starts).size(columns).value(alpha).value(beta);
        launch.dense_mut(c).buffer(&self.partial).early().items(chunks.splits * columns)
    }
}

impl<T: Scalar> Packed<T> {
    /// Some columns of B, row by row.
    fn fill(&self, backend: &Device, b: DenseView<'_, T, Device>) -> Result<DenseView<'_, T, Device>> {
        let (rows, columns) = (b.rows(), b.cols());
        let launch = backend.launch(&self.kernel).size(rows).size(columns).dense(b).buffer(&self.slice);
        launch.warps(rows)?;
        DenseView::new(Device::view(&self.slice), rows, columns, columns, Order::RowMajor)
    }
}

/// Where the elements of some columns stand in a dense operand.
fn place(order: Order, leading_dimension: usize, columns: &Range<usize>, len: usize) -> Range<usize> {
    match order {
        Order::RowMajor => columns.start..len,
        Order::ColMajor => columns.start * leading_dimension..len,
    }
}

fn columns_of<T: Scalar>(
    b: DenseView<'_, T, Device>,
    columns: Range<usize>,
) -> Result<DenseView<'_, T, Device>> {
    let (order, ld, data) = (b.order(), b.leading_dimension(), b.data());
    let place = place(order, ld, &columns, data.len());
    DenseView::new(Device::slice(data, place), b.rows(), columns.len(), ld, order)
}

fn columns_of_mut<T: Scalar>(
    c: DenseViewMut<'_, T, Device>,
    columns: Range<usize>,
) -> Result<DenseViewMut<'_, T, Device>> {
    let (rows, order, ld, data) = (c.rows(), c.order(), c.leading_dimension(), c.into_data());
    let place = place(order, ld, &columns, data.len());
    DenseViewMut::new(Device::slice_mut(data, place), rows, columns.len(), ld, order)
}
