//! Entries sorted by coordinate, by a radix sort on the device.

use crate::buffer::RawBuffer;
use crate::op::convert::{Rearrangement, Source, ToCompressed, ToCoo};
use crate::op::scan::Scan;
use crate::op::to_dense::Places;
use crate::primitive::positions::Permutation;
use crate::primitive::radix_sort::{Sorted, sort_keys};
use crate::primitive::raw::{RawCompressed, RawCoo};
use crate::primitive::row_groups::RowGroups;
use crate::program::{Defines, IndexType};
use crate::{Buffer, Device, Kernel};
use sparse_core::format::IndexOrder;
use sparse_core::op::Duplicates;
use sparse_core::{Algorithm, Axis, Backend, Choice, Compressed, Coo, DType, Index, Result, Scalar};
use std::ops::Range;

/// The files of the kernels: of the coordinates, and of the values.
const FILE: &str = "coordinates";
const MERGE_FILE: &str = "coo_merge";

/// The algorithms of operations that sort entries.
pub(crate) const RADIX_SORT: &[Algorithm] = &[Algorithm::new("radix_sort", "always").preprocessing(
    "the pattern of the result and the order of the entries, by a stable sort of their coordinates on the device",
)];

/// The keys by which entries still have to be sorted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SortBy {
    /// By both indices.
    Both,
    /// By the major index: minor ones are in order, or need not be.
    Major,
    /// By none: the entries are in order.
    Nothing,
}

impl SortBy {
    /// The keys that sort entries of this order by rows or by columns.
    fn from_order(by_rows: bool, order: IndexOrder) -> Self {
        match (by_rows, order) {
            (true, IndexOrder { sorted: true, .. }) => Self::Nothing,
            (false, IndexOrder { major_sorted: true, .. }) => Self::Major,
            _ => Self::Both,
        }
    }
}

/// Entries sorted by coordinate, the major index first; those with one coordinate in the order of the input.
#[derive(Debug)]
pub(crate) struct Coordinates {
    extents: (usize, usize),
    major: RawBuffer,
    minor: RawBuffer,
    permutation: Permutation,
    /// True if it is known that no coordinate occurs twice.
    unique: bool,
}

/// The runs of entries with one coordinate, and the position of each.
#[derive(Debug)]
struct Runs {
    count: usize,
    starts: Buffer<i64>,
}

/// One value for each run.
#[derive(Debug)]
pub(crate) struct Merge {
    kernel: Kernel,
    runs: Runs,
    permutation: Permutation,
}

impl Merge {
    fn new(backend: &Device, dtype: DType, runs: Runs, permutation: Permutation, last: bool) -> Result<Self> {
        let entry = if last { "coo_merge_last" } else { "coo_merge_sum" };
        let defines = Defines::default().set("POS", permutation.type_name());
        Ok(Self { kernel: backend.kernel_of(dtype, MERGE_FILE, entry, defines)?, runs, permutation })
    }

    /// The values of the runs.
    pub(crate) fn run(&self, backend: &Device, values: &RawBuffer) -> Result<RawBuffer> {
        let n = self.permutation.len();
        let merged = backend.allocate_raw(self.runs.count, values.element_bytes)?;
        let launch = backend.launch(&self.kernel).size(n).buffer(&self.runs.starts);
        launch.permutation(&self.permutation).buffer(values).buffer(&merged).items(n)?;
        Ok(merged)
    }
}

/// Major and minor indices.
type Indices<'a> = (&'a RawBuffer, &'a RawBuffer);

/// The arrays of a compressed matrix, its extents, and the source of its values.
struct Arrays {
    extents: (usize, usize),
    offsets: RawBuffer,
    indices: RawBuffer,
    values: RawBuffer,
    order: IndexOrder,
    source: Source,
}

impl Coordinates {
    /// Sorts the entries at (`major[k]`, `minor[k]`), which lie within `extents`: by one key of both where it fits.
    fn sorted(backend: &Device, extents: (usize, usize), indices: Indices<'_>, by: SortBy) -> Result<Self> {
        let bits = (bits_below(extents.0), bits_below(extents.1));
        let (major, minor, permutation) = match bits.0 + bits.1 {
            _ if by == SortBy::Nothing => copies(backend, indices)?,
            0..=32 if indices.0.index_type() == IndexType::I32 => {
                sort_together(backend, IndexType::I32, indices, bits, by)?
            }
            0..=64 => sort_together(backend, IndexType::I64, indices, bits, by)?,
            _ => sort_apart(backend, indices, bits, by)?,
        };
        Ok(Self { extents, major, minor, permutation, unique: false })
    }

    /// Notes whether it is known that no coordinate occurs twice.
    fn known_unique(self, unique: bool) -> Self {
        Self { unique, ..self }
    }

    /// The entries of compressed rows or columns in storage order.
    pub(crate) fn stored(backend: &Device, a: RawCompressed<'_>) -> Result<Self> {
        Self::of_rows(backend, a, SortBy::Nothing)
    }

    /// The entries of compressed rows or columns, sorted along the compressed direction.
    pub(crate) fn along(backend: &Device, a: RawCompressed<'_>) -> Result<Self> {
        Self::of_rows(backend, a, if a.order.sorted { SortBy::Nothing } else { SortBy::Both })
    }

    fn of_rows(backend: &Device, a: RawCompressed<'_>, by: SortBy) -> Result<Self> {
        let major = backend.major_indices(a)?;
        let sorted = Self::sorted(backend, (a.rows, a.cols), (&major, a.indices), by)?;
        Ok(sorted.known_unique(a.order.unique))
    }

    /// The entries of compressed rows or columns, sorted across the compressed direction.
    pub(crate) fn across(backend: &Device, a: RawCompressed<'_>) -> Result<Self> {
        let minor = backend.major_indices(a)?;
        let across = Self::sorted(backend, (a.cols, a.rows), (a.indices, &minor), SortBy::Major)?;
        Ok(across.known_unique(a.order.unique))
    }

    /// The entries of COO sorted by rows or by columns.
    pub(crate) fn of_coo(backend: &Device, a: RawCoo<'_>, by_rows: bool) -> Result<Self> {
        Self::of_coo_by(backend, a, by_rows, SortBy::from_order(by_rows, a.order))
    }

    /// The entries of COO sorted by major index only.
    pub(crate) fn of_coo_by_major(backend: &Device, a: RawCoo<'_>, by_rows: bool) -> Result<Self> {
        let in_order = by_rows && a.order.major_sorted;
        Self::of_coo_by(backend, a, by_rows, if in_order { SortBy::Nothing } else { SortBy::Major })
    }

    fn of_coo_by(backend: &Device, a: RawCoo<'_>, by_rows: bool, by: SortBy) -> Result<Self> {
        let (extents, indices) =
            (major_first(by_rows, a.shape), major_first(by_rows, (a.row_idx, a.col_idx)));
        Ok(Self::sorted(backend, extents, indices, by)?.known_unique(a.order.unique))
    }

    /// The entries of any format, sorted by rows or by columns.
    pub(crate) fn of_entries(
        backend: &Device,
        shape: (usize, usize),
        entries: &Places,
        by_rows: bool,
        by: SortBy,
    ) -> Result<Self> {
        let indices = major_first(by_rows, (&entries.rows, &entries.cols));
        let sorted = Self::sorted(backend, major_first(by_rows, shape), indices, by)?;
        let permutation = entries.permutation.gather(backend, &sorted.permutation)?;
        Ok(Self { permutation, ..sorted })
    }

    fn len(&self) -> usize {
        self.major.len
    }

    fn kernel(&self, backend: &Device, entry: &'static str, offset: IndexType) -> Result<Kernel> {
        backend.kernel(FILE, entry, Defines::default().index(self.major.index_type()).offset(offset))
    }

    /// Finds the runs of entries with one coordinate.
    fn runs(&self, backend: &Device) -> Result<Runs> {
        let starts = backend.allocate(self.len() + 1)?;
        let kernel = self.kernel(backend, "coordinates_heads", self.major.index_type())?;
        let launch = backend.launch(&kernel).size(self.len()).buffer(&self.major).buffer(&self.minor);
        launch.buffer(&starts).items(self.len() + 1)?;
        let count = Scan::series(backend, self.len() + 1)?.starts_and_sum(backend, &starts)?;
        Ok(Runs { count, starts })
    }

    /// The plan of a compressed matrix of these entries.
    pub(crate) fn compress<A: Axis, T: Scalar, I: Index, O: Index>(
        self,
        backend: &Device,
        choice: Choice,
        duplicates: Duplicates,
    ) -> Result<ToCompressed<A, T, I, O>> {
        let arrays = self.into_compressed(backend, T::DTYPE, IndexType::of::<O>(), duplicates)?;
        Ok(arrays.plan(choice))
    }

    fn into_compressed(
        mut self,
        backend: &Device,
        dtype: DType,
        offset: IndexType,
        duplicates: Duplicates,
    ) -> Result<Arrays> {
        let unique = self.are_unique(backend)?;
        let merges = !unique && matches!(duplicates, Duplicates::Sum | Duplicates::Last);
        let order = IndexOrder { major_sorted: true, sorted: true, unique: unique || merges };
        let runs = if merges { Some(self.runs(backend)?) } else { None };
        offset.check("nnz", runs.as_ref().map_or(self.len(), |runs| runs.count))?;
        let offsets = self.offsets(backend, offset, runs.as_ref())?;
        let (indices, source) = match runs {
            Some(runs) => {
                let (indices, last) = (self.minor_of(backend, &runs)?, duplicates == Duplicates::Last);
                (indices, Source::Merge(Merge::new(backend, dtype, runs, self.permutation, last)?))
            }
            None => (self.minor, Source::gather(backend, dtype, self.permutation)?),
        };
        let values = backend.allocate_raw(indices.len, dtype.bytes())?;
        Ok(Arrays { extents: self.extents, offsets, indices, values, order, source })
    }

    /// The minor index of each run.
    fn minor_of(&self, backend: &Device, runs: &Runs) -> Result<RawBuffer> {
        let (n, index) = (self.len(), self.minor.index_type());
        let indices = backend.allocate_raw(runs.count, index.bytes())?;
        let kernel = self.kernel(backend, "coordinates_minor", index)?;
        let launch = backend.launch(&kernel).size(n).buffer(&self.minor);
        launch.buffer(&runs.starts).buffer(&indices).items(n)?;
        Ok(indices)
    }

    /// The plan of compressed rows with the entries of each in storage order.
    pub(crate) fn into_rows<A: Axis, T: Scalar, I: Index, O: Index>(
        self,
        backend: &Device,
        choice: Choice,
    ) -> Result<ToCompressed<A, T, I, O>> {
        Ok(self.into_stored(backend, T::DTYPE, IndexType::of::<O>())?.plan(choice))
    }

    fn into_stored(self, backend: &Device, dtype: DType, offset: IndexType) -> Result<Arrays> {
        offset.check("nnz", self.len())?;
        let (extents, offsets) = (self.extents, self.offsets(backend, offset, None)?);
        let order = backend.index_order(extents.1, &offsets, &self.minor)?;
        let values = backend.allocate_raw(self.minor.len, dtype.bytes())?;
        let source = Source::gather(backend, dtype, self.permutation)?;
        Ok(Arrays { extents, offsets, indices: self.minor, values, order, source })
    }

    /// The plan of COO with these entries; the major index is the row if `by_rows`. The caller vouches for `order`.
    pub(crate) fn into_coo<T: Scalar, I: Index>(
        self,
        backend: &Device,
        choice: Choice,
        by_rows: bool,
        order: IndexOrder,
    ) -> Result<ToCoo<T, I>> {
        let (rows, cols) = major_first(by_rows, self.extents);
        let (row_idx, col_idx) = major_first(by_rows, (self.major, self.minor));
        let (row_idx, col_idx, values) =
            (row_idx.of(), col_idx.of(), backend.allocate(self.permutation.len())?);
        // SAFETY: the indices are those of a checked matrix of this shape, one of each for each position. The values
        // are replaced before they are read.
        let target = unsafe { Coo::new_unchecked(rows, cols, row_idx, col_idx, values, order) };
        let source = Source::gather(backend, T::DTYPE, self.permutation)?;
        Ok(Rearrangement::new(choice, target, vec![source]))
    }

    /// The entries grouped by major index.
    pub(crate) fn into_row_groups(self, backend: &Device) -> Result<RowGroups> {
        let offsets = self.offsets(backend, IndexType::I64, None)?.of();
        Ok(RowGroups { offsets, columns: self.minor, permutation: self.permutation })
    }

    /// The entries by coordinate.
    pub(crate) fn into_places(self, by_rows: bool) -> Places {
        let (rows, cols) = major_first(by_rows, (self.major, self.minor));
        Places { rows, cols, permutation: self.permutation }
    }

    /// The number of runs, or of entries, before each major index.
    fn offsets(&self, backend: &Device, offset: IndexType, runs: Option<&Runs>) -> Result<RawBuffer> {
        let majors = self.extents.0;
        let offsets = backend.allocate_raw(majors + 1, offset.bytes())?;
        let kernel = self.kernel(backend, "coordinates_offsets", offset)?;
        let launch = backend.launch(&kernel).size(majors).size(self.len()).buffer(&self.major);
        let launch = launch.buffer_or_null(runs.map(|runs| &runs.starts.raw));
        launch.buffer(&offsets).items(majors + 1)?;
        Ok(offsets)
    }

    /// True if no coordinate occurs twice.
    pub(crate) fn are_unique(&mut self, backend: &Device) -> Result<bool> {
        if !self.unique {
            let (n, found) = (self.len(), backend.zeros::<i32>(1)?);
            let kernel = self.kernel(backend, "coordinates_repeats", self.major.index_type())?;
            let launch = backend.launch(&kernel).size(n).buffer(&self.major).buffer(&self.minor);
            launch.buffer(&found).items(n)?;
            self.unique = backend.download(&found)?[0] == 0;
        }
        Ok(self.unique)
    }
}

impl Arrays {
    /// The plan of the matrix.
    fn plan<A: Axis, T: Scalar, I: Index, O: Index>(self, choice: Choice) -> ToCompressed<A, T, I, O> {
        let Self { extents, offsets, indices, values, order, source } = self;
        let (rows, cols) = A::swap(extents.0, extents.1);
        let (offsets, indices, values) = (offsets.of(), indices.of(), values.of());
        // SAFETY: the kernels wrote offsets that ascend from 0 to the number of indices, which are those of a checked
        // matrix, and found this order or sorted by it. The values are replaced before they are read.
        let target = unsafe { Compressed::new_unchecked(rows, cols, offsets, indices, values, order) };
        Rearrangement::new(choice, target, vec![source])
    }
}

/// Swaps a pair (rows, columns) to (major, minor), or back.
fn major_first<T>(by_rows: bool, (rows, cols): (T, T)) -> (T, T) {
    if by_rows { (rows, cols) } else { (cols, rows) }
}

/// Number of bits of the numbers below `extent`.
fn bits_below(extent: usize) -> u32 {
    usize::BITS - extent.saturating_sub(1).leading_zeros()
}

/// Major and minor indices, and their original positions.
type Moved = (RawBuffer, RawBuffer, Permutation);

/// Copies of the indices in storage order.
fn copies(backend: &Device, (major, minor): Indices<'_>) -> Result<Moved> {
    let permutation = Permutation::counted(backend, 0..major.len, major.len)?;
    Ok((backend.duplicate(major)?, backend.duplicate(minor)?, permutation))
}

/// Sorts the indices by one key of both.
fn sort_together(
    backend: &Device,
    key: IndexType,
    (major, minor): Indices<'_>,
    (major_bits, minor_bits): (u32, u32),
    by: SortBy,
) -> Result<Moved> {
    let (n, index) = (major.len, major.index_type());
    let kernel = |entry| backend.kernel(FILE, entry, Defines::default().index(index).offset(key));
    let keys = backend.allocate_raw(n, key.bytes())?;
    let pack = kernel("coordinates_pack")?;
    let launch = backend.launch(&pack).size(n).buffer(major).buffer(minor);
    launch.value(minor_bits as i32).buffer(&keys).items(n)?;
    let first = if by == SortBy::Both { 0 } else { minor_bits };
    let Sorted { keys, permutation } = sort_keys(backend, keys, None, first..major_bits + minor_bits)?;
    let buffer = || backend.allocate_raw(n, index.bytes());
    let (major, minor) = (buffer()?, buffer()?);
    let split = kernel("coordinates_split")?;
    let launch = backend.launch(&split).size(n).buffer(&keys).value(minor_bits as i32);
    launch.buffer(&major).buffer(&minor).items(n)?;
    Ok((major, minor, permutation))
}

/// Sorts the indices by one, then by the other.
fn sort_apart(
    backend: &Device,
    (major, minor): Indices<'_>,
    (major_bits, minor_bits): (u32, u32),
    by: SortBy,
) -> Result<Moved> {
    let mut permutation = Permutation::counted(backend, 0..major.len, major.len)?;
    if by == SortBy::Both {
        permutation = sort_keys(backend, backend.duplicate(minor)?, None, 0..minor_bits)?.permutation;
    }
    let keys = backend.gathered(&permutation, major)?;
    let Sorted { keys: major, permutation } = sort_keys(backend, keys, Some(permutation), 0..major_bits)?;
    Ok((major, backend.gathered(&permutation, minor)?, permutation))
}

impl Device {
    /// A copy.
    fn duplicate(&self, buffer: &RawBuffer) -> Result<RawBuffer> {
        self.joined(&[(buffer, buffer.len)])
    }

    /// The numbers of a range, as indices.
    pub(crate) fn count_up(&self, numbers: Range<usize>, index: IndexType) -> Result<RawBuffer> {
        let (n, to) = (numbers.len(), self.allocate_raw(numbers.len(), index.bytes())?);
        let defines = Defines::default().index(index).offset(index);
        let kernel = self.kernel(FILE, "coordinates_positions", defines)?;
        self.launch(&kernel).size(n).size(numbers.start).buffer(&to).items(n)?;
        Ok(to)
    }

    /// The row of each entry of compressed rows, or the column of each of compressed columns.
    fn major_indices(&self, a: RawCompressed<'_>) -> Result<RawBuffer> {
        let indices = self.allocate_raw(a.nnz(), a.indices.element_bytes)?;
        let kernel = self.kernel(FILE, "coordinates_rows", a.defines())?;
        self.launch(&kernel).size(a.rows).buffer(a.offsets).buffer(&indices).warps(a.rows)?;
        Ok(indices)
    }
}
