//! Sorting: a plan sorts the pattern, the device moves the values.

use super::available_algorithms::Needs;
use crate::Device;
use crate::primitive::coordinates::{Coordinates, RADIX_SORT};
use crate::primitive::rearrangement::Rearrangement;
use crate::primitive::stored_values::StoredValues;
use sparse_core::format::IndexOrder;
use sparse_core::op::{Duplicates, SortKernel};
use sparse_core::{Algorithm, Axis, Choice, Compressed, Coo, Index, PlanOptions, Result, Scalar, algorithms};

algorithms! {
    /// The algorithms of sorting.
    enum SortAlgorithm needs Needs {
        RadixSort = RADIX_SORT, Needs::Nothing;
    }
}

fn choose(backend: &Device, options: &PlanOptions) -> Result<Choice> {
    let (SortAlgorithm::RadixSort, choice) =
        backend.choose_only("sort", options, SortAlgorithm::RadixSort)?;
    Ok(choice)
}

impl<A: Axis, T: Scalar, I: Index, O: Index> SortKernel<Compressed<A, T, Device, I, O>> for Device {
    type Plan = Rearrangement<Compressed<A, T, Device, I, O>>;

    fn sort_algorithms(&self) -> &'static [Algorithm] {
        self.offered::<SortAlgorithm>()
    }

    fn plan_sort(&self, a: &Compressed<A, T, Device, I, O>, options: &PlanOptions) -> Result<Self::Plan> {
        let choice = choose(self, options)?;
        Coordinates::along(self, a.into())?.compress(self, choice, Duplicates::Keep)
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
        let choice = choose(self, options)?;
        let mut coordinates = Coordinates::of_coo(self, a.into(), true)?;
        let unique = coordinates.are_unique(self)?;
        let order = IndexOrder { major_sorted: true, sorted: true, unique };
        coordinates.into_coo(self, choice, true, order)
    }

    unsafe fn run_sort(&self, plan: &mut Self::Plan, a: &Coo<T, Device, I>) -> Result<Coo<T, Device, I>> {
        plan.run(self, StoredValues::values(a))
    }
}
