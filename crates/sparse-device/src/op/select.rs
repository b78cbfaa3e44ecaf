//! Selection: a plan finds the position of each entry of the result, the device moves the values.

use super::available_algorithms::Needs;
use crate::buffer::RawBuffer;
use crate::index_type::IndexType;
use crate::launch::Launch;
use crate::primitive::positions::Positions;
use crate::primitive::prefix_sum::PrefixSum;
use crate::primitive::raw::RawCompressed;
use crate::primitive::rearrangement::{Arrays, Rearrangement, Source};
use crate::primitive::stored_values::StoredValues;
use crate::{Buffer, Device, Kernel};
use sparse_core::op::SelectKernel;
use sparse_core::{
    Algorithm, Axis, Backend, Compressed, Index, Places, PlanOptions, Result, Scalar, Selection, algorithms,
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
        let chosen = ChosenRows::new(self, a.into(), majors)?;
        Ok(chosen.columns(minors)?.plan(choice))
    }

    unsafe fn run_select(
        &self,
        plan: &mut Self::Plan,
        a: &Compressed<A, T, Device, I, O>,
    ) -> Result<Compressed<A, T, Device, I, O>> {
        plan.run(self, StoredValues::values(a))
    }
}

/// The entries of chosen rows of a matrix, one row after the other.
struct ChosenRows<'a> {
    backend: &'a Device,
    a: RawCompressed<'a>,
    /// Where the entries of each row begin, and their number.
    starts: Buffer<i64>,
    positions: Positions,
}

impl<'a> ChosenRows<'a> {
    fn new(backend: &'a Device, a: RawCompressed<'a>, rows: &Selection<'_>) -> Result<Self> {
        let (n, index) = (rows.len(), a.indices.index_type());
        index.check("rows", n)?;
        let (list, first) = match rows {
            Selection::Range(range) => (None, range.start),
            Selection::List(list) => (Some(backend.upload_indices("row", list, index)?), 0),
        };
        let starts = backend.allocate(n + 1)?;
        let kernel = kernel(backend, a, "select_lengths")?;
        let launch = backend.launch(&kernel).size(n).size(first).buffer_or_null(list.as_ref());
        launch.buffer(a.offsets).buffer(&starts).items(n + 1)?;
        let entries = PrefixSum::series(backend, n + 1)?.starts_and_sum(backend, &starts)?;

        let positions = Positions::allocate_as(backend, entries, a.offsets.index_type())?;
        let kernel = self::kernel(backend, a, "select_positions")?;
        let launch = backend.launch(&kernel).size(entries).size(n).size(first).buffer(&starts);
        let launch = launch.buffer_or_null(list.as_ref());
        launch.buffer(a.offsets).positions(&positions).items(entries)?;
        Ok(Self { backend, a, starts, positions })
    }

    /// The matrix of these columns.
    fn columns(self, cols: &Selection<'_>) -> Result<Arrays> {
        let index = self.a.indices.index_type();
        index.check("columns", cols.len())?;
        if *cols == Selection::Range(0..self.a.cols) {
            return self.all_columns();
        }
        let columns = ColumnPlaces::new(self.backend, &Places::new(cols, self.a.cols)?, index)?;
        self.copied(cols.len(), &columns)
    }

    fn all_columns(self) -> Result<Arrays> {
        let offsets = self.offsets(self.positions.len(), None)?;
        let indices = self.backend.gathered(&self.positions, self.a.indices)?;
        let columns = self.a.cols;
        self.arrays(columns, offsets, indices, None)
    }

    /// The matrix with a copy of an entry at each place of its column.
    fn copied(self, extent: usize, columns: &ColumnPlaces) -> Result<Arrays> {
        let Self { backend, a, ref positions, .. } = self;
        let entries = positions.len();
        let copies = backend.allocate(entries + 1)?;
        let kernel = kernel(backend, a, "select_copies")?;
        let launch = backend.launch(&kernel).size(entries).size(columns.n);
        let launch = launch.size(columns.range.start).size(columns.range.end);
        let launch = columns.list(launch.positions(positions).buffer(a.indices));
        launch.buffer(&copies).items(entries + 1)?;
        let nnz = PrefixSum::series(backend, entries + 1)?.starts_and_sum(backend, &copies)?;
        let offsets = self.offsets(nnz, Some(&copies))?;

        let indices = backend.allocate_raw(nnz, a.indices.element_bytes)?;
        let copied = Positions::allocate_as(backend, nnz, a.offsets.index_type())?;
        let kernel = self::kernel(backend, a, "select_columns")?;
        let launch = backend.launch(&kernel).size(entries).size(columns.n).size(columns.range.start);
        let launch = columns.list(launch.positions(positions).buffer(a.indices)).buffer(&copies);
        launch.buffer(&indices).positions(&copied).items(entries)?;
        self.arrays(extent, offsets, indices, Some(copied))
    }

    /// The offsets of the result's `nnz` entries: the chosen ones, or their copies, which begin at `copies`.
    fn offsets(&self, nnz: usize, copies: Option<&Buffer<i64>>) -> Result<RawBuffer> {
        let Self { backend, a, starts, .. } = self;
        a.offsets.index_type().check("nnz", nnz)?;
        let offsets = backend.allocate_raw(starts.len, a.offsets.element_bytes)?;
        let kernel = kernel(backend, *a, "select_offsets")?;
        let launch = backend.launch(&kernel).size(starts.len - 1).buffer(starts);
        let launch = launch.buffer_or_null(copies.map(|copies| &copies.raw));
        launch.buffer(&offsets).items(starts.len)?;
        Ok(offsets)
    }

    /// The result, whose entries lie at the positions of `copied`, or are those of the rows.
    fn arrays(
        self,
        columns: usize,
        offsets: RawBuffer,
        indices: RawBuffer,
        copied: Option<Positions>,
    ) -> Result<Arrays> {
        let Self { backend, a, positions, .. } = self;
        let order = backend.index_order(columns, &offsets, &indices)?;
        let values = backend.allocate_raw(indices.len, a.dtype.bytes())?;
        let source = Source::gather(backend, a.dtype, copied.unwrap_or(positions))?;
        Ok(Arrays { extents: (offsets.len - 1, columns), offsets, indices, values, order, source })
    }
}

/// The places of columns on the device: those of a range, or of a list.
#[derive(Default)]
struct ColumnPlaces {
    range: Range<usize>,
    /// The length of the list.
    n: usize,
    /// Where the places of each column begin.
    table: Option<RawBuffer>,
    /// Without a table: the columns of the list, sorted.
    sorted: Option<Buffer<i64>>,
    /// The places of the list, one column after the other.
    places: Option<RawBuffer>,
}

impl ColumnPlaces {
    fn new(backend: &Device, places: &Places<'_>, index: IndexType) -> Result<Self> {
        let upload = |numbers: &[usize]| backend.upload_indices("columns", numbers, index).map(Some);
        Ok(match places {
            Places::Range(range) => Self { range: (*range).clone(), ..Self::default() },
            Places::Table { starts, places } => {
                Self { n: places.len(), table: upload(starts)?, places: upload(places)?, ..Self::default() }
            }
            Places::Sorted { list, places } => {
                let sorted: Vec<_> = places.iter().map(|&place| list[place] as i64).collect();
                let sorted = Some(backend.upload(&sorted)?);
                Self { n: places.len(), sorted, places: upload(places)?, ..Self::default() }
            }
        })
    }

    /// The launch with the buffers of the list, or null pointers.
    fn list<'l>(&'l self, launch: Launch<'l>) -> Launch<'l> {
        let sorted = self.sorted.as_ref().map(|sorted| &sorted.raw);
        launch.buffer_or_null(self.table.as_ref()).buffer_or_null(sorted).buffer_or_null(self.places.as_ref())
    }
}

fn kernel(backend: &Device, a: RawCompressed<'_>, entry: &'static str) -> Result<Kernel> {
    backend.kernel("select", entry, a.defines())
}
