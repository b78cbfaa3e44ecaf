//! The pattern of C: counted, then written.

use super::row_bins::{Bin, FILE, RowBins, RowSizes, groups_of};
use super::{Factors, SpgemmAlgorithm, Teams, defines};
use crate::buffer::RawBuffer;
use crate::index_type::IndexType;
use crate::lanes::LANES;
use crate::primitive::prefix_sum::PrefixSum;
use crate::primitive::raw::RawCompressed;
use crate::{Buffer, Device, Kernel};
use sparse_core::{Backend, Result};

/// Products of a row for each lane of the team that finds it in local memory: the kernels' macro `EACH`.
const EACH: usize = 8;

/// Words of the bitmap of a work-group, at most: a window of 32 million columns.
const MOST_WORDS: usize = 1 << 20;

/// The offsets and columns of C, and the lengths of its rows.
pub(super) struct FoundPattern {
    pub(super) offsets: RawBuffer,
    pub(super) indices: RawBuffer,
    pub(super) lengths: RowSizes,
}

/// The products of each row of C, and the most entries that it can have.
pub(super) fn product_counts(backend: &Device, factors: Factors<'_>) -> Result<(RowSizes, RowSizes)> {
    let Factors { left, right } = factors;
    let (products, bounds) = (backend.zeros::<i64>(left.rows + 1)?, backend.zeros::<i64>(left.rows + 1)?);
    let count = backend.kernel(FILE, "spgemm_pattern_products", factors.defines(backend))?;
    let launch = backend.launch(&count).size(left.rows).size(right.cols).size(LANES);
    let launch = launch.buffer(left.offsets).buffer(left.indices).buffer(right.offsets);
    launch.buffer(&products).buffer(&bounds).warps(left.rows)?;
    Ok((row_sizes(backend, products)?, row_sizes(backend, bounds)?))
}

/// The sizes that these counts, followed by a zero, are.
fn row_sizes(backend: &Device, counts: Buffer<i64>) -> Result<RowSizes> {
    let total = PrefixSum::series(backend, counts.len)?.starts_and_sum(backend, &counts)?;
    Ok(RowSizes { starts: counts, total })
}

/// The sizes of the rows of a matrix.
pub(super) fn row_sizes_of(backend: &Device, matrix: RawCompressed<'_>) -> Result<RowSizes> {
    let starts = backend.allocate::<i64>(matrix.rows + 1)?;
    let widen = backend.kernel(FILE, "spgemm_pattern_starts", defines(backend, matrix))?;
    let launch = backend.launch(&widen).size(starts.len).buffer(matrix.offsets);
    launch.buffer(&starts).items(starts.len)?;
    Ok(RowSizes { starts, total: matrix.indices.len })
}

/// The kernel that finds the columns of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Method {
    Sort,
    Hash,
    Bitmap,
}

impl Method {
    fn entry(self) -> &'static str {
        match self {
            Self::Sort => "spgemm_pattern_sort",
            Self::Hash => "spgemm_pattern_hash",
            Self::Bitmap => "spgemm_pattern_bitmap",
        }
    }
}

impl SpgemmAlgorithm {
    /// The method for the rows of a bin. A table has columns below 2³¹.
    fn method(self, bin: &Bin, cols: usize) -> Method {
        let table = if i32::try_from(cols).is_ok() { Method::Hash } else { Method::Sort };
        match self {
            _ if bin.is_long => Method::Bitmap,
            Self::ByRow if bin.lanes <= LANES => Method::Sort,
            Self::Sort => Method::Sort,
            Self::ByRow | Self::Hash => table,
            Self::Bitmap => Method::Bitmap,
        }
    }
}

/// The kernel of a bin, and the workspace of bitmaps with the words of each work-group.
struct BinSearch {
    bin: Bin,
    kernel: Kernel,
    bitmaps: Option<(RawBuffer, usize)>,
}

/// The search for the pattern of C, by bins of rows of like numbers of products.
pub(super) struct PatternSearch<'a> {
    backend: &'a Device,
    factors: Factors<'a>,
    bins: RowBins,
    searches: Vec<BinSearch>,
}

impl<'a> PatternSearch<'a> {
    pub(super) fn new(backend: &'a Device, factors: Factors<'a>, algorithm: SpgemmAlgorithm) -> Result<Self> {
        let (products, _) = product_counts(backend, factors)?;
        let teams = Teams::new(backend, factors.right.mean_length());
        let bins = RowBins::new(backend, factors, &products, (&teams, EACH))?;
        let cols = factors.right.cols;
        let search = |bin: &Bin| {
            let method = algorithm.method(bin, cols);
            let kernel = backend.kernel(FILE, method.entry(), factors.defines(backend))?;
            let mut bin = bin.clone();
            let bitmaps = if method == Method::Bitmap {
                bin.lanes = teams.largest();
                let words = cols.div_ceil(32).min(MOST_WORDS);
                let groups = groups_of(backend, &bin, words * size_of::<u32>());
                Some((backend.zeros_raw(groups * words, size_of::<u32>())?, words))
            } else {
                None
            };
            Ok(BinSearch { bin, kernel, bitmaps })
        };
        let searches = bins.iter().map(search).collect::<Result<_>>()?;
        Ok(Self { backend, factors, bins, searches })
    }

    /// Finds the pattern, with offsets of this type.
    ///
    /// # Errors
    /// [`IndexOverflow`](sparse_core::Error::IndexOverflow) if they do not count the entries.
    pub(super) fn find(&self, offset: IndexType) -> Result<FoundPattern> {
        let (backend, rows) = (self.backend, self.factors.left.rows);
        let counts = backend.zeros::<i64>(rows + 1)?;
        self.run(None, Some(&counts), None)?;
        let lengths = row_sizes(backend, counts)?;
        offset.check("nnz", lengths.total)?;
        let indices = backend.allocate_raw(lengths.total, self.factors.right.indices.element_bytes)?;
        self.run(Some(&lengths.starts), None, Some(&indices))?;
        let offsets = self.offsets(&lengths.starts, offset)?;
        Ok(FoundPattern { offsets, indices, lengths })
    }

    /// The starts of rows as offsets of this type, which counts them.
    fn offsets(&self, starts: &RawBuffer, offset: IndexType) -> Result<RawBuffer> {
        let offsets = self.backend.allocate_raw(starts.len, offset.bytes())?;
        let defines = self.factors.defines(self.backend);
        let kernel = self.backend.kernel(FILE, "spgemm_pattern_offsets", defines)?;
        let launch = self.backend.launch(&kernel).size(starts.len).buffer(starts);
        launch.buffer(&offsets).items(starts.len)?;
        Ok(offsets)
    }

    /// Counts the columns of all rows, or writes them from `starts` on.
    fn run(
        &self,
        starts: Option<&RawBuffer>,
        counts: Option<&RawBuffer>,
        columns: Option<&RawBuffer>,
    ) -> Result<()> {
        let Factors { left, right } = self.factors;
        for BinSearch { bin, kernel, bitmaps } in &self.searches {
            let mut launch = self.backend.launch(kernel).bin(bin);
            if let Some((_, words)) = bitmaps {
                launch = launch.size(right.cols).size(*words);
            }
            let launch = launch.order(&self.bins).buffer(left.offsets).buffer(left.indices);
            let launch = launch.buffer(right.offsets).buffer(right.indices).buffer_or_null(starts);
            let launch = launch.buffer_or_null(counts).buffer_or_null(columns);
            match bitmaps {
                Some((bitmaps, words)) => launch.buffer(bitmaps).groups(bitmaps.len / words, bin.lanes)?,
                None => launch.teams(bin.rows.len(), bin.lanes)?,
            }
        }
        Ok(())
    }
}
