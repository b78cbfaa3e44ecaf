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
use sparse_core::Backend;
use sparse_core::op::SelectKernel;
use sparse_core::{
    Algorithm, Axis, Compressed, Index, Places, PlanOptions, Result, Scalar, Selection, algorithms,
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
        let launch = backend.launch(&kernel).size(n).buffer_or_null(list.as_ref()).size(first);
        launch.buffer(a.offsets).buffer(&starts).items(n + 1)?;
        let entries = PrefixSum::series(backend, n + 1)?.starts_and_sum(backend, &starts)?;

        let positions = Positions::allocate_as(backend, entries, a.offsets.index_type())?;
        let kernel = self::kernel(backend, a, "select_positions")?;
        let launch = backend.launch(&kernel).size(entries).size(n).buffer(&starts);
        let launch = launch.buffer_or_null(list.as_ref()).size(first);
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
        let kernel = kernel(backend, a, columns.counting())?;
        let launch = backend.launch(&kernel).size(entries).positions(positions).buffer(a.indices);
        columns.counted(launch).buffer(&copies).items(entries + 1)?;
        let nnz = PrefixSum::series(backend, entries + 1)?.starts_and_sum(backend, &copies)?;
        let offsets = self.offsets(nnz, Some(&copies))?;

        let indices = backend.allocate_raw(nnz, a.indices.element_bytes)?;
        let copied = Positions::allocate_as(backend, nnz, a.offsets.index_type())?;
        let kernel = self::kernel(backend, a, "select_columns")?;
        let launch = backend.launch(&kernel).size(entries).positions(positions).buffer(a.indices);
        let launch = columns.placed(launch).buffer(&copies);
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

/// The places of columns on the device.
enum ColumnPlaces {
    Range(Range<usize>),
    /// The places of the columns in turn, which a table finds, or a search among `n` sorted columns.
    List {
        table: Option<RawBuffer>,
        sorted: Option<Buffer<i64>>,
        n: usize,
        places: RawBuffer,
    },
}

impl ColumnPlaces {
    fn new(backend: &Device, places: &Places<'_>, index: IndexType) -> Result<Self> {
        let upload = |numbers: &[usize]| backend.upload_indices("columns", numbers, index);
        Ok(match places {
            Places::Range(range) => Self::Range((*range).clone()),
            Places::Table { starts, places } => {
                let (n, places) = (places.len(), upload(places)?);
                Self::List { table: Some(upload(starts)?), sorted: None, n, places }
            }
            Places::Sorted { list, places } => {
                let sorted: Vec<_> = places.iter().map(|&place| list[place] as i64).collect();
                let (n, places) = (places.len(), upload(places)?);
                Self::List { table: None, sorted: Some(backend.upload(&sorted)?), n, places }
            }
        })
    }

    /// The kernel that counts the places of columns.
    fn counting(&self) -> &'static str {
        match self {
            Self::Range(_) => "select_in_range",
            Self::List { .. } => "select_in_list",
        }
    }

    /// The launch of [`counting`](Self::counting) with its arguments about places.
    fn counted<'l>(&'l self, launch: Launch<'l>) -> Launch<'l> {
        match self {
            Self::Range(range) => launch.size(range.start).size(range.end),
            Self::List { table, sorted, n, .. } => {
                let sorted = sorted.as_ref().map(|sorted| &sorted.raw);
                launch.buffer_or_null(table.as_ref()).buffer_or_null(sorted).size(*n)
            }
        }
    }

    /// The launch of `select_columns` with its arguments about places.
    fn placed<'l>(&'l self, launch: Launch<'l>) -> Launch<'l> {
        match self {
            Self::Range(range) => {
                let launch = launch.buffer_or_null(None).buffer_or_null(None).size(0);
                launch.buffer_or_null(None).size(range.start)
            }
            Self::List { places, .. } => self.counted(launch).buffer(places).size(0),
        }
    }
}

fn kernel(backend: &Device, a: RawCompressed<'_>, entry: &'static str) -> Result<Kernel> {
    backend.kernel("select", entry, a.defines())
}
