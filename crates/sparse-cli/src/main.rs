//! The command `nnz`: sparse matrices from the shell.
//!
//! `arguments.rs` lists the subcommands, each of which has a file or folder in `command/`. `context.rs` has the global
//! options: device, value type, output. The other files are shared by several subcommands. All computing is done by the
//! methods of [`nnz::Matrix`].

mod algorithm;
mod analysis;
mod arguments;
mod batch;
mod claim;
mod command;
mod common_type;
mod context;
mod divided_rows;
mod failure;
mod file;
mod format;
mod hypersparse;
mod named_device;
mod operand;
mod option_values;
mod parts;
mod picture;
mod product;
mod ranks;
mod rounding;
mod selection;
#[cfg(feature = "server")]
mod settings;
mod storage;
mod text;

use std::io::{Write, stdout};
use std::process::ExitCode;

/// Results reuse the memory of earlier ones.
#[cfg(target_os = "linux")]
#[global_allocator]
static ALLOCATOR: recycler::Recycler = recycler::Recycler;

fn main() -> ExitCode {
    match arguments::Arguments::of_process() {
        Ok(arguments) => failure::exit_code(arguments.run()),
        Err(error) if error.use_stderr() => error.exit(),
        Err(help_or_version) => {
            let printed = help_or_version.print().and_then(|()| stdout().flush());
            failure::exit_code(context::printed(printed))
        }
    }
}
