//! What ties a plan to a pattern.

use crate::backend::{Backend, SpaceOf};
use crate::error::{Error, Result};
use crate::format::{Matrix, PatternId};
use crate::space::ContextId;

/// A pattern that a plan was made for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bound {
    op: &'static str,
    pattern: PatternId,
}

impl Bound {
    /// Binds to the pattern of `a`, which must live where `backend` computes.
    pub(super) fn new<B: Backend, M: Matrix<Space = SpaceOf<B>>>(
        op: &'static str,
        backend: &B,
        a: &M,
    ) -> Result<Self> {
        check_context(op, "the matrix", backend.context(), a.context())?;
        Ok(Self { op, pattern: a.pattern_id() })
    }

    /// An error unless `a` has the pattern that was bound.
    pub(super) fn check<M: Matrix>(&self, a: &M) -> Result<()> {
        if a.pattern_id() == self.pattern {
            return Ok(());
        }
        Err(Error::PlanMismatch {
            op: self.op,
            reason: format!("the plan was made for {:?}, the matrix has {:?}", self.pattern, a.pattern_id()),
        })
    }
}

/// An error unless an operand lives in the backend's context.
pub(crate) fn check_context(
    op: &'static str,
    operand: &'static str,
    expected: ContextId,
    found: ContextId,
) -> Result<()> {
    if expected == found {
        return Ok(());
    }
    Err(Error::WrongContext { op, operand, expected: expected.number(), found: found.number() })
}

/// An error unless all operands live in the backend's context.
pub(crate) fn check_contexts(
    op: &'static str,
    expected: ContextId,
    operands: &[(&'static str, ContextId)],
) -> Result<()> {
    operands.iter().try_for_each(|&(operand, found)| check_context(op, operand, expected, found))
}

/// An error unless every operand has the size that the others demand: what it is, and the sizes wanted and found.
pub(crate) fn check_sizes(op: &'static str, sizes: &[(&str, usize, usize)]) -> Result<()> {
    sizes.iter().try_for_each(|&(what, expected, found)| check_size(op, what, expected, found))
}

/// An error unless an operand has the size that the others demand.
pub(crate) fn check_size(op: &'static str, what: &str, expected: usize, found: usize) -> Result<()> {
    if expected == found {
        return Ok(());
    }
    Err(Error::shape(op, format_args!("{what} is {found} where {expected} is needed")))
}
