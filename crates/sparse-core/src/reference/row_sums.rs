//! The sums of the rows, for every format.

use super::{ALGORITHMS, Entries, Reference, sequential};
use crate::error::Result;
use crate::op::{AccOf, RowSumsKernel};
use crate::plan::{Algorithm, Choice, PlanOptions};
use crate::scalar::Scalar;

impl<M: Entries> RowSumsKernel<M> for Reference {
    type Plan = Choice;

    fn row_sums_algorithms(&self) -> &'static [Algorithm] {
        ALGORITHMS
    }

    fn plan_row_sums(&self, _: &M, options: &PlanOptions) -> Result<Choice> {
        sequential("row_sums", options)
    }

    unsafe fn row_sums(&self, _: &mut Choice, a: &M, sums: &mut [M::Scalar]) -> Result<()> {
        let mut totals = vec![AccOf::<M>::ZERO; a.rows()];
        a.entries().for_each(|(i, _, value)| totals[i] += value.to_acc());
        sums.iter_mut().zip(totals).for_each(|(sum, total)| *sum = Scalar::from_acc(total));
        Ok(())
    }
}
