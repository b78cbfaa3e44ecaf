//! Entries in order of their coordinates, by a radix sort on the device.

use super::convert::{Rearrangement, Source, ToCompressed, ToCoo};
use super::grouped::RowGroups;
use super::numbered::Values;
use super::radix_sort::{Pairs, radix_sort};
use super::scan::Scan;
use crate::program::Defines;
use crate::{Buffer, Device, Driver};
use sparse_core::format::IndexOrder;
use sparse_core::op::Duplicates;
use sparse_core::{Algorithm, Axis, Backend, Choice, Compressed, Coo, Index, Matrix, Result, Scalar};
use std::sync::Arc;

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
pub(super) struct Coordinates<D: Driver, I> {
    extents: (usize, usize),
    major: Buffer<D, I>,
    minor: Buffer<D, I>,
    positions: Buffer<D, i64>,
}

/// Where each run of entries with one coordinate goes.
#[derive(Debug)]
struct Runs<D: Driver> {
    count: usize,
    starts: Buffer<D, i64>,
}

/// One value for each run.
#[derive(Debug)]
pub(super) struct Merge<D: Driver> {
    kernel: Arc<D::Kernel>,
    runs: Runs<D>,
    positions: Buffer<D, i64>,
}

impl<D: Driver> Merge<D> {
    /// The values of the runs.
    pub(super) fn run<T: Scalar>(&self, backend: &Device<D>, values: &Buffer<D, T>) -> Result<Buffer<D, T>> {
        let (n, merged) = (self.positions.len, backend.allocate(self.runs.count)?);
        let launch = backend.launch(&self.kernel).size(n).buffer(&self.runs.starts).buffer(&self.positions);
        launch.buffer(values).buffer(&merged).items(n)?;
        Ok(merged)
    }
}

impl<D: Driver, I: Index> Coordinates<D, I> {
    /// Sorts the entries at (`major[k]`, `minor[k]`), which lie within `extents`.
    pub(super) fn sorted(
        backend: &Device<D>,
        extents: (usize, usize),
        (major, minor): (&Buffer<D, I>, &Buffer<D, I>),
        by: SortBy,
    ) -> Result<Self> {
        let mut positions = iota(backend, major.len)?;
        if by == SortBy::Both {
            positions = sort_by(backend, minor, positions, extents.1)?;
        }
        if by != SortBy::Nothing {
            positions = sort_by(backend, major, positions, extents.0)?;
        }
        let kernel = backend.move_kernel::<I>("move_gather")?;
        let in_order = |indices| backend.gather(&kernel, &positions, Values::one(indices));
        Ok(Self { extents, major: in_order(major)?, minor: in_order(minor)?, positions })
    }

    /// The entries of compressed rows or columns as they stand.
    pub(super) fn stored<A: Axis, T: Scalar, O: Index>(
        backend: &Device<D>,
        a: &Compressed<A, T, Device<D>, I, O>,
    ) -> Result<Self> {
        let (pattern, major) = (a.pattern(), backend.major_indices(a)?);
        Self::sorted(backend, (pattern.major(), pattern.minor()), (&major, a.indices()), SortBy::Nothing)
    }

    /// The same in order.
    pub(super) fn along<A: Axis, T: Scalar, O: Index>(
        backend: &Device<D>,
        a: &Compressed<A, T, Device<D>, I, O>,
    ) -> Result<Self> {
        let by = if a.order().sorted { SortBy::Nothing } else { SortBy::Both };
        let (pattern, major) = (a.pattern(), backend.major_indices(a)?);
        Self::sorted(backend, (pattern.major(), pattern.minor()), (&major, a.indices()), by)
    }

    /// The same in order of the index that is not compressed.
    pub(super) fn across<A: Axis, T: Scalar, O: Index>(
        backend: &Device<D>,
        a: &Compressed<A, T, Device<D>, I, O>,
    ) -> Result<Self> {
        let (pattern, minor) = (a.pattern(), backend.major_indices(a)?);
        Self::sorted(backend, (pattern.minor(), pattern.major()), (a.indices(), &minor), SortBy::Major)
    }

    /// The entries of coordinates in order, by rows or by columns.
    pub(super) fn of_coo<A: Axis, T: Scalar>(backend: &Device<D>, a: &Coo<T, Device<D>, I>) -> Result<Self> {
        Self::of_coo_by::<A, T>(backend, a, SortBy::from_order::<A>(a.order()))
    }

    /// The same as far as the major index goes.
    pub(super) fn of_coo_by_major<A: Axis, T: Scalar>(
        backend: &Device<D>,
        a: &Coo<T, Device<D>, I>,
    ) -> Result<Self> {
        let in_order = A::IS_ROW && a.order().major_sorted;
        Self::of_coo_by::<A, T>(backend, a, if in_order { SortBy::Nothing } else { SortBy::Major })
    }

    fn of_coo_by<A: Axis, T: Scalar>(
        backend: &Device<D>,
        a: &Coo<T, Device<D>, I>,
        by: SortBy,
    ) -> Result<Self> {
        let indices = if A::IS_ROW { (a.row_idx(), a.col_idx()) } else { (a.col_idx(), a.row_idx()) };
        Self::sorted(backend, A::swap(a.rows(), a.cols()), indices, by)
    }

    fn len(&self) -> usize {
        self.positions.len
    }

    fn kernel<O: Index>(&self, backend: &Device<D>, entry: &'static str) -> Result<Arc<D::Kernel>> {
        backend.kernel(FILE, entry, Defines::default().index::<I>().offset::<O>())
    }

    /// The runs of entries with one coordinate.
    fn runs(&self, backend: &Device<D>) -> Result<Runs<D>> {
        let mut starts = backend.allocate(self.len() + 1)?;
        let kernel = self.kernel::<I>(backend, "coordinates_heads")?;
        let launch = backend.launch(&kernel).size(self.len()).buffer(&self.major).buffer(&self.minor);
        launch.buffer(&starts).items(self.len() + 1)?;
        let count = Scan::series(backend, self.len() + 1)?.starts_and_sum(backend, &mut starts)?;
        Ok(Runs { count, starts })
    }

    /// The plan of a compressed matrix of these entries.
    pub(super) fn compress<A: Axis, T: Scalar, O: Index>(
        self,
        backend: &Device<D>,
        choice: Choice,
        duplicates: Duplicates,
    ) -> Result<ToCompressed<D, A, T, I, O>> {
        let (n, (majors, minors)) = (self.len(), self.extents);
        let mut runs = self.runs(backend)?;
        let unique = runs.count == n;
        let merges = !unique && matches!(duplicates, Duplicates::Sum | Duplicates::Last);
        if !unique && !merges {
            runs = Runs { count: n, starts: iota(backend, n + 1)? };
        }
        O::try_new("nnz", runs.count)?;

        let (indices, offsets) = (backend.allocate(runs.count)?, backend.allocate(majors + 1)?);
        let kernel = self.kernel::<O>(backend, "coordinates_minor")?;
        let launch = backend.launch(&kernel).size(n).buffer(&self.minor);
        launch.buffer(&runs.starts).buffer(&indices).items(n)?;
        self.count_majors(backend, &runs.starts, &offsets)?;

        let order = IndexOrder { major_sorted: true, sorted: true, unique: unique || merges };
        let (rows, cols) = A::swap(majors, minors);
        let values = backend.zeros(runs.count)?;
        // SAFETY: the kernels wrote offsets that ascend from 0 to the number of runs, and indices of a checked matrix,
        // in order.
        let target = unsafe { Compressed::new_unchecked(rows, cols, offsets, indices, values, order) };
        let source = match merges {
            false => Source::gather::<T>(backend, self.positions)?,
            true => {
                let entry = if duplicates == Duplicates::Last { "coo_merge_last" } else { "coo_merge_sum" };
                let kernel = backend.kernel_of::<T>(MERGE_FILE, entry, Defines::default())?;
                Source::Merge(Merge { kernel, runs, positions: self.positions })
            }
        };
        Ok(Rearrangement::new(choice, target, source))
    }

    /// The plan of coordinates with these entries; whether they are in `order` is the caller's to know.
    pub(super) fn into_coo<A: Axis, T: Scalar>(
        self,
        backend: &Device<D>,
        choice: Choice,
        order: IndexOrder,
    ) -> Result<ToCoo<D, T, I>> {
        let (rows, cols) = A::swap(self.extents.0, self.extents.1);
        let (row_idx, col_idx) = if A::IS_ROW { (self.major, self.minor) } else { (self.minor, self.major) };
        let values = backend.zeros(self.positions.len)?;
        // SAFETY: the indices are those of a checked matrix of this shape, one of each for each position.
        let target = unsafe { Coo::new_unchecked(rows, cols, row_idx, col_idx, values, order) };
        Ok(Rearrangement::new(choice, target, Source::gather::<T>(backend, self.positions)?))
    }

    /// The entries by their major index.
    pub(super) fn into_row_groups(self, backend: &Device<D>) -> Result<RowGroups<D, I>> {
        let (n, majors) = (self.len(), self.extents.0);
        let (starts, offsets) = (iota(backend, n + 1)?, backend.allocate(majors + 1)?);
        self.count_majors::<i64>(backend, &starts, &offsets)?;
        Ok(RowGroups { offsets, columns: self.minor, positions: self.positions })
    }

    /// Writes the number of runs before each major index.
    fn count_majors<O: Index>(
        &self,
        backend: &Device<D>,
        starts: &Buffer<D, i64>,
        offsets: &Buffer<D, O>,
    ) -> Result<()> {
        let kernel = self.kernel::<O>(backend, "coordinates_offsets")?;
        let launch = backend.launch(&kernel).size(self.extents.0).size(self.len()).buffer(&self.major);
        launch.buffer(starts).buffer(offsets).items(offsets.len)
    }

    /// Whether no coordinate occurs twice.
    pub(super) fn are_unique(&self, backend: &Device<D>) -> Result<bool> {
        Ok(self.runs(backend)?.count == self.len())
    }
}

/// 0, 1, … `n` − 1.
fn iota<D: Driver>(backend: &Device<D>, n: usize) -> Result<Buffer<D, i64>> {
    let positions = backend.allocate(n)?;
    let kernel =
        backend.kernel(FILE, "coordinates_positions", Defines::default().index::<i64>().offset::<i64>())?;
    backend.launch(&kernel).size(n).buffer(&positions).items(n)?;
    Ok(positions)
}

/// `positions` in order of `indices` there, which are below `extent`; equal ones stay in their order.
fn sort_by<D: Driver, I: Index>(
    backend: &Device<D>,
    indices: &Buffer<D, I>,
    positions: Buffer<D, i64>,
    extent: usize,
) -> Result<Buffer<D, i64>> {
    let keys =
        backend.gather(&*backend.move_kernel::<I>("move_gather")?, &positions, Values::one(indices))?;
    let bits = usize::BITS - extent.saturating_sub(1).leading_zeros();
    Ok(radix_sort(backend, Pairs { keys, positions }, bits)?.positions)
}

impl<D: Driver> Device<D> {
    /// The row of each entry of compressed rows, or the column of each of compressed columns.
    fn major_indices<A: Axis, T: Scalar, I: Index, O: Index>(
        &self,
        a: &Compressed<A, T, Self, I, O>,
    ) -> Result<Buffer<D, I>> {
        let (majors, indices) = (a.pattern().major(), self.allocate(a.nnz())?);
        let kernel = self.kernel(FILE, "coordinates_rows", Defines::default().index::<I>().offset::<O>())?;
        self.launch(&kernel).size(majors).buffer(a.offsets()).buffer(&indices).warps(majors)?;
        Ok(indices)
    }
}
