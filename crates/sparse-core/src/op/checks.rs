//! Checks of operands before a plan is made or runs: its pattern, their sizes and their contexts.

use crate::error::{Error, Result};
use crate::format::PatternId;
use crate::space::ContextId;

/// A pattern that a plan was made for. Has no type parameter, so that checks are compiled once.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bound {
    op: &'static str,
    context: ContextId,
    pattern: PatternId,
}

impl Bound {
    /// Binds to the pattern of a matrix in the context `found`, which must be the backend's.
    pub(super) fn new(
        op: &'static str,
        backend: ContextId,
        found: ContextId,
        pattern: PatternId,
    ) -> Result<Self> {
        check_context(op, "the matrix", backend, found)?;
        Ok(Self { op, context: backend, pattern })
    }

    /// An error unless a matrix has the pattern that was bound.
    pub(super) fn check(&self, pattern: PatternId) -> Result<()> {
        if pattern == self.pattern {
            return Ok(());
        }
        Err(Error::PlanMismatch {
            op: self.op,
            reason: "the matrix has another pattern than the plan was made for; with_values keeps one".into(),
        })
    }

    /// An error unless the matrix has the bound pattern, and every operand (name, expected size, found size) has its
    /// size and the backend's context.
    pub(super) fn check_operands(
        &self,
        pattern: PatternId,
        sizes: &[(&str, usize, usize)],
        contexts: &[(&'static str, ContextId)],
    ) -> Result<()> {
        self.check(pattern)?;
        for &(what, expected, found) in sizes {
            check_size(self.op, what, expected, found)?;
        }
        check_contexts(self.op, self.context, contexts)
    }
}

/// An error unless an operand is in the backend's context.
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

/// An error unless all operands are in the backend's context.
pub(super) fn check_contexts(
    op: &'static str,
    expected: ContextId,
    operands: &[(&'static str, ContextId)],
) -> Result<()> {
    operands.iter().try_for_each(|&(operand, found)| check_context(op, operand, expected, found))
}

/// An error unless an operand has the expected size.
pub(crate) fn check_size(op: &'static str, what: &str, expected: usize, found: usize) -> Result<()> {
    if expected == found {
        return Ok(());
    }
    Err(Error::shape(op, format_args!("{what} is {found} where {expected} is needed")))
}
