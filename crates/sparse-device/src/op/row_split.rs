//! `C ← alpha·A·B + beta·C` for compressed rows in chunks: chunks that are whole rows write C, the others leave sums
//! that a second kernel adds in their order.

use super::chunks::Chunks;
use crate::launch::{LANES, in_words, steps, vector};
use crate::program::Defines;
use crate::{Buffer, Device, Driver};
use sparse_core::error::checked_product;
use sparse_core::op::Op;
use sparse_core::{Axis, Compressed, DenseView, DenseViewMut, Index, Matrix, Result, Scalar};
use std::sync::Arc;

/// The file of the kernels.
const FILE: &str = "csr_spmm_split";

/// The plan: the chunks, a kernel for operands of either alignment, and room for the sums of chunks.
#[derive(Debug)]
pub struct RowSplit<D: Driver, T: Scalar> {
    narrow: Way<D>,
    wide: Way<D>,
    sums: Arc<D::Kernel>,
    chunks: Chunks<D>,
    columns: usize,
    partial: Buffer<D, T::Acc>,
}

/// A kernel, the columns that a warp takes with it, and the chunks that go side by side.
#[derive(Debug)]
struct Way<D: Driver> {
    kernel: Arc<D::Kernel>,
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

impl<D: Driver> Way<D> {
    /// With 16 bytes of columns a lane if it is `wide`, else with one column.
    fn new<T: Scalar>(backend: &Device<D>, wide: bool, columns: usize, defines: &Defines) -> Result<Self> {
        let vector = if wide { vector::<T>() } else { 1 };
        let lanes = columns.div_ceil(vector).next_power_of_two().clamp(4, LANES);
        let packs = if wide && lanes == LANES { 2 } else { 1 };
        let defines = defines.clone().set("WIDE", u8::from(wide)).set("LANES", lanes);
        let kernel = backend.kernel_of::<T>(FILE, "csr_spmm_row_split", defines)?;
        Ok(Self { kernel, columns: lanes * vector * packs, together: LANES / lanes })
    }
}

impl<D: Driver, T: Scalar> RowSplit<D, T> {
    pub(super) fn new<A: Axis, I: Index, O: Index>(
        backend: &Device<D>,
        a: &Compressed<A, T, Device<D>, I, O>,
        op: Op,
        columns: usize,
    ) -> Result<Self> {
        let defines = Defines::default().index::<I>().offset::<O>().conj::<T>(op);
        let chunks = Chunks::new::<I, O>(backend, a.offsets(), a.nnz())?;
        let any = defines.clone().set("WIDE", 0).set("LANES", LANES);
        let slice = slice_columns::<T>(backend.driver().cache_bytes(), a.nnz(), op.shape(a), columns);
        Ok(Self {
            narrow: Way::new::<T>(backend, false, slice, &defines)?,
            wide: Way::new::<T>(backend, true, slice, &defines)?,
            sums: backend.kernel_of::<T>(FILE, "csr_spmm_row_split_sums", any)?,
            partial: backend.allocate(checked_product("chunks x columns", chunks.splits, columns)?)?,
            chunks,
            columns,
        })
    }

    pub(super) fn bytes(&self) -> usize {
        self.chunks.bytes() + self.partial.bytes()
    }

    pub(super) fn run<A: Axis, I: Index, O: Index>(
        &self,
        backend: &Device<D>,
        (alpha, beta): (T::Acc, T::Acc),
        a: &Compressed<A, T, Device<D>, I, O>,
        b: DenseView<'_, T, Device<D>>,
        mut c: DenseViewMut<'_, T, Device<D>>,
    ) -> Result<()> {
        let Self { chunks, columns, .. } = self;
        let b_words = in_words::<T>(&[b.data().start], steps(b.order(), b.leading_dimension()));
        let c_words = in_words::<T>(&[c.data_mut().start], steps(c.order(), c.leading_dimension()));
        let wide = columns.is_multiple_of(vector::<T>()) && b_words && c_words;
        let way = if wide { &self.wide } else { &self.narrow };
        let launch = backend.launch(&way.kernel).size(chunks.count).buffer(&chunks.begins);
        let launch = launch.buffer(&chunks.lengths).buffer(&chunks.rows).buffer(&chunks.slots);
        let launch = launch.size(*columns).buffer(a.indices()).buffer(a.values());
        let launch = launch.value(alpha).dense(b).value(beta).dense_mut(c.reborrow()).buffer(&self.partial);
        launch.warps(chunks.count.div_ceil(way.together) * columns.div_ceil(way.columns))?;
        let launch = backend.launch(&self.sums).size(chunks.splits).buffer(&chunks.split_rows);
        let launch = launch.buffer(&chunks.split_starts).size(*columns).value(alpha).value(beta);
        launch.dense_mut(c).buffer(&self.partial).items(chunks.splits * columns)
    }
}
