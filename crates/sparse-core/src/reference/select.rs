//! Selection: the matrix's own, entry by entry.

use super::{Reference, algorithms, sequential};
use crate::error::Result;
use crate::format::{Axis, Compressed, Selection};
use crate::index::Index;
use crate::op::SelectKernel;
use crate::plan::{Algorithm, Choice, KernelPlan, PlanOptions};
use crate::scalar::Scalar;
use crate::space::Host;

/// The plan of a selection: what is selected.
#[derive(Debug)]
pub struct SelectChoice {
    /// The algorithm, and why.
    pub choice: Choice,
    /// The chosen rows.
    pub rows: Selection<'static>,
    /// The chosen columns.
    pub cols: Selection<'static>,
}

impl KernelPlan for SelectChoice {
    fn choice(&self) -> &Choice {
        &self.choice
    }
}

impl<A: Axis, T: Scalar, I: Index, O: Index> SelectKernel<Compressed<A, T, Host, I, O>> for Reference {
    type Plan = SelectChoice;

    fn select_algorithms(&self) -> &'static [Algorithm] {
        algorithms()
    }

    fn plan_select(
        &self,
        _: &Compressed<A, T, Host, I, O>,
        rows: &Selection<'_>,
        cols: &Selection<'_>,
        options: &PlanOptions,
    ) -> Result<SelectChoice> {
        let choice = sequential("select", options)?;
        Ok(SelectChoice { choice, rows: rows.clone().into_owned(), cols: cols.clone().into_owned() })
    }

    unsafe fn run_select(
        &self,
        plan: &mut SelectChoice,
        a: &Compressed<A, T, Host, I, O>,
    ) -> Result<Compressed<A, T, Host, I, O>> {
        a.select(plan.rows.clone(), plan.cols.clone())
    }
}
