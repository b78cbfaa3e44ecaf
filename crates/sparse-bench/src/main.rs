//! Ours beside its peers, in one run: medians of interleaved runs, with the bytes that had to move.
//!
//! `cargo xtask bench` builds and runs this; it needs nothing at run time except, for SciPy's figures, a Python that
//! finds SciPy (`PYTHONPATH`), for cuSPARSE's its library (`LD_LIBRARY_PATH`), and for ViennaCL's the library compiled
//! from `peer/viennacl.cpp` (`NNZ_VIENNACL`).

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command talks to its user")]

mod arguments;
mod check;
mod choice;
mod conversion;
mod device;
mod limit;
mod measure;
mod multigrid;
mod op;
mod peer;
mod product;
mod report;
mod seed001;
mod sparse_product;
mod traffic;
mod value;
mod workload;

use anyhow::Result;
use arguments::{Arguments, Suite, Target};
use clap::Parser;
use report::Report;
use std::process::ExitCode;

fn main() -> Result<ExitCode> {
    let arguments = Arguments::parse();
    if !arguments.from.is_empty() {
        if seed001::show_recorded(&arguments)? {
            return Ok(ExitCode::SUCCESS);
        }
        return Report::recorded(&arguments)?.finish().map(|()| ExitCode::SUCCESS);
    }
    if arguments.suite == Suite::Seed001 {
        return seed001::run(&arguments).map(|()| ExitCode::SUCCESS);
    }
    match arguments.target() {
        Target::Cpu => op::run(&arguments).map(|()| ExitCode::SUCCESS),
        Target::Cuda => device::run::<device::Cuda>(&arguments),
        Target::Opencl => device::run::<device::OpenCl>(&arguments),
        #[cfg(feature = "sycl")]
        Target::Sycl => device::run::<device::Sycl>(&arguments),
    }
}
