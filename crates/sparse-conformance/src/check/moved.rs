//! What operations that only move data, or add in a fixed order, have in common: the reference has the answer, bit for
//! bit.

use super::Expected;
use crate::case::Problem;
use crate::memory::Memory;
use crate::product::Bounded;
use crate::subject::{Call, Key, Setting};
use crate::suite::Suite;
use sparse_core::{Error, PlanOptions, Result};

/// A call without factors and input operand.
pub(crate) fn plain_call(y: Memory) -> Call {
    Call { label: String::new(), alpha: Default::default(), beta: Default::default(), x: Memory::none(), y }
}

/// What the reference makes of the problem.
pub(crate) fn by_reference(
    key: &Key,
    setting: &Setting,
    call: &Call,
    problem: &Problem,
    reference: &Suite,
) -> Result<Expected> {
    let subject =
        reference.subject(key).ok_or_else(|| Error::unsupported(key.name(), "the reference lacks it"))?;
    let mut trial = subject.prepare(&problem.matrix, setting, &PlanOptions::default())?;
    let mut y = call.y.clone();
    match trial.run(call, &mut y) {
        Err(Error::Format { .. }) => Ok(Expected { refused: true, ..Expected::default() }),
        outcome => {
            let outcome = outcome?;
            let y = y.elements().map(|value| Bounded { value, bound: 0.0 }).collect();
            // The reference knows of distinct entries only where they are sorted; a backend may know more.
            let (sorted, unique) = outcome.claims.unwrap_or_default();
            let claims = (sorted, unique || problem.matrix.is_distinct());
            Ok(Expected { y, moved: true, made: outcome.made, claims, ..Expected::default() })
        }
    }
}
