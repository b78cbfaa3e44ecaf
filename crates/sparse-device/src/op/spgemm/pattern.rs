//! The pattern of C.

use super::row_bins::{Bin, BinKind, Division, FILE, RowBins, RowSizes, groups_of};
use super::{Factors, SpgemmAlgorithm, Teams, defines};
use crate::buffer::RawBuffer;
use crate::index_type::IndexType;
use crate::lanes::LANES;
use crate::primitive::prefix_sum::PrefixSum;
use crate::primitive::raw::RawCompressed;
use crate::{Buffer, Device, Kernel};
use sparse_core::{Backend, Error, Result};

/// Products of a row for each lane of the team that finds it in local memory: the kernels' macro `EACH`.
const EACH: usize = 8;

/// Columns of a window for each lane of its team: 32 for each word of the kernels' macro `WORDS`.
const WINDOW_COLUMNS: usize = 32 * 31;

/// The part of the device's memory that columns may take, at most, before they are moved together.
const LOOSE_PART: u64 = 16;

/// Words of the bitmap of a work-group, at most: a window of 32 million columns.
const MOST_WORDS: usize = 1 << 20;

/// The offsets and columns of C, and the lengths of its rows.
pub(super) struct FoundPattern {
    pub(super) offsets: RawBuffer,
    pub(super) indices: RawBuffer,
    pub(super) lengths: RowSizes,
}

/// The products of each row of C.
pub(super) struct Products {
    pub(super) counts: RowSizes,
    /// The most entries that each row can have.
    pub(super) bounds: RowSizes,
    /// The first column of each row's products; `spans` has the number of columns from there to the last.
    origins: Buffer<i64>,
    spans: Buffer<i64>,
}

impl Products {
    /// Counts the products. Looks for the columns of rows with more than `few` of them; others have all columns.
    pub(super) fn new(backend: &Device, factors: Factors<'_>, few: usize) -> Result<Self> {
        let Factors { left, right } = factors;
        let (counts, bounds) = (backend.zeros::<i64>(left.rows + 1)?, backend.zeros::<i64>(left.rows + 1)?);
        let (origins, spans) = (backend.allocate::<i64>(left.rows)?, backend.allocate::<i64>(left.rows)?);
        let lanes = Teams::new(backend, left.mean_length()).smallest;
        let count = backend.kernel(FILE, "spgemm_pattern_products", factors.defines(backend))?;
        let launch = backend.launch(&count).size(left.rows).size(right.cols).size(lanes);
        let launch = launch.size(usize::from(right.order.sorted)).size(few);
        let launch = launch.buffer(left.offsets).buffer(left.indices);
        let launch = launch.buffer(right.offsets).buffer(right.indices).buffer(&counts).buffer(&bounds);
        launch.buffer(&origins).buffer(&spans).teams(left.rows, lanes)?;
        Ok(Self { counts: row_sizes(backend, counts)?, bounds: row_sizes(backend, bounds)?, origins, spans })
    }
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
    Window,
    Hash,
    Bitmap,
}

impl Method {
    fn entry(self) -> &'static str {
        match self {
            Self::Sort => "spgemm_pattern_sort",
            Self::Window => "spgemm_pattern_window",
            Self::Hash => "spgemm_pattern_hash",
            Self::Bitmap => "spgemm_pattern_bitmap",
        }
    }

    /// The lanes of a team that has a row, at least.
    fn least_lanes(self) -> usize {
        if self == Self::Sort { 1 } else { LANES }
    }
}

impl SpgemmAlgorithm {
    /// The method for the rows of a bin. A table has columns below 2³¹.
    fn method(self, kind: BinKind, cols: usize) -> Method {
        let table = if i32::try_from(cols).is_ok() { Method::Hash } else { Method::Bitmap };
        match (self, kind) {
            (Self::Bitmap, _) | (_, BinKind::Long) => Method::Bitmap,
            (_, BinKind::WarpWindow | BinKind::GroupWindow) => Method::Window,
            (Self::Hash, _) | (_, BinKind::Group) => table,
            (_, BinKind::Short | BinKind::Warp) => Method::Sort,
        }
    }
}

/// Memory for the columns of rows, each from its start on.
#[derive(Clone, Copy)]
struct Columns<'a> {
    starts: &'a Buffer<i64>,
    columns: &'a RawBuffer,
}

/// The kernel of a bin, and the workspace of bitmaps with the words of each work-group.
struct BinSearch {
    bin: Bin,
    method: Method,
    kernel: Kernel,
    bitmaps: Option<(RawBuffer, usize)>,
}

/// The search for the pattern of C, by bins of rows of like numbers of products.
pub(super) struct PatternSearch<'a> {
    backend: &'a Device,
    factors: Factors<'a>,
    products: Products,
    bins: RowBins,
    searches: Vec<BinSearch>,
}

impl<'a> PatternSearch<'a> {
    pub(super) fn new(backend: &'a Device, factors: Factors<'a>, algorithm: SpgemmAlgorithm) -> Result<Self> {
        let only_windows = algorithm == SpgemmAlgorithm::Window;
        let products = Products::new(backend, factors, if only_windows { 0 } else { EACH * LANES })?;
        let products_of_row = products.counts.total.div_ceil(factors.left.rows.max(1));
        let teams = Teams::new(backend, products_of_row.div_ceil(EACH));
        let has_windows = matches!(algorithm, SpgemmAlgorithm::ByRow | SpgemmAlgorithm::Window);
        let division = Division {
            teams,
            each: EACH,
            spans: has_windows.then_some((&products.spans, WINDOW_COLUMNS)),
            only_windows,
        };
        let bins = RowBins::new(backend, factors, &products.counts, division)?;
        let cols = factors.right.cols;
        let search = |bin: &Bin| {
            let method = algorithm.method(bin.kind, cols);
            let kernel = backend.kernel(FILE, method.entry(), factors.defines(backend))?;
            let mut bin = bin.clone();
            let bitmaps = if method == Method::Bitmap {
                bin.lanes = teams.largest;
                let words = cols.div_ceil(32).min(MOST_WORDS);
                let groups = groups_of(backend, &bin, words * size_of::<u32>());
                Some((backend.zeros_raw(groups * words, size_of::<u32>())?, words))
            } else {
                bin.lanes = bin.lanes.max(method.least_lanes());
                None
            };
            Ok(BinSearch { bin, method, kernel, bitmaps })
        };
        let searches = bins.iter().map(search).collect::<Result<_>>()?;
        Ok(Self { backend, factors, products, bins, searches })
    }

    /// Finds the pattern, with offsets of this type.
    ///
    /// # Errors
    /// [`IndexOverflow`](sparse_core::Error::IndexOverflow) if they do not count the entries.
    pub(super) fn find(&self, offset: IndexType) -> Result<FoundPattern> {
        let (backend, rows) = (self.backend, self.factors.left.rows);
        let counts = backend.zeros::<i64>(rows + 1)?;
        let loose = self.loose_columns()?;
        let loose = loose.as_ref().map(|columns| Columns { starts: &self.products.bounds.starts, columns });
        self.run(loose, Some(&counts))?;
        let lengths = row_sizes(backend, counts)?;
        offset.check("nnz", lengths.total)?;
        let indices = backend.allocate_raw(lengths.total, self.factors.right.indices.element_bytes)?;
        match loose {
            Some(found) => self.compact(found, &lengths, &indices)?,
            None => self.run(Some(Columns { starts: &lengths.starts, columns: &indices }), None)?,
        }
        let offsets = self.offsets(&lengths.starts, offset)?;
        Ok(FoundPattern { offsets, indices, lengths })
    }

    /// Memory for as many columns as rows can have, unless that is much or not there.
    fn loose_columns(&self) -> Result<Option<RawBuffer>> {
        let (count, index_bytes) = (self.products.bounds.total, self.factors.right.indices.element_bytes);
        let most = self.backend.caps().memory_bytes.map_or(u64::MAX, |bytes| bytes / LOOSE_PART);
        if (count as u64).saturating_mul(index_bytes as u64) > most {
            return Ok(None);
        }
        match self.backend.allocate_raw(count, index_bytes) {
            Err(Error::OutOfMemory { .. }) => Ok(None),
            columns => columns.map(Some),
        }
    }

    /// Moves the columns of rows together.
    fn compact(&self, found: Columns<'_>, lengths: &RowSizes, indices: &RawBuffer) -> Result<()> {
        let (backend, rows) = (self.backend, self.factors.left.rows);
        let lanes = Teams::new(backend, lengths.total.div_ceil(rows.max(1) * EACH)).smallest;
        let kernel = backend.kernel(FILE, "spgemm_pattern_compact", self.factors.defines(backend))?;
        let launch = backend.launch(&kernel).size(rows).size(lanes).buffer(found.starts);
        launch.buffer(&lengths.starts).buffer(found.columns).buffer(indices).teams(rows, lanes)
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

    /// Finds the columns of all rows: writes them, counts them, or both.
    fn run(&self, found: Option<Columns<'_>>, counts: Option<&RawBuffer>) -> Result<()> {
        let Factors { left, right } = self.factors;
        let (starts, columns) = found.map(|found| (&**found.starts, found.columns)).unzip();
        for BinSearch { bin, method, kernel, bitmaps } in &self.searches {
            let mut launch = self.backend.launch(kernel).bin(bin);
            if let Some((_, words)) = bitmaps {
                launch = launch.size(right.cols).size(*words);
            }
            let launch = launch.order(&self.bins).buffer(left.offsets).buffer(left.indices);
            let launch = launch.buffer(right.offsets).buffer(right.indices).buffer_or_null(starts);
            let launch = launch.buffer_or_null(counts).buffer_or_null(columns);
            let launch = match method {
                Method::Window => launch.buffer(&self.products.origins).buffer(&self.products.spans),
                Method::Hash => launch.buffer(&self.products.counts.starts),
                Method::Sort | Method::Bitmap => launch,
            };
            match bitmaps {
                Some((bitmaps, words)) => launch.buffer(bitmaps).groups(bitmaps.len / words, bin.lanes)?,
                None => launch.teams(bin.rows.len(), bin.lanes)?,
            }
        }
        Ok(())
    }
}
