//! Selection: a plan finds the position of each entry of the result, the device moves the values.

use super::available_algorithms::Needs;
use crate::buffer::RawBuffer;
use crate::index_type::IndexType;
use crate::launch::Launch;
use crate::primitive::coordinates::bits_below;
use crate::primitive::positions::Positions;
use crate::primitive::prefix_sum::PrefixSum;
use crate::primitive::radix_sort::{Sorted, radix_sort};
use crate::primitive::raw::RawCompressed;
use crate::primitive::rearrangement::{Arrays, Rearrangement, Source};
use crate::primitive::stored_values::StoredValues;
use crate::{Buffer, Device, Kernel};
use sparse_core::op::SelectKernel;
use sparse_core::{
    Algorithm, Axis, Backend, Compressed, Index, IndexOrder, Places, PlanOptions, Result, Scalar, Selection,
    algorithms,
};
use std::ops::Range;

algorithms! {
    /// The algorithms of selections.
    enum SelectAlgorithm needs Needs {
        CountFill =
            Algorithm::new("count_fill", "always").preprocessing("the positions of the entries of the result"),
        Needs::Nothing;
    }
}

impl<A: Axis, T: Scalar, I: Index, O: Index> SelectKernel<Compressed<A, T, Device, I, O>> for Device {
    type Plan = Rearrangement<Compressed<A, T, Device, I, O>>;

    fn select_algorithms(&self) -> &'static [Algorithm] {
        self.offered::<SelectAlgorithm>()
    }

    fn plan_select(
        &self,
        a: &Compressed<A, T, Device, I, O>,
        rows: &Selection<'_>,
        cols: &Selection<'_>,
        options: &PlanOptions,
    ) -> Result<Self::Plan> {
        let (SelectAlgorithm::CountFill, choice) =
            self.choose_only("select", options, SelectAlgorithm::CountFill)?;
        let (majors, minors) = A::swap(rows, cols);
        Ok(selected(self, a.into(), majors, minors)?.plan(choice))
    }

    unsafe fn run_select(
        &self,
        plan: &mut Self::Plan,
        a: &Compressed<A, T, Device, I, O>,
    ) -> Result<Compressed<A, T, Device, I, O>> {
        plan.run(self, StoredValues::values(a))
    }
}

/// The matrix of these rows and columns.
fn selected(
    backend: &Device,
    a: RawCompressed<'_>,
    rows: &Selection<'_>,
    cols: &Selection<'_>,
) -> Result<Arrays> {
    let index = a.indices.index_type();
    index.check("rows", rows.len())?;
    index.check("columns", cols.len())?;
    let takes_all_columns = *cols == Selection::Range(0..a.cols);
    let chosen = ChosenRows::new(backend, a, rows, takes_all_columns)?;
    let Entries { offsets, indices, positions } = match takes_all_columns {
        true => chosen.into_entries()?,
        false => chosen.copies(&ColumnPlaces::new(backend, cols, a.cols, index)?)?,
    };
    let order = match cols {
        Selection::Range(_) if a.order == IndexOrder::CANONICAL => a.order,
        _ => backend.index_order(cols.len(), &offsets, &indices)?,
    };
    let values = backend.allocate_raw(indices.len, a.dtype.bytes())?;
    let source = Source::gather(backend, a.dtype, positions)?;
    Ok(Arrays { extents: (rows.len(), cols.len()), offsets, indices, values, order, source })
}

/// The entries of the result, and their positions in the matrix.
struct Entries {
    offsets: RawBuffer,
    indices: RawBuffer,
    positions: Positions,
}

/// The entries of chosen rows of a matrix, one row after the other.
struct ChosenRows<'a> {
    backend: &'a Device,
    a: RawCompressed<'a>,
    /// The first entry of each row, then the number of all entries.
    starts: Buffer<i64>,
    positions: Positions,
    /// The columns of the entries; empty unless requested.
    indices: RawBuffer,
}

impl<'a> ChosenRows<'a> {
    fn new(
        backend: &'a Device,
        a: RawCompressed<'a>,
        rows: &Selection<'_>,
        needs_columns: bool,
    ) -> Result<Self> {
        let (n, index) = (rows.len(), a.indices.index_type());
        let (list, first) = match rows {
            Selection::Range(range) => (None, range.start),
            Selection::List(list) => (Some(backend.upload_indices("row", list, index)?), 0),
        };
        let starts = backend.allocate(n + 1)?;
        let kernel = select_kernel(backend, a, "select_lengths")?;
        let launch = backend.launch(&kernel).size(n).size(first).buffer_or_null(list.as_ref());
        launch.buffer(a.offsets).buffer(&starts).items(n + 1)?;
        let entries = PrefixSum::series(backend, n + 1)?.starts_and_sum(backend, &starts)?;

        let positions = Positions::allocate_as(backend, entries, a.offsets.index_type())?;
        let indices = backend.allocate_raw(if needs_columns { entries } else { 0 }, index.bytes())?;
        let kernel = select_kernel(backend, a, "select_positions")?;
        let launch = backend.launch(&kernel).size(entries).size(n).size(first).buffer(&starts);
        let launch = launch.buffer_or_null(list.as_ref()).buffer(a.offsets).buffer(a.indices);
        let launch = launch.positions(&positions).buffer_or_null(needs_columns.then_some(&indices));
        launch.items(entries)?;
        Ok(Self { backend, a, starts, positions, indices })
    }

    /// All entries.
    fn into_entries(self) -> Result<Entries> {
        let offsets = self.offsets(self.positions.len(), None)?;
        Ok(Entries { offsets, indices: self.indices, positions: self.positions })
    }

    /// A copy of an entry at each place of its column.
    fn copies(&self, columns: &ColumnPlaces) -> Result<Entries> {
        let Self { backend, a, ref positions, .. } = *self;
        let entries = positions.len();
        let copies = backend.allocate(entries + 1)?;
        let kernel = select_kernel(backend, a, "select_copies")?;
        let launch = backend.launch(&kernel).size(entries).size(columns.n);
        let launch = launch.size(columns.range.start).size(columns.range.end);
        let launch = columns.add_list_to(launch.positions(positions).buffer(a.indices));
        launch.buffer(&copies).items(entries + 1)?;
        let nnz = PrefixSum::series(backend, entries + 1)?.starts_and_sum(backend, &copies)?;
        let offsets = self.offsets(nnz, Some(&copies))?;

        let indices = backend.allocate_raw(nnz, a.indices.element_bytes)?;
        let copied = Positions::allocate_as(backend, nnz, a.offsets.index_type())?;
        let kernel = select_kernel(backend, a, "select_columns")?;
        let launch = backend.launch(&kernel).size(entries).size(columns.n).size(columns.range.start);
        let launch = columns.add_list_to(launch.positions(positions).buffer(a.indices)).buffer(&copies);
        launch.buffer(&indices).positions(&copied).items(entries)?;
        Ok(Entries { offsets, indices, positions: copied })
    }

    /// The offsets of the result's `nnz` entries: the chosen ones, or their copies, which begin at `copies`.
    fn offsets(&self, nnz: usize, copies: Option<&Buffer<i64>>) -> Result<RawBuffer> {
        let Self { backend, a, ref starts, .. } = *self;
        a.offsets.index_type().check("nnz", nnz)?;
        let offsets = backend.allocate_raw(starts.len, a.offsets.element_bytes)?;
        let kernel = select_kernel(backend, a, "select_offsets")?;
        let launch = backend.launch(&kernel).size(starts.len - 1).buffer(starts);
        let launch = launch.buffer_or_null(copies.map(|copies| &copies.raw));
        launch.buffer(&offsets).items(starts.len)?;
        Ok(offsets)
    }
}

/// The places of columns on the device: those of a range, or of a list.
#[derive(Default)]
struct ColumnPlaces {
    range: Range<usize>,
    /// The length of the list.
    n: usize,
    /// The first place of each column.
    table: Option<RawBuffer>,
    /// Without a table: the columns of the list, sorted.
    sorted: Option<Buffer<i64>>,
    /// The places of the list, one column after the other.
    places: Option<RawBuffer>,
}

impl ColumnPlaces {
    fn new(backend: &Device, cols: &Selection<'_>, extent: usize, index: IndexType) -> Result<Self> {
        match cols {
            Selection::Range(range) => Ok(Self { range: range.clone(), ..Self::default() }),
            Selection::List(list) if list.is_empty() => Ok(Self::default()),
            Selection::List(list) if list.len() < extent / Places::SEARCHED_BELOW => {
                Self::searched(backend, list, index)
            }
            Selection::List(list) => Self::of_table(backend, list, extent, index),
        }
    }

    /// The places of a short list, which the host sorts.
    fn searched(backend: &Device, list: &[usize], index: IndexType) -> Result<Self> {
        let mut places: Vec<_> = (0..list.len()).collect();
        places.sort_by_key(|&place| list[place]);
        let sorted: Vec<_> = places.iter().map(|&place| list[place] as i64).collect();
        let (sorted, places) = (backend.upload(&sorted)?, backend.upload_indices("columns", &places, index)?);
        Ok(Self { n: list.len(), sorted: Some(sorted), places: Some(places), ..Self::default() })
    }

    /// The places of a list, which the device sorts, and a table of where those of each column begin.
    fn of_table(backend: &Device, list: &[usize], extent: usize, index: IndexType) -> Result<Self> {
        let columns = backend.upload_indices("columns", list, index)?;
        let Sorted { keys, positions } = radix_sort(backend, columns, None, index, 0..bits_below(extent))?;
        let table = backend.starts_of_sorted(&keys, extent)?;
        let places = Some(positions.into_buffer());
        Ok(Self { n: list.len(), table: Some(table), places, ..Self::default() })
    }

    /// The launch with the buffers of the list, or null pointers.
    fn add_list_to<'l>(&'l self, launch: Launch<'l>) -> Launch<'l> {
        let sorted = self.sorted.as_ref().map(|sorted| &sorted.raw);
        launch.buffer_or_null(self.table.as_ref()).buffer_or_null(sorted).buffer_or_null(self.places.as_ref())
    }
}

/// A kernel for matrices with the types of `a`.
fn select_kernel(backend: &Device, a: RawCompressed<'_>, entry: &'static str) -> Result<Kernel> {
    backend.kernel("select", entry, a.defines())
}
