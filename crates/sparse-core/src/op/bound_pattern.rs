//! The pattern that a plan was made for, and the checks of its operands against it.

use crate::checks::{check_context, check_contexts, check_size};
use crate::error::{Error, Result};
use crate::format::PatternId;
use crate::space::ContextId;

/// A pattern that a plan was made for. Has no type parameter, so that checks are compiled once.
#[derive(Debug, Clone, Copy)]
pub(super) struct BoundPattern {
    op: &'static str,
    context: ContextId,
    pattern: PatternId,
}

impl BoundPattern {
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
