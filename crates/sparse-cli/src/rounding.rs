//! Integers that the type of values does not represent.

use crate::context::Context;
use anyhow::Result;
use nnz::DType;
use nnz::error::Error;
use nnz::io::any::RoundedIntegers;
use std::path::Path;

/// Warns of integers that are rounded; under `--strict` they are an error.
pub(crate) fn check(
    context: &Context,
    path: &Path,
    rounded: Option<RoundedIntegers>,
    dtype: DType,
) -> Result<()> {
    let Some(RoundedIntegers { count, first, position, line }) = rounded else {
        return Ok(());
    };
    let element = position.map(|position| format!("element {position}: ")).unwrap_or_default();
    let others = if count > 1 { format!(", the first of {count} such integers") } else { String::new() };
    let error = |reason| Error::File { path: path.into(), line, reason };
    if context.is_strict() {
        return Err(error(format!("{element}{dtype} would round {first}{others}")).into());
    }
    context.warn(error(format!("{element}{dtype} rounds {first}{others}; --strict refuses that")));
    Ok(())
}
