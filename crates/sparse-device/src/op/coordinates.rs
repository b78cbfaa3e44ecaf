//! Entries in order of their coordinates, by a radix sort on the device.

use super::convert::{Rearrangement, Source, ToCompressed, ToCoo};
use super::grouped::RowGroups;
use super::positions::Positions;
use super::radix_sort::sort_keys;
use super::scan::Scan;
use super::to_dense::Places;
use crate::program::Defines;
use crate::{Buffer, Device, Kernel};
use sparse_core::format::IndexOrder;
use sparse_core::op::Duplicates;
use sparse_core::{
    Algorithm, Axis, Backend, Choice, Compressed, Coo, Element, Index, Matrix, Result, Row, Scalar, Space,
};
use std::ops::Range;

/// The files of the kernels: of the coordinates, and of the values.
const FILE: &str = "coordinates";
const MERGE_FILE: &str = "coo_merge";

/// How operations that put entries in order do so.
pub(super) const RADIX_SORT: &[Algorithm] = &[Algorithm::new("radix_sort", "always").preprocessing(
    "the pattern of the result and the order of the entries, by a stable sort of their coordinates on the device",
)];

/// By what entries still have to be sorted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SortBy {
    /// By both indices.
    Both,
    /// By the major one: the others are in order, or need not be.
    Major,
    /// By none: they stand as they should.
    Nothing,
}

impl SortBy {
    /// What brings coordinates in this order by rows or by columns.
    fn from_order<A: Axis>(order: IndexOrder) -> Self {
        match (A::IS_ROW, order) {
            (true, IndexOrder { sorted: true, .. }) => Self::Nothing,
            (false, IndexOrder { major_sorted: true, .. }) => Self::Major,
            _ => Self::Both,
        }
    }
}

/// Entries in order of their coordinates, the major one first; those with one coordinate in the order of the input.
#[derive(Debug)]
pub(super) struct Coordinates<I> {
    extents: (usize, usize),
    major: Buffer<I>,
    minor: Buffer<I>,
    positions: Positions,
    /// Whether it is known that no coordinate occurs twice.
    unique: bool,
}

/// Where each run of entries with one coordinate goes.
#[derive(Debug)]
struct Runs {
    count: usize,
    starts: Buffer<i64>,
}

/// One value for each run.
#[derive(Debug)]
pub(super) struct Merge {
    kernel: Kernel,
    runs: Runs,
    positions: Positions,
}

impl Merge {
    fn new<T: Scalar>(backend: &Device, runs: Runs, positions: Positions, last: bool) -> Result<Self> {
        let entry = if last { "coo_merge_last" } else { "coo_merge_sum" };
        let defines = Defines::default().set("POS", positions.type_name());
        Ok(Self { kernel: backend.kernel_of::<T>(MERGE_FILE, entry, defines)?, runs, positions })
    }

    /// The values of the runs.
    pub(super) fn run<T: Scalar>(&self, backend: &Device, values: &Buffer<T>) -> Result<Buffer<T>> {
        let (n, merged) = (self.positions.len(), backend.allocate(self.runs.count)?);
        let launch = backend.launch(&self.kernel).size(n).buffer(&self.runs.starts);
        launch.positions(&self.positions).buffer(values).buffer(&merged).items(n)?;
        Ok(merged)
    }
}

/// Major and minor indices.
type Indices<'a, I> = (&'a Buffer<I>, &'a Buffer<I>);

impl<I: Index> Coordinates<I> {
    /// Sorts the entries at (`major[k]`, `minor[k]`), which lie within `extents`: by keys of both where they fit.
    fn sorted(
        backend: &Device,
        extents: (usize, usize),
        indices: Indices<'_, I>,
        by: SortBy,
    ) -> Result<Self> {
        let bits = (bits_below(extents.0), bits_below(extents.1));
        let (major, minor, positions) = match bits.0 + bits.1 {
            _ if by == SortBy::Nothing => copies(backend, indices)?,
            0..=32 if size_of::<I>() == 4 => sort_together::<I, i32>(backend, indices, bits, by)?,
            0..=64 => sort_together::<I, i64>(backend, indices, bits, by)?,
            _ => sort_apart(backend, indices, bits, by)?,
        };
        Ok(Self { extents, major, minor, positions, unique: false })
    }

    /// Where it is known that no coordinate occurs twice.
    fn known_unique(self, unique: bool) -> Self {
        Self { unique, ..self }
    }

    /// The entries of compressed rows or columns as they stand.
    pub(super) fn stored<A: Axis, T: Scalar, O: Index>(
        backend: &Device,
        a: &Compressed<A, T, Device, I, O>,
    ) -> Result<Self> {
        let (pattern, major) = (a.pattern(), backend.major_indices(a)?);
        let extents = (pattern.major(), pattern.minor());
        let stored = Self::sorted(backend, extents, (&major, a.indices()), SortBy::Nothing)?;
        Ok(stored.known_unique(a.order().unique))
    }

    /// The same in order.
    pub(super) fn along<A: Axis, T: Scalar, O: Index>(
        backend: &Device,
        a: &Compressed<A, T, Device, I, O>,
    ) -> Result<Self> {
        let by = if a.order().sorted { SortBy::Nothing } else { SortBy::Both };
        let (pattern, major) = (a.pattern(), backend.major_indices(a)?);
        let along = Self::sorted(backend, (pattern.major(), pattern.minor()), (&major, a.indices()), by)?;
        Ok(along.known_unique(a.order().unique))
    }

    /// The same in order of the index that is not compressed.
    pub(super) fn across<A: Axis, T: Scalar, O: Index>(
        backend: &Device,
        a: &Compressed<A, T, Device, I, O>,
    ) -> Result<Self> {
        let (pattern, minor) = (a.pattern(), backend.major_indices(a)?);
        let extents = (pattern.minor(), pattern.major());
        let across = Self::sorted(backend, extents, (a.indices(), &minor), SortBy::Major)?;
        Ok(across.known_unique(a.order().unique))
    }

    /// The entries of coordinates in order, by rows or by columns.
    pub(super) fn of_coo<A: Axis, T: Scalar>(backend: &Device, a: &Coo<T, Device, I>) -> Result<Self> {
        Self::of_coo_by::<A, T>(backend, a, SortBy::from_order::<A>(a.order()))
    }

    /// The same as far as the major index goes.
    pub(super) fn of_coo_by_major<A: Axis, T: Scalar>(
        backend: &Device,
        a: &Coo<T, Device, I>,
    ) -> Result<Self> {
        let in_order = A::IS_ROW && a.order().major_sorted;
        Self::of_coo_by::<A, T>(backend, a, if in_order { SortBy::Nothing } else { SortBy::Major })
    }

    /// Entries of any format, in order, by rows or by columns.
    pub(super) fn of_entries<A: Axis>(
        backend: &Device,
        shape: (usize, usize),
        entries: &Places<I>,
        by: SortBy,
    ) -> Result<Self> {
        let (rows, cols) = (&entries.rows, &entries.cols);
        let indices = if A::IS_ROW { (rows, cols) } else { (cols, rows) };
        let sorted = Self::sorted(backend, A::swap(shape.0, shape.1), indices, by)?;
        let positions = entries.positions.gather(backend, &sorted.positions)?;
        Ok(Self { positions, ..sorted })
    }

    fn of_coo_by<A: Axis, T: Scalar>(backend: &Device, a: &Coo<T, Device, I>, by: SortBy) -> Result<Self> {
        let indices = if A::IS_ROW { (a.row_idx(), a.col_idx()) } else { (a.col_idx(), a.row_idx()) };
        let sorted = Self::sorted(backend, A::swap(a.rows(), a.cols()), indices, by)?;
        Ok(sorted.known_unique(a.order().unique))
    }

    fn len(&self) -> usize {
        self.major.len
    }

    fn kernel<O: Index>(&self, backend: &Device, entry: &'static str) -> Result<Kernel> {
        backend.kernel(FILE, entry, Defines::default().index::<I>().offset::<O>())
    }

    /// The runs of entries with one coordinate.
    fn runs(&self, backend: &Device) -> Result<Runs> {
        let starts = backend.allocate(self.len() + 1)?;
        let kernel = self.kernel::<I>(backend, "coordinates_heads")?;
        let launch = backend.launch(&kernel).size(self.len()).buffer(&self.major).buffer(&self.minor);
        launch.buffer(&starts).items(self.len() + 1)?;
        let count = Scan::series(backend, self.len() + 1)?.starts_and_sum(backend, &starts)?;
        Ok(Runs { count, starts })
    }

    /// The plan of a compressed matrix of these entries.
    pub(super) fn compress<A: Axis, T: Scalar, O: Index>(
        mut self,
        backend: &Device,
        choice: Choice,
        duplicates: Duplicates,
    ) -> Result<ToCompressed<A, T, I, O>> {
        let unique = self.are_unique(backend)?;
        let merges = !unique && matches!(duplicates, Duplicates::Sum | Duplicates::Last);
        let order = IndexOrder { major_sorted: true, sorted: true, unique: unique || merges };
        let (majors, minors) = self.extents;
        let (indices, offsets, source) = if merges {
            let runs = self.runs(backend)?;
            O::try_new("nnz", runs.count)?;
            let (indices, offsets) = (self.minor_of(backend, &runs)?, self.offsets(backend, Some(&runs))?);
            let last = duplicates == Duplicates::Last;
            (indices, offsets, Source::Merge(Merge::new::<T>(backend, runs, self.positions, last)?))
        } else {
            O::try_new("nnz", self.len())?;
            let offsets = self.offsets(backend, None)?;
            (self.minor, offsets, Source::gather::<T>(backend, self.positions)?)
        };
        let (rows, cols) = A::swap(majors, minors);
        let values = backend.allocate(indices.len)?;
        // SAFETY: the kernels wrote offsets that ascend from 0 to the number of runs, and indices of a checked matrix,
        // in order. The values are replaced before they are read.
        let target = unsafe { Compressed::new_unchecked(rows, cols, offsets, indices, values, order) };
        Ok(Rearrangement::new(choice, target, vec![source]))
    }

    /// The minor index of each run.
    fn minor_of(&self, backend: &Device, runs: &Runs) -> Result<Buffer<I>> {
        let (n, indices) = (self.len(), backend.allocate(runs.count)?);
        let kernel = self.kernel::<I>(backend, "coordinates_minor")?;
        let launch = backend.launch(&kernel).size(n).buffer(&self.minor);
        launch.buffer(&runs.starts).buffer(&indices).items(n)?;
        Ok(indices)
    }

    /// The plan of compressed rows with the entries of each as they stand.
    pub(super) fn into_rows<T: Scalar, O: Index>(
        self,
        backend: &Device,
        choice: Choice,
    ) -> Result<ToCompressed<Row, T, I, O>> {
        O::try_new("nnz", self.len())?;
        let ((rows, cols), offsets) = (self.extents, self.offsets(backend, None)?);
        let order = backend.index_order(cols, &offsets, &self.minor)?;
        let values = backend.allocate(self.minor.len)?;
        // SAFETY: the kernels wrote offsets that ascend from 0 to the number of entries, whose indices are those of a
        // checked matrix, and found this order. The values are replaced before they are read.
        let target = unsafe { Compressed::new_unchecked(rows, cols, offsets, self.minor, values, order) };
        Ok(Rearrangement::new(choice, target, vec![Source::gather::<T>(backend, self.positions)?]))
    }

    /// The plan of coordinates with these entries; whether they are in `order` is the caller's to know.
    pub(super) fn into_coo<A: Axis, T: Scalar>(
        self,
        backend: &Device,
        choice: Choice,
        order: IndexOrder,
    ) -> Result<ToCoo<T, I>> {
        let (rows, cols) = A::swap(self.extents.0, self.extents.1);
        let (row_idx, col_idx) = if A::IS_ROW { (self.major, self.minor) } else { (self.minor, self.major) };
        let values = backend.allocate(row_idx.len)?;
        // SAFETY: the indices are those of a checked matrix of this shape, one of each for each position. The values
        // are replaced before they are read.
        let target = unsafe { Coo::new_unchecked(rows, cols, row_idx, col_idx, values, order) };
        Ok(Rearrangement::new(choice, target, vec![Source::gather::<T>(backend, self.positions)?]))
    }

    /// The entries by their major index.
    pub(super) fn into_row_groups(self, backend: &Device) -> Result<RowGroups<I>> {
        let offsets = self.offsets(backend, None)?;
        Ok(RowGroups { offsets, columns: self.minor, positions: self.positions })
    }

    /// The entries by coordinates.
    pub(super) fn into_places<A: Axis>(self) -> Places<I> {
        let (rows, cols) = if A::IS_ROW { (self.major, self.minor) } else { (self.minor, self.major) };
        Places { rows, cols, positions: self.positions }
    }

    /// The number of runs before each major index, or of entries.
    fn offsets<O: Index>(&self, backend: &Device, runs: Option<&Runs>) -> Result<Buffer<O>> {
        let (majors, offsets) = (self.extents.0, backend.allocate(self.extents.0 + 1)?);
        let kernel = self.kernel::<O>(backend, "coordinates_offsets")?;
        let launch = backend.launch(&kernel).size(majors).size(self.len()).buffer(&self.major);
        let launch = launch.buffer_or_null(runs.map(|runs| &runs.starts));
        launch.buffer(&offsets).items(majors + 1)?;
        Ok(offsets)
    }

    /// Whether no coordinate occurs twice.
    pub(super) fn are_unique(&mut self, backend: &Device) -> Result<bool> {
        if !self.unique {
            let (n, found) = (self.len(), backend.zeros::<i32>(1)?);
            let kernel = self.kernel::<I>(backend, "coordinates_repeats")?;
            let launch = backend.launch(&kernel).size(n).buffer(&self.major).buffer(&self.minor);
            launch.buffer(&found).items(n)?;
            self.unique = backend.download(&found)?[0] == 0;
        }
        Ok(self.unique)
    }
}

/// Bits of the numbers below `extent`.
fn bits_below(extent: usize) -> u32 {
    usize::BITS - extent.saturating_sub(1).leading_zeros()
}

/// Major and minor indices, and where they stood.
type Moved<I> = (Buffer<I>, Buffer<I>, Positions);

/// The indices as they stand.
fn copies<I: Index>(backend: &Device, (major, minor): Indices<'_, I>) -> Result<Moved<I>> {
    let positions = Positions::counted(backend, 0..major.len, major.len)?;
    Ok((backend.duplicate(major)?, backend.duplicate(minor)?, positions))
}

/// The indices in order, by keys of both.
fn sort_together<I: Index, K: Index>(
    backend: &Device,
    (major, minor): Indices<'_, I>,
    (major_bits, minor_bits): (u32, u32),
    by: SortBy,
) -> Result<Moved<I>> {
    let kernel = |entry| backend.kernel(FILE, entry, Defines::default().index::<I>().offset::<K>());
    let (n, keys) = (major.len, backend.allocate::<K>(major.len)?);
    let pack = kernel("coordinates_pack")?;
    let launch = backend.launch(&pack).size(n).buffer(major).buffer(minor);
    launch.value(minor_bits as i32).buffer(&keys).items(n)?;
    let first = if by == SortBy::Both { 0 } else { minor_bits };
    let (keys, positions) = sort_keys(backend, keys, None, first..major_bits + minor_bits)?;
    let (major, minor) = (backend.allocate(n)?, backend.allocate(n)?);
    let split = kernel("coordinates_split")?;
    let launch = backend.launch(&split).size(n).buffer(&keys).value(minor_bits as i32);
    launch.buffer(&major).buffer(&minor).items(n)?;
    Ok((major, minor, positions))
}

/// The indices in order, by one and then by the other.
fn sort_apart<I: Index>(
    backend: &Device,
    (major, minor): Indices<'_, I>,
    (major_bits, minor_bits): (u32, u32),
    by: SortBy,
) -> Result<Moved<I>> {
    let mut positions = Positions::counted(backend, 0..major.len, major.len)?;
    if by == SortBy::Both {
        positions = sort_keys(backend, backend.duplicate(minor)?, None, 0..minor_bits)?.1;
    }
    let keys = backend.gathered(&positions, major)?;
    let (major, positions) = sort_keys(backend, keys, Some(positions), 0..major_bits)?;
    Ok((major, backend.gathered(&positions, minor)?, positions))
}

impl Device {
    /// A copy.
    fn duplicate<T: Element>(&self, buffer: &Buffer<T>) -> Result<Buffer<T>> {
        let mut copy = self.allocate(buffer.len)?;
        self.copy(Self::view(buffer), Self::view_mut(&mut copy))?;
        Ok(copy)
    }

    /// The numbers of a range.
    pub(super) fn count_up<P: Index>(&self, numbers: Range<usize>) -> Result<Buffer<P>> {
        let (n, positions) = (numbers.len(), self.allocate(numbers.len())?);
        let defines = Defines::default().index::<P>().offset::<P>();
        let kernel = self.kernel(FILE, "coordinates_positions", defines)?;
        self.launch(&kernel).size(n).size(numbers.start).buffer(&positions).items(n)?;
        Ok(positions)
    }

    /// The row of each entry of compressed rows, or the column of each of compressed columns.
    fn major_indices<A: Axis, T: Scalar, I: Index, O: Index>(
        &self,
        a: &Compressed<A, T, Self, I, O>,
    ) -> Result<Buffer<I>> {
        let (majors, indices) = (a.pattern().major(), self.allocate(a.nnz())?);
        let kernel = self.kernel(FILE, "coordinates_rows", Defines::default().index::<I>().offset::<O>())?;
        self.launch(&kernel).size(majors).buffer(a.offsets()).buffer(&indices).warps(majors)?;
        Ok(indices)
    }
}
