//! Sorting: a plan sorts the pattern, the device moves the values.

use super::available_algorithms::Needs;
use super::entry_sort::SortAlgorithm;
use crate::Device;
use crate::primitive::coordinates::{Coordinates, ONESWEEP, ONESWEEP_FILE, RADIX_SORT, Sorter};
use crate::primitive::positions::Positions;
use crate::primitive::raw::RawCompressed;
use crate::primitive::rearrangement::{Arrays, Rearrangement, Source};
use crate::primitive::stored_values::StoredValues;
use sparse_core::format::IndexOrder;
use sparse_core::op::{Duplicates, SortKernel};
use sparse_core::{
    Algorithm, Axis, Backend, Compressed, Coo, Index, PlanOptions, Result, Scalar, algorithms,
};

algorithms! {
    /// The algorithms of CSR and CSC.
    enum CompressedSortAlgorithm needs Needs {
        Onesweep = Algorithm {
            chosen: "longer rows: fewer than 2³⁰ entries, either index of which fits in 64 bits with the position of the entry",
            ..ONESWEEP
        },
        Needs::File(ONESWEEP_FILE);
        RadixSort = RADIX_SORT, Needs::Nothing;
        RowRanks =
            Algorithm::new("row_ranks", "rows of CSR, or columns of CSC, with at most 64 entries")
                .preprocessing("the pattern of the result and the order of the entries, counted in each row"),
        Needs::Nothing;
    }
}

impl CompressedSortAlgorithm {
    /// The sorter of all entries, unless each row is sorted by itself.
    fn sorter(self) -> Option<Sorter> {
        match self {
            Self::Onesweep => Some(Sorter::Onesweep),
            Self::RadixSort => Some(Sorter::RadixSort),
            Self::RowRanks => None,
        }
    }
}

/// The longest row that is sorted by ranks, for which all pairs of its entries are compared.
const LONGEST: usize = 64;

/// The arrays of the matrix with sorted rows, by the rank of each entry in its row.
fn by_ranks(backend: &Device, a: RawCompressed<'_>) -> Result<Arrays> {
    let (nnz, index, offset) = (a.nnz(), a.indices.index_type(), a.offsets.index_type());
    let indices = backend.allocate_raw(nnz, index.bytes())?;
    let positions = Positions::allocate_as(backend, nnz, offset)?;
    let found = backend.zeros::<i32>(1)?;
    let kernel = backend.kernel("row_ranks", "row_ranks", a.defines())?;
    let launch = backend.launch(&kernel).size(a.rows).size(nnz).buffer(a.offsets).buffer(a.indices);
    launch.buffer(&indices).positions(&positions).buffer(&found).items(nnz)?;
    let offsets = backend.duplicate(a.offsets)?;
    let values = backend.allocate_raw(nnz, a.dtype.bytes())?;
    let source = Source::gather(backend, a.dtype, positions)?;
    let unique = backend.download(&found)?[0] == 0;
    let order = IndexOrder { major_sorted: true, sorted: true, unique };
    Ok(Arrays { extents: (a.rows, a.cols), offsets, indices, values, order, source })
}

impl<A: Axis, T: Scalar, I: Index, O: Index> SortKernel<Compressed<A, T, Device, I, O>> for Device {
    type Plan = Rearrangement<Compressed<A, T, Device, I, O>>;

    fn sort_algorithms(&self) -> &'static [Algorithm] {
        self.offered::<CompressedSortAlgorithm>()
    }

    fn plan_sort(&self, a: &Compressed<A, T, Device, I, O>, options: &PlanOptions) -> Result<Self::Plan> {
        let (shape, nnz) = ((a.nrows(), a.ncols()), a.nnz());
        let sort = match Sorter::choose(self, shape, nnz).0 {
            Sorter::Onesweep => CompressedSortAlgorithm::Onesweep,
            Sorter::RadixSort => CompressedSortAlgorithm::RadixSort,
        };
        let automatic = match a.order().sorted {
            true => (sort, "the rows are sorted already"),
            false if self.longest_row(a.offsets())? <= LONGEST => {
                (CompressedSortAlgorithm::RowRanks, "the rows are short")
            }
            false => (sort, "some rows are long"),
        };
        let fitting = self.offered_if(&|algorithm: CompressedSortAlgorithm| {
            algorithm.sorter().is_none_or(|sorter| sorter.fits(shape, nnz))
        });
        let (algorithm, choice) = self.choose("sort", options, fitting, automatic)?;
        match algorithm.sorter() {
            Some(sorter) => {
                Coordinates::along_by(self, a.into(), sorter)?.compress(self, choice, Duplicates::Keep)
            }
            None => Ok(by_ranks(self, a.into())?.plan(choice)),
        }
    }

    unsafe fn run_sort(
        &self,
        plan: &mut Self::Plan,
        a: &Compressed<A, T, Device, I, O>,
    ) -> Result<Compressed<A, T, Device, I, O>> {
        plan.run(self, StoredValues::values(a))
    }
}

impl<T: Scalar, I: Index> SortKernel<Coo<T, Device, I>> for Device {
    type Plan = Rearrangement<Coo<T, Device, I>>;

    fn sort_algorithms(&self) -> &'static [Algorithm] {
        self.offered::<SortAlgorithm>()
    }

    fn plan_sort(&self, a: &Coo<T, Device, I>, options: &PlanOptions) -> Result<Self::Plan> {
        let (sorter, choice) = self.choose_sorter("sort", options, (a.nrows(), a.ncols()), a.nnz())?;
        let mut coordinates = Coordinates::of_coo_by(self, a.into(), true, sorter)?;
        let unique = coordinates.are_unique(self)?;
        let order = IndexOrder { major_sorted: true, sorted: true, unique };
        coordinates.into_coo(self, choice, true, order)
    }

    unsafe fn run_sort(&self, plan: &mut Self::Plan, a: &Coo<T, Device, I>) -> Result<Coo<T, Device, I>> {
        plan.run(self, StoredValues::values(a))
    }
}
