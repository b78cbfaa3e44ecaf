//! The expected results of each operation: one file each, written once for every backend, format and type.

pub(crate) mod convert;
pub(crate) mod dense_to_csr;
pub(crate) mod gradient_step;
pub(crate) mod prune;
pub(crate) mod row_statistics;
pub(crate) mod rule;
pub(crate) mod scan;
pub(crate) mod sort;
pub(crate) mod spmm;
pub(crate) mod spmv;
pub(crate) mod to_dense;
pub(crate) mod vector;

use crate::array_dump::ArrayDump;
use crate::case::{Case, Problem};
use crate::error_bound::Bounded;
use crate::guarded_operand::GuardedOperand;
use crate::subject::{Call, Key, Setting};
use crate::suite::Suite;
use sparse_core::{Error, PlanOptions, Result};

/// The expected result of a run.
#[derive(Debug, Clone, Default)]
pub struct Expected {
    /// The elements of the output, column by column.
    pub y: Vec<Bounded>,
    /// True if the elements were moved, not computed: then −0 is not +0.
    pub moved: bool,
    /// The matrix or the numbers that the operation makes.
    pub made: ArrayDump,
    /// The order of a made matrix: (sorted, unique).
    pub claims: (bool, bool),
    /// True if a made matrix must be marked as sorted and unique.
    pub canonical: bool,
    /// True if the run must be refused with [`Error::Format`](sparse_core::Error::Format).
    pub refused: bool,
}

/// An operation's part of the table. The defaults are those of an operation that makes something from only a matrix.
pub trait Check: Sync {
    /// True if the case applies to the operation.
    fn takes(&self, _: &Case) -> bool {
        true
    }

    /// The settings of plans; none if the matrix is too large for the operation.
    fn settings(&self, _: &Key, _: &Problem) -> Vec<Setting> {
        vec![Setting::Plain]
    }

    /// The operands of the runs of a plan.
    fn calls(&self, _: &Setting, _: &Problem) -> Vec<Call> {
        vec![Call::plain(GuardedOperand::none())]
    }

    /// Operands whose shapes do not fit, which must be refused.
    fn misfits(&self, _: &Setting, _: &Problem) -> Vec<Call> {
        vec![]
    }

    /// True if settings, calls and answers are the same for all formats and types of indices.
    fn is_of_all_formats(&self) -> bool {
        false
    }

    /// The part of a snapshot's label that distinguishes answers of one operation, setting and call: nothing if all
    /// formats agree, the format if they do not; `None` if answers depend on the types.
    fn scope(&self, key: &Key, _: &Setting) -> Option<String> {
        Some(match () {
            () if !self.is_of_all_formats() => key.format.clone(),
            () if key.is_batch() => "batch".into(),
            () => String::new(),
        })
    }

    /// The expected result of a run. `reference` is the serial reference, whose answer counts, bit for bit, where
    /// operations only move data or add in a fixed order.
    ///
    /// # Errors
    /// Those of the reference.
    fn expected(
        &self,
        key: &Key,
        setting: &Setting,
        call: &Call,
        problem: &Problem,
        reference: &Suite,
    ) -> Result<Expected> {
        by_reference(key, setting, call, problem, reference)
    }
}

/// The reference's result for the problem.
fn by_reference(
    key: &Key,
    setting: &Setting,
    call: &Call,
    problem: &Problem,
    reference: &Suite,
) -> Result<Expected> {
    let subject =
        reference.subject(key).ok_or_else(|| Error::unsupported(key.name(), "the reference lacks it"))?;
    let given = subject.given(&problem.matrix)?;
    let mut trial = given.prepare(setting, &PlanOptions::default())?;
    let mut y = call.y.clone();
    match trial.run(call, &mut y) {
        Err(Error::Format { .. }) => Ok(Expected { refused: true, ..Expected::default() }),
        outcome => {
            let outcome = outcome?;
            let y = y.elements().map(|value| Bounded { value, bound: 0.0 }).collect();
            // The reference knows that entries are distinct only if they are sorted; a backend may know more.
            let claims =
                outcome.claims.map(|(sorted, unique)| (sorted, unique || problem.matrix.is_distinct()));
            let claims = claims.unwrap_or_default();
            Ok(Expected { y, moved: true, made: outcome.made, claims, ..Expected::default() })
        }
    }
}
