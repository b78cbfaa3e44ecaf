//! Sorting: a stable sort by coordinate.

use super::convert::compress;
use super::entries::sorted;
use super::{Entries, Entry, Reference, algorithms, sequential};
use crate::error::Result;
use crate::format::{Axis, Compressed, Coo};
use crate::index::Index;
use crate::op::SortKernel;
use crate::plan::{Algorithm, Choice, PlanOptions};
use crate::scalar::Scalar;
use crate::space::Host;

/// A format that can be rebuilt from some or all of its entries, in any order.
pub trait Rebuild: Entries {
    /// The coordinate in the order by which the format sorts.
    fn key(row: usize, col: usize) -> (usize, usize);

    /// A matrix of the same shape with these entries, in this order.
    ///
    /// # Errors
    /// Those of the format's checked constructor.
    fn rebuild(&self, entries: Vec<Entry<Self::Scalar>>) -> Result<Self>
    where
        Self: Sized;
}

impl<A: Axis, T: Scalar, I: Index, O: Index> Rebuild for Compressed<A, T, Host, I, O> {
    fn key(row: usize, col: usize) -> (usize, usize) {
        A::swap(row, col)
    }

    fn rebuild(&self, entries: Vec<Entry<T>>) -> Result<Self> {
        compress(self.nrows(), self.ncols(), entries)
    }
}

impl<T: Scalar, I: Index> Rebuild for Coo<T, Host, I> {
    fn key(row: usize, col: usize) -> (usize, usize) {
        (row, col)
    }

    fn rebuild(&self, entries: Vec<Entry<T>>) -> Result<Self> {
        Coo::from_triplets(self.nrows(), self.ncols(), entries)
    }
}

impl<M: Rebuild> SortKernel<M> for Reference {
    type Plan = Choice;

    fn sort_algorithms(&self) -> &'static [Algorithm] {
        algorithms()
    }

    fn plan_sort(&self, _: &M, options: &PlanOptions) -> Result<Choice> {
        sequential("sort", options)
    }

    unsafe fn run_sort(&self, _: &mut Choice, a: &M) -> Result<M> {
        a.rebuild(sorted(a.entries(), &M::key))
    }
}
