//! Checks of operands: their contexts and their sizes.

use crate::error::{Error, Result};
use crate::space::ContextId;

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
pub(crate) fn check_contexts(
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
