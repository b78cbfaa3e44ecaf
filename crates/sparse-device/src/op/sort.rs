//! Sorting: a plan sorts the pattern on the host, the device moves the values.

use super::convert::Rearrangement;
use super::numbered::Target;
use crate::{Device, Driver};
use sparse_core::op::{Operations, SortKernel};
use sparse_core::reference::{Rebuild, Reference};
use sparse_core::{Algorithm, PlanOptions, Result};

const GATHER: &[Algorithm] = &[Algorithm::new("gather", "always")
    .preprocessing("the sorted pattern and the place of every value, by the serial reference on the host")];

impl<D: Driver, M: Target<D>> SortKernel<M> for Device<D>
where
    M::OnHost: Rebuild,
{
    type Plan = Rearrangement<D, M>;

    fn sort_algorithms(&self) -> &'static [Algorithm] {
        GATHER
    }

    fn plan_sort(&self, a: &M, options: &PlanOptions) -> Result<Self::Plan> {
        let choice = options.choose("sort", GATHER, "gather", "there is no other")?;
        Rearrangement::gather(self, choice, &Operations::sort(&Reference, &a.numbered(self)?)?)
    }

    unsafe fn sort(&self, plan: &mut Self::Plan, a: &M) -> Result<M> {
        plan.run(self, a.values())
    }
}
