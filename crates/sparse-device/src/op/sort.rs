//! Sorting: a plan sorts the pattern, the device moves the values.

use super::convert::Rearrangement;
use crate::Device;
use crate::primitive::coordinates::{Coordinates, RADIX_SORT};
use crate::primitive::stored_values::StoredValues;
use sparse_core::format::IndexOrder;
use sparse_core::op::{Duplicates, SortKernel};
use sparse_core::{Algorithm, Axis, Choice, Compressed, Coo, Index, PlanOptions, Result, Scalar};

fn choose(options: &PlanOptions) -> Result<Choice> {
    options.choose("sort", RADIX_SORT, RADIX_SORT[0].name, "there is no other")
}

impl<A: Axis, T: Scalar, I: Index, O: Index> SortKernel<Compressed<A, T, Device, I, O>> for Device {
    type Plan = Rearrangement<Compressed<A, T, Device, I, O>>;

    fn sort_algorithms(&self) -> &'static [Algorithm] {
        RADIX_SORT
    }

    fn plan_sort(&self, a: &Compressed<A, T, Device, I, O>, options: &PlanOptions) -> Result<Self::Plan> {
        let choice = choose(options)?;
        Coordinates::along(self, a.into())?.compress(self, choice, Duplicates::Keep)
    }

    unsafe fn sort(
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
        RADIX_SORT
    }

    fn plan_sort(&self, a: &Coo<T, Device, I>, options: &PlanOptions) -> Result<Self::Plan> {
        let choice = choose(options)?;
        let mut coordinates = Coordinates::of_coo(self, a.into(), true)?;
        let unique = coordinates.are_unique(self)?;
        let order = IndexOrder { major_sorted: true, sorted: true, unique };
        coordinates.into_coo(self, choice, true, order)
    }

    unsafe fn sort(&self, plan: &mut Self::Plan, a: &Coo<T, Device, I>) -> Result<Coo<T, Device, I>> {
        plan.run(self, StoredValues::values(a))
    }
}
