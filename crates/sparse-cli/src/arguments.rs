//! The command line: global options and the list of subcommands.

use crate::command::*;
use crate::context::{Context, GlobalOptions};
use anyhow::Result;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use std::ffi::OsString;

/// Sparse matrices on CPUs, OpenCL devices, SYCL queues and CUDA GPUs.
///
/// Matrices are read from Matrix Market (.mtx, .mtx.gz), SciPy (.npz) and NumPy (.npy) files. Results go to stdout,
/// messages to stderr. Exit status: 0 success, 1 bad data or a failed check, 2 wrong usage, 3 no such backend on this
/// machine.
#[derive(Debug, Parser)]
#[command(name = "nnz", version, propagate_version = true)]
#[command(after_help = "Examples:
  nnz generate stencil_5 100 100 -o a.mtx
  nnz info a.mtx
  nnz generate uniform 10000 1 1 -o x.npy
  nnz spmv a.mtx x.npy -o b.npy
  nnz solve a.mtx b.npy -o x.npy --method cg

`nnz COMMAND --help` explains a command.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    global: GlobalOptions,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Devices(devices::Devices),
    Info(info::Info),
    Convert(convert::Convert),
    Compress(compress::Compress),
    Distribute(distribute::Distribute),
    Spmv(spmv::Spmv),
    Spmm(spmm::Spmm),
    Sddmm(sddmm::Sddmm),
    Spgemm(spgemm::Spgemm),
    Add(add::Add),
    Multiply(multiply::Multiply),
    Reduce(reduce::Reduce),
    Norm(norm::PrintNorm),
    Softmax(softmax::Softmax),
    Slice(slice::Slice),
    Permute(permute::Permute),
    Stack(stack::Stack),
    Kron(kron::Kron),
    Transpose(transpose::Transpose),
    Order(order::PrintOrder),
    Components(components::PrintComponents),
    Solve(solve::Solve),
    Trisolve(trisolve::Trisolve),
    Spy(spy::Spy),
    Advise(advise::Advise),
    Tune(tune::Tune),
    Generate(generate::Generate),
    #[cfg(feature = "server")]
    Serve(serve::Serve),
    #[cfg(feature = "server")]
    Token(token::Token),
    #[cfg(feature = "server")]
    Client(client::CallServer),
    Completions(completions::Completions),
}

impl Command {
    /// True for a server, which logs each request, with the time.
    fn is_server(&self) -> bool {
        match self {
            #[cfg(feature = "server")]
            Self::Serve(_) => true,
            _ => false,
        }
    }
}

impl Arguments {
    /// Parses the arguments of the process, with the settings of a file where `serve` has one.
    pub(crate) fn of_process() -> Result<Self, clap::Error> {
        let arguments: Vec<OsString> = std::env::args_os().collect();
        let command = Self::command();
        #[cfg(feature = "server")]
        let command = crate::settings::with_file(command, &arguments)?;
        Self::from_arg_matches(&command.try_get_matches_from(arguments)?)
    }

    /// Runs the subcommand.
    pub(crate) fn run(self) -> Result<()> {
        let context = Context::new(self.global, self.command.is_server())?;
        match self.command {
            Command::Devices(command) => command.run(&context),
            Command::Info(command) => command.run(&context),
            Command::Convert(command) => command.run(&context),
            Command::Compress(command) => command.run(&context),
            Command::Distribute(command) => command.run(&context),
            Command::Spmv(command) => command.run(&context),
            Command::Spmm(command) => command.run(&context),
            Command::Sddmm(command) => command.run(&context),
            Command::Spgemm(command) => command.run(&context),
            Command::Add(command) => command.run(&context),
            Command::Multiply(command) => command.run(&context),
            Command::Reduce(command) => command.run(&context),
            Command::Norm(command) => command.run(&context),
            Command::Softmax(command) => command.run(&context),
            Command::Slice(command) => command.run(&context),
            Command::Permute(command) => command.run(&context),
            Command::Stack(command) => command.run(&context),
            Command::Kron(command) => command.run(&context),
            Command::Transpose(command) => command.run(&context),
            Command::Order(command) => command.run(&context),
            Command::Components(command) => command.run(&context),
            Command::Solve(command) => command.run(&context),
            Command::Trisolve(command) => command.run(&context),
            Command::Spy(command) => command.run(&context),
            Command::Advise(command) => command.run(&context),
            Command::Tune(command) => command.run(&context),
            Command::Generate(command) => command.run(&context),
            #[cfg(feature = "server")]
            Command::Serve(command) => command.run(&context),
            #[cfg(feature = "server")]
            Command::Token(command) => command.run(&context),
            #[cfg(feature = "server")]
            Command::Client(command) => command.run(&context),
            Command::Completions(command) => command.run(&context),
        }
    }
}
