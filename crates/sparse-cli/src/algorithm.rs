//! The option `--algorithm`, and the report of the algorithm that a plan has chosen.

use crate::context::Context;
use crate::failure::usage;
use anyhow::Result;
use nnz::{Algorithm, Choice};

/// Fails unless the algorithm of --algorithm, if any, is in the table.
pub(crate) fn check_algorithm(named: Option<&str>, format: &str, table: &[Algorithm]) -> Result<()> {
    match named {
        Some(name) if !table.iter().any(|algorithm| algorithm.name == name) => {
            let names: Vec<&str> = table.iter().map(|algorithm| algorithm.name).collect();
            let names = names.join(", ");
            Err(usage(format_args!("--algorithm {name}: for {format} there are {names}")))
        }
        _ => Ok(()),
    }
}

/// Prints a plan's choice to stderr, if -v was given.
pub(crate) fn print_choice(context: &Context, op: &str, format: &str, choice: &Choice) {
    let Choice { algorithm, reason } = choice;
    context.detail(format_args!("{op}: {format}, {algorithm}: {reason}"));
}
