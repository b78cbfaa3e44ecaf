//! Entries sorted by coordinate, by a sort on the device, and plans of matrices of them.

mod matrix;
mod onesweep;
mod sort;

pub(crate) use onesweep::FILE as ONESWEEP_FILE;
pub(crate) use sort::{SortBy, Sorter, bits_below};

use super::positions::Positions;
use super::prefix_sum::PrefixSum;
use super::raw::{RawCompressed, RawCoo};
use super::row_groups::{GroupOrder, RowGroups};
use super::runs::Runs;
use super::triplets::Triplets;
use crate::buffer::RawBuffer;
use crate::defines::Defines;
use crate::index_type::IndexType;
use crate::{Device, Kernel};
use sort::{FILE, Indices, sort_indices};
use sparse_core::{Algorithm, Backend, Result};

/// The algorithms that sort entries, for the tables that have them.
pub(crate) const ONESWEEP: Algorithm = Algorithm::new(
    "onesweep",
    "fewer than 2³⁰ entries, either index of which fits in 64 bits with the position of the entry",
)
.preprocessing(
    "the pattern of the result and the order of the entries, by a stable sort of their coordinates in one pass per digit",
);
pub(crate) const RADIX_SORT: Algorithm = Algorithm::new("radix_sort", "otherwise").preprocessing(
    "the pattern of the result and the order of the entries, by a stable sort of their coordinates on the device",
);

/// Entries sorted by coordinate, the major index first; those with one coordinate in the order of the input.
#[derive(Debug)]
pub(crate) struct Coordinates {
    extents: (usize, usize),
    major: RawBuffer,
    minor: RawBuffer,
    positions: Positions,
    /// True if it is known that no coordinate occurs twice.
    unique: bool,
}

impl Coordinates {
    /// Sorts the entries at (`major[k]`, `minor[k]`), which lie within `extents`.
    fn sorted(
        backend: &Device,
        extents: (usize, usize),
        indices: Indices<'_>,
        by: SortBy,
        sorter: Sorter,
    ) -> Result<Self> {
        let (major, minor, positions) = sort_indices(backend, extents, indices, by, sorter)?;
        Ok(Self { extents, major, minor, positions, unique: false })
    }

    /// Sets whether it is known that no coordinate occurs twice.
    fn known_unique(self, unique: bool) -> Self {
        Self { unique, ..self }
    }

    /// The entries of compressed rows or columns in storage order.
    pub(crate) fn stored(backend: &Device, a: RawCompressed<'_>) -> Result<Self> {
        Self::of_rows(backend, a, SortBy::Nothing, Sorter::RadixSort)
    }

    /// The entries of compressed rows or columns, sorted along the compressed direction.
    pub(crate) fn along(backend: &Device, a: RawCompressed<'_>) -> Result<Self> {
        Self::along_by(backend, a, sorter_of_rows(backend, a))
    }

    /// [`along`](Self::along) by a sorter that fits.
    pub(crate) fn along_by(backend: &Device, a: RawCompressed<'_>, sorter: Sorter) -> Result<Self> {
        Self::of_rows(backend, a, if a.order.sorted { SortBy::Nothing } else { SortBy::Both }, sorter)
    }

    fn of_rows(backend: &Device, a: RawCompressed<'_>, by: SortBy, sorter: Sorter) -> Result<Self> {
        let major = backend.major_indices(a)?;
        let sorted = Self::sorted(backend, (a.rows, a.cols), (&major, a.indices), by, sorter)?;
        Ok(sorted.known_unique(a.order.unique))
    }

    /// The entries of compressed rows or columns, sorted across the compressed direction.
    pub(crate) fn across(backend: &Device, a: RawCompressed<'_>) -> Result<Self> {
        Self::across_by(backend, a, sorter_of_rows(backend, a))
    }

    /// [`across`](Self::across) by a sorter that fits.
    pub(crate) fn across_by(backend: &Device, a: RawCompressed<'_>, sorter: Sorter) -> Result<Self> {
        let minor = backend.major_indices(a)?;
        let across = Self::sorted(backend, (a.cols, a.rows), (a.indices, &minor), SortBy::Major, sorter)?;
        Ok(across.known_unique(a.order.unique))
    }

    /// The entries of COO sorted by rows or by columns.
    pub(crate) fn of_coo(backend: &Device, a: RawCoo<'_>, by_rows: bool) -> Result<Self> {
        Self::of_coo_by(backend, a, by_rows, sorter_of_coo(backend, a))
    }

    /// [`of_coo`](Self::of_coo) by a sorter that fits.
    pub(crate) fn of_coo_by(backend: &Device, a: RawCoo<'_>, by_rows: bool, sorter: Sorter) -> Result<Self> {
        Self::of_coo_keys(backend, a, by_rows, SortBy::from_order(by_rows, a.order), sorter)
    }

    /// The entries of COO sorted by major index only.
    pub(super) fn of_coo_by_major(backend: &Device, a: RawCoo<'_>, by_rows: bool) -> Result<Self> {
        let in_order = by_rows && a.order.major_sorted;
        let by = if in_order { SortBy::Nothing } else { SortBy::Major };
        Self::of_coo_keys(backend, a, by_rows, by, sorter_of_coo(backend, a))
    }

    fn of_coo_keys(
        backend: &Device,
        a: RawCoo<'_>,
        by_rows: bool,
        by: SortBy,
        sorter: Sorter,
    ) -> Result<Self> {
        let (extents, indices) =
            (major_first(by_rows, a.shape), major_first(by_rows, (a.row_idx, a.col_idx)));
        Ok(Self::sorted(backend, extents, indices, by, sorter)?.known_unique(a.order.unique))
    }

    /// The entries of any format, sorted by rows or by columns.
    pub(crate) fn of_entries(
        backend: &Device,
        shape: (usize, usize),
        entries: &Triplets,
        by_rows: bool,
        by: SortBy,
    ) -> Result<Self> {
        let (sorter, _) = Sorter::choose(backend, shape, entries.positions.len());
        Self::of_entries_by(backend, shape, entries, by_rows, by, sorter)
    }

    /// [`of_entries`](Self::of_entries) by a sorter that fits.
    pub(crate) fn of_entries_by(
        backend: &Device,
        shape: (usize, usize),
        entries: &Triplets,
        by_rows: bool,
        by: SortBy,
        sorter: Sorter,
    ) -> Result<Self> {
        let indices = major_first(by_rows, (&entries.rows, &entries.cols));
        let sorted = Self::sorted(backend, major_first(by_rows, shape), indices, by, sorter)?;
        let positions = entries.positions.gather(backend, &sorted.positions)?;
        Ok(Self { positions, ..sorted })
    }

    fn len(&self) -> usize {
        self.major.len
    }

    fn kernel(&self, backend: &Device, entry: &'static str, offset: IndexType) -> Result<Kernel> {
        backend.kernel(FILE, entry, Defines::default().index(self.major.index_type()).offset(offset))
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

    /// Finds the runs of entries with one coordinate.
    fn runs(&self, backend: &Device) -> Result<Runs> {
        let starts = backend.allocate(self.len() + 1)?;
        let kernel = self.kernel(backend, "coordinates_heads", self.major.index_type())?;
        let launch = backend.launch(&kernel).size(self.len()).buffer(&self.major).buffer(&self.minor);
        launch.buffer(&starts).items(self.len() + 1)?;
        let count = PrefixSum::series(backend, self.len() + 1)?.starts_and_sum(backend, &starts)?;
        Ok(Runs { count, starts })
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

    /// The entries grouped by major index, in this order.
    pub(super) fn into_row_groups(self, backend: &Device, order: GroupOrder) -> Result<RowGroups> {
        let offsets = self.offsets(backend, IndexType::I64, None)?.of();
        Ok(RowGroups { offsets, columns: self.minor, positions: self.positions, order })
    }

    /// The entries by coordinate.
    pub(super) fn into_triplets(self, by_rows: bool) -> Triplets {
        let (rows, cols) = major_first(by_rows, (self.major, self.minor));
        Triplets { rows, cols, positions: self.positions }
    }
}

fn sorter_of_rows(backend: &Device, a: RawCompressed<'_>) -> Sorter {
    Sorter::choose(backend, (a.rows, a.cols), a.nnz()).0
}

fn sorter_of_coo(backend: &Device, a: RawCoo<'_>) -> Sorter {
    Sorter::choose(backend, a.shape, a.row_idx.len).0
}

/// Swaps a pair (rows, columns) to (major, minor), or back.
fn major_first<T>(by_rows: bool, (rows, cols): (T, T)) -> (T, T) {
    if by_rows { (rows, cols) } else { (cols, rows) }
}

impl Device {
    /// The number of sorted indices below each of `0..=extent`, as indices of their type.
    pub(crate) fn starts_of_sorted(&self, indices: &RawBuffer, extent: usize) -> Result<RawBuffer> {
        let index = indices.index_type();
        let starts = self.allocate_raw(extent + 1, index.bytes())?;
        let kernel =
            self.kernel(FILE, "coordinates_offsets", Defines::default().index(index).offset(index))?;
        let launch = self.launch(&kernel).size(extent).size(indices.len).buffer(indices).buffer_or_null(None);
        launch.buffer(&starts).items(extent + 1)?;
        Ok(starts)
    }

    /// The row of each entry of compressed rows, or the column of each of compressed columns.
    pub(crate) fn major_indices(&self, a: RawCompressed<'_>) -> Result<RawBuffer> {
        let indices = self.allocate_raw(a.nnz(), a.indices.element_bytes)?;
        let kernel = self.kernel(FILE, "coordinates_rows", a.defines())?;
        self.launch(&kernel).size(a.rows).buffer(a.offsets).buffer(&indices).warps(a.rows)?;
        Ok(indices)
    }
}
