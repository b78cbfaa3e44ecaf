//! Every format to dense: zeros, then one value for each coordinate that occurs.

use super::entries::{Entry, merge, sorted};
use super::{Entries, Reference, algorithms, sequential};
use crate::error::Result;
use crate::format::DenseViewMut;
use crate::op::{Duplicates, ToDenseKernel};
use crate::plan::{Algorithm, Choice, PlanOptions};
use crate::scalar::Scalar;

impl<M: Entries> ToDenseKernel<M> for Reference {
    type Plan = Choice;

    fn to_dense_algorithms(&self) -> &'static [Algorithm] {
        algorithms()
    }

    fn plan_to_dense(&self, _: &M, options: &PlanOptions) -> Result<Choice> {
        sequential("to_dense", options)
    }

    unsafe fn run_to_dense(&self, _: &mut Choice, a: &M, dense: DenseViewMut<'_, M::Scalar>) -> Result<()> {
        write(sorted(a.entries(), &|i, j| (i, j)), dense)
    }
}

/// Writes zeros, and the sums of entries in order.
fn write<T: Scalar>(entries: Vec<Entry<T>>, mut dense: DenseViewMut<'_, T>) -> Result<()> {
    for i in 0..dense.nrows() {
        for j in 0..dense.ncols() {
            *dense.at_mut(i, j) = T::ZERO;
        }
    }
    for (i, j, value) in merge(entries, Duplicates::Sum)? {
        *dense.at_mut(i, j) = value;
    }
    Ok(())
}
