//! Sorting: a plan sorts the pattern, the device moves the values.

use super::available_algorithms::Needs;
use crate::Device;
use crate::primitive::coordinates::{Coordinates, RADIX_SORT};
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
    /// The algorithms of COO.
    enum CooSortAlgorithm needs Needs {
        RadixSort = RADIX_SORT, Needs::Nothing;
    }
}

algorithms! {
    /// The algorithms of CSR and CSC.
    enum CompressedSortAlgorithm needs Needs {
        RadixSort = Algorithm { chosen: "otherwise", ..RADIX_SORT }, Needs::Nothing;
        RowRanks =
            Algorithm::new("row_ranks", "rows of CSR, or columns of CSC, with at most 64 entries")
                .preprocessing("the pattern of the result and the order of the entries, counted in each row"),
        Needs::Nothing;
    }
}

/// The longest row that is sorted by ranks: its entries are compared with each other.
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
        let automatic = match a.order().sorted {
            true => (CompressedSortAlgorithm::RadixSort, "the rows are sorted already"),
            false if self.longest_row(a.offsets())? <= LONGEST => {
                (CompressedSortAlgorithm::RowRanks, "the rows are short")
            }
            false => (CompressedSortAlgorithm::RadixSort, "some rows are long"),
        };
        let offered = self.offered::<CompressedSortAlgorithm>();
        let (algorithm, choice) = self.choose("sort", options, offered, automatic)?;
        match algorithm {
            CompressedSortAlgorithm::RadixSort => {
                Coordinates::along(self, a.into())?.compress(self, choice, Duplicates::Keep)
            }
            CompressedSortAlgorithm::RowRanks => Ok(by_ranks(self, a.into())?.plan(choice)),
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
        self.offered::<CooSortAlgorithm>()
    }

    fn plan_sort(&self, a: &Coo<T, Device, I>, options: &PlanOptions) -> Result<Self::Plan> {
        let (CooSortAlgorithm::RadixSort, choice) =
            self.choose_only("sort", options, CooSortAlgorithm::RadixSort)?;
        let mut coordinates = Coordinates::of_coo(self, a.into(), true)?;
        let unique = coordinates.are_unique(self)?;
        let order = IndexOrder { major_sorted: true, sorted: true, unique };
        coordinates.into_coo(self, choice, true, order)
    }

    unsafe fn run_sort(&self, plan: &mut Self::Plan, a: &Coo<T, Device, I>) -> Result<Coo<T, Device, I>> {
        plan.run(self, StoredValues::values(a))
    }
}
