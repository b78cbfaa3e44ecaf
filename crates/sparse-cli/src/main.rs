//! The command `nnz`: sparse matrices from the shell.

mod analysis;
mod arguments;
mod batch;
mod claim;
mod command;
mod context;
mod failure;
mod file;
mod format;
mod hypersparse;
mod multiply;
mod named_device;
mod operand;
mod pair;
mod parts;
mod picture;
mod product;
mod ranks;
mod rounding;
mod selection;
mod storage;
mod text;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = arguments::Arguments::parse();
    failure::exit_code(arguments.run())
}
