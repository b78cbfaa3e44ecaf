//! Criterion benchmarks of every operation on every backend present, each algorithm by itself: for changes of one
//! kernel. `cargo xtask bench` compares with peers.
//!
//! A name is backend, operation, format, type and matrix: `cpu/spmv/csr/f32/stencil_5`, with the plan's own choice of
//! an algorithm; a forced algorithm comes last. Arguments select by a part of the name, and one that begins with a
//! backend opens no other:
//!
//! ```text
//! cargo bench -p sparse-bench -- cpu/spmv/csr
//! ```
//!
//! The throughput is in bytes that have to move: every operand and result once, as documented in the file of an
//! operation; indices and offsets have four bytes each, as do values but where another type is named. `--test` runs
//! everything once on small matrices.

#![allow(clippy::print_stderr, reason = "a benchmark says what it leaves out")]

mod bench;
mod cg;
mod convert;
mod dense_to_csr;
mod prune;
mod row_statistics;
mod scan;
mod select;
mod sort;
mod spmm;
mod spmv;
mod to_dense;
mod vector;
mod workload;

use backend_cpu::Cpu;
use backend_cuda::CUDA;
use backend_opencl::OPENCL;
use bench::Bench;
use criterion::Criterion;
use sparse_core::Result;
use sparse_core::op::AllTypes;
use std::time::Duration;

/// The backends to open.
const BACKENDS: [&str; 4] = ["cpu", "opencl", "sycl", "cuda"];

fn main() {
    let criterion = Criterion::default().warm_up_time(Duration::from_secs(1));
    let mut criterion = criterion.measurement_time(Duration::from_secs(2)).configure_from_args();
    run(&mut criterion, "cpu", Cpu::new);
    run(&mut criterion, "opencl", || OPENCL.open_preferred());
    #[cfg(feature = "sycl")]
    run(&mut criterion, "sycl", || backend_opencl::sycl::SYCL.open_preferred());
    run(&mut criterion, "cuda", || CUDA.open_preferred());
    criterion.final_summary();
}

/// Times every operation on a backend, or prints why there is no device.
fn run<B: AllTypes>(criterion: &mut Criterion, name: &'static str, open: impl FnOnce() -> Result<B>) {
    if !is_wanted(name) {
        return;
    }
    let backend = match open() {
        Ok(backend) => backend,
        Err(error) => return eprintln!("left out: {name}: {error}"),
    };
    let mut bench = Bench::new(criterion, &backend, name);
    spmv::run(&mut bench);
    spmm::run(&mut bench);
    dense_to_csr::run(&mut bench);
    to_dense::run(&mut bench);
    convert::run(&mut bench);
    sort::run(&mut bench);
    prune::run(&mut bench);
    select::run(&mut bench);
    row_statistics::run(&mut bench);
    scan::run(&mut bench);
    vector::run(&mut bench);
    cg::run(&mut bench);
}

/// False if an argument begins with the name of another backend.
fn is_wanted(name: &str) -> bool {
    let named =
        |argument: &str| BACKENDS.into_iter().find(|backend| argument.split('/').next() == Some(backend));
    let mut named = std::env::args().skip(1).filter_map(|argument| named(&argument)).peekable();
    named.peek().is_none() || named.any(|backend| backend == name)
}
