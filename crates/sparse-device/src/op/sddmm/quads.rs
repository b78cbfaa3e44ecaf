//! Quads of neighbouring entries, by panels of columns whose rows of V fit the L1 cache of a compute unit.
//!
//! Entries are read once, a row of V per entry, one of U per quad. With panels, both come mostly from the L1 cache,
//! which has twice the bandwidth of L2. Source: Hong, Sukumaran-Rajam, Nisa, Singh, Sadayappan: Adaptive sparse tiling
//! for sparse matrix multiplication. PPoPP (2019).

use super::LINE;
use super::choice::ALIGNED_SLICE;
use crate::buffer::RawBuffer;
use crate::lanes::WORD_BYTES;
use crate::launch::Launch;
use crate::primitive::column_blocks::Cut;
use crate::primitive::prefix_sum::PrefixSum;
use crate::primitive::raw::RawCompressed;
use crate::{Buffer, Device, Kernel};
use sparse_core::error::checked_product;
use sparse_core::op::Op;
use sparse_core::{Backend, DType, Error, Result};

/// The file of the kernels.
pub(super) const FILE: &str = "sddmm_quads";

/// Entries of a quad: the kernels' macro `QUAD`.
const QUAD: usize = 4;

/// Work-items of a group.
pub(super) const GROUP: usize = 256;

/// Quads that a group computes at a time.
const ROUND: usize = GROUP / QUAD;

/// Quads of a group where there is one panel: few, so that groups that run at the same time share the L2 cache.
const CHUNK: usize = 512;

/// Bytes of the rows of V of a panel: `[usual, wide]`; wide panels are tried if rows have too few entries in a usual
/// one. Measured on an H200 with 2000 to 8000 rows of 300 to 3000 entries: 128 KiB take 1.05 to 1.23 of the time of 64
/// where rows have 4 entries or more in 64, and 0.92 where they have two.
const PANELS: [usize; 2] = [64 << 10, 128 << 10];

/// Twice the entries of a row in a panel from which on panels are chosen: quads are then mostly full.
const TWICE_ENTRIES: usize = 7;

/// The most columns of a panel per entry that a row has there. Measured on an H200 with 32 columns of V in f32: rows
/// with an entry in 27 columns take 0.93 of the time of one panel, with one in 87 columns 1.09.
const SPARSEST: usize = 40;

/// Average entries per row from which on quads with a single panel are chosen. Measured on an H200: 0.84 to 1.04 of the
/// time of the aligned kernel with 80 to 300 entries, 1.1 to 1.6 with 5 and 27.
const LONG_ROW: usize = 64;

/// The value types for which panels were measured; others do not choose them.
const TIMED: [DType; 2] = [DType::F32, DType::F64];

/// The most rows: a row index and a quad's number of entries share 32 bits.
const MOST_ROWS: usize = 1 << 30;

/// Lanes per entry for rows of V of `row_bytes` bytes; `None` if the kernels do not take such rows.
pub(super) fn team(row_bytes: usize) -> Option<usize> {
    let is_whole = row_bytes.is_multiple_of(WORD_BYTES);
    [8, 4, 2].into_iter().find(|lanes| is_whole && row_bytes >= lanes * WORD_BYTES)
}

/// The properties of a matrix that decide the choice of panels.
#[derive(Debug, Clone, Copy)]
struct Shape {
    rows: usize,
    cols: usize,
    nnz: usize,
    /// Bytes of a row of V that are multiplied at a time.
    row_bytes: usize,
}

impl Shape {
    /// The division into panels of `bytes` bytes of V.
    fn cut(self, bytes: usize) -> Cut {
        let width = (bytes / self.row_bytes.max(1)).clamp(1, self.cols.max(1));
        Cut { blocks: self.cols.div_ceil(width), width }
    }

    /// True if there are several panels, and no more (row, panel) segments than entries.
    fn can_have(self, cut: Cut) -> bool {
        cut.blocks > 1 && self.rows.saturating_mul(cut.blocks + 1) <= self.nnz
    }

    /// True if quads with one panel are chosen: rows are long, or fill quads while rows of V are too short for the
    /// other kernel to read them in words.
    fn has_one_panel(self) -> bool {
        self.row_bytes < LINE && self.nnz >= QUAD * self.rows || self.nnz >= LONG_ROW * self.rows
    }
}

/// True if rows with `entries` entries in `touched` panels of `width` columns have enough entries in each.
fn are_dense(entries: usize, touched: usize, width: usize) -> bool {
    touched > 0 && 2 * entries >= TWICE_ENTRIES * touched && entries * SPARSEST >= touched * width
}

/// The division into panels to choose for this matrix, one panel or several; `None` if another algorithm is better.
pub(super) fn choose_panels(backend: &Device, a: RawCompressed<'_>, inner: usize) -> Result<Option<Cut>> {
    let bytes = inner.saturating_mul(a.dtype.bytes());
    let takes = backend.has(FILE) && TIMED.contains(&a.dtype) && team(bytes).is_some();
    if !takes || !a.order.sorted || a.rows >= MOST_ROWS || a.nnz() == 0 {
        return Ok(None);
    }
    let shape = Shape { rows: a.rows, cols: a.cols, nnz: a.nnz(), row_bytes: bytes.min(ALIGNED_SLICE) };
    for cut in PANELS.map(|bytes| shape.cut(bytes)).into_iter().filter(|&cut| shape.can_have(cut)) {
        let touched = backend.touched_blocks(a, cut.width)?;
        if are_dense(a.mean_length() * touched.sampled, touched.blocks, cut.width) {
            return Ok(Some(cut));
        }
    }
    Ok(shape.has_one_panel().then_some(Cut { blocks: 1, width: a.cols }))
}

/// The quads of a matrix, and the kernel that multiplies for them.
#[derive(Debug)]
pub(super) struct Quads {
    kernel: Kernel,
    lanes: usize,
    count: usize,
    chunk: usize,
    columns: RawBuffer,
    rows: RawBuffer,
    firsts: RawBuffer,
}

impl Quads {
    /// The quads by the panels of `cut`, for rows of V that `lanes` lanes read.
    ///
    /// # Errors
    /// [`Error::Unsupported`] unless columns ascend in each row and there are fewer than [`MOST_ROWS`] rows.
    pub(super) fn new(backend: &Device, a: RawCompressed<'_>, lanes: usize, cut: Cut) -> Result<Self> {
        let refused =
            |reason| Err(Error::unsupported(format!("column_panels on {}", backend.caps().backend), reason));
        if !a.order.sorted {
            return refused("columns must ascend in each row: sort the matrix first".into());
        }
        if a.rows >= MOST_ROWS {
            return refused(format!("the matrix has {} rows, {MOST_ROWS} or more", a.rows));
        }
        let kernel = |entry| backend.kernel_of(a.dtype, FILE, entry, a.defines().set("TEAM", lanes));
        let splits = backend.split_rows(a, Op::None, cut)?;
        let segments = checked_product("rows x panels", a.rows, cut.blocks)?;
        let starts: Buffer<i64> = backend.allocate(segments + 1)?;
        let count = kernel("sddmm_quads_count")?;
        let launch = backend.launch(&count).size(a.rows).size(segments).buffer(&splits);
        launch.buffer(&starts).items(segments + 1)?;
        let count = PrefixSum::series(backend, segments + 1)?.starts_and_sum(backend, &starts)?;
        let index_bytes = a.indices.element_bytes;
        let columns = backend.allocate_raw(checked_product("quads x entries", count, QUAD)?, index_bytes)?;
        let rows = backend.allocate_raw(count, index_bytes)?;
        let firsts = backend.allocate_raw(count, a.offsets.element_bytes)?;
        let fill = kernel("sddmm_quads_fill")?;
        let launch = backend.launch(&fill).size(count).size(a.rows).size(segments).buffer(&splits);
        let launch = launch.buffer(a.indices).buffer(&starts).buffer(&columns).buffer(&rows);
        launch.buffer(&firsts).items(count)?;
        let groups = backend.caps().compute_units * groups_at_once(lanes);
        let chunk = chunk(count, groups, cut.blocks);
        Ok(Self { kernel: kernel("sddmm_quads")?, lanes, count, chunk, columns, rows, firsts })
    }

    /// Bytes on the device.
    pub(super) fn bytes(&self) -> usize {
        self.columns.bytes() + self.rows.bytes() + self.firsts.bytes()
    }

    /// Bytes of a row of V that the kernel can take.
    pub(super) fn least_bytes(&self) -> usize {
        self.lanes * WORD_BYTES
    }

    /// A launch of the product with its first arguments, up to those of the entries.
    pub(super) fn launch<'a>(&'a self, backend: &'a Device, inner: usize) -> Launch<'a> {
        let launch = backend.launch(&self.kernel).size(self.count).size(self.chunk).size(inner);
        launch.buffer(&self.columns).buffer(&self.rows).buffer(&self.firsts)
    }

    /// Groups of [`GROUP`] work-items of that launch.
    pub(super) fn groups(&self) -> usize {
        self.count.div_ceil(self.chunk)
    }
}

/// Groups that a compute unit runs at once: the kernels' macro `MIN_BLOCKS`.
fn groups_at_once(lanes: usize) -> usize {
    if lanes == 8 { 2 } else { 4 }
}

/// Quads per group: an even division, or at most [`CHUNK`] with one panel, where a group does not reuse the same rows
/// of V.
fn chunk(quads: usize, groups: usize, panels: usize) -> usize {
    let share = quads.div_ceil(groups.max(1)).next_multiple_of(ROUND).max(ROUND);
    if panels > 1 { share } else { share.min(CHUNK) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_v_have_as_many_lanes_as_words_up_to_eight() {
        assert_eq!(
            [16, 32, 48, 64, 112, 128, 4096].map(team),
            [None, Some(2), Some(2), Some(4), Some(4), Some(8), Some(8)]
        );
        assert_eq!([0, 8, 130].map(team), [None; 3]);
    }

    #[test]
    fn panels_fill_the_first_cache_and_no_matrix_has_more_segments_than_entries() {
        let shape = Shape { rows: 2000, cols: 100_000, nnz: 6_000_000, row_bytes: 128 };
        let Cut { blocks, width } = shape.cut(64 << 10);
        assert_eq!((blocks, width), (196, 512));
        assert!(shape.can_have(shape.cut(64 << 10)));
        let band = Shape { rows: 300_000, cols: 300_000, nnz: 12_300_000, row_bytes: 128 };
        assert!(!band.can_have(band.cut(64 << 10)));
        let narrow = Shape { cols: 3, ..shape };
        assert_eq!(narrow.cut(64 << 10).width, 3);
        assert!(!narrow.can_have(narrow.cut(64 << 10)));
        assert_eq!(Shape { cols: 0, ..shape }.cut(64 << 10).blocks, 0);
    }

    #[test]
    fn rows_with_a_few_entries_in_a_panel_of_few_columns_are_dense() {
        // Rows of 3000 entries in 10⁵ columns, with V of 128, 512 and 1024 bytes a row; of 300 in 26 000 columns.
        assert!(are_dense(3000, 196, 512));
        assert!(are_dense(3000, 782, 128));
        assert!(!are_dense(3000, 1563, 64));
        assert!(!are_dense(300, 51, 512));
        assert!(!are_dense(300, 0, 512), "all sampled rows are empty");
    }

    #[test]
    fn one_panel_is_for_long_rows_and_short_ones_of_v() {
        let stencil = Shape { rows: 1000, cols: 1000, nnz: 27_000, row_bytes: 128 };
        assert!(!stencil.has_one_panel());
        assert!(Shape { row_bytes: 32, ..stencil }.has_one_panel());
        assert!(!Shape { row_bytes: 32, nnz: 3000, ..stencil }.has_one_panel(), "3 entries a row");
        assert!(Shape { nnz: 100_000, ..stencil }.has_one_panel());
    }

    #[test]
    fn groups_share_the_quads_of_panels_and_take_few_of_one() {
        assert_eq!(chunk(1_000_000, 264, 16), 3840);
        assert_eq!(chunk(1_000_000, 264, 1), 512);
        assert_eq!(chunk(1000, 264, 1), 64);
        assert_eq!(chunk(0, 264, 1), 64);
    }
}
