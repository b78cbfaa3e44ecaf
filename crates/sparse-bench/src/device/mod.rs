//! The suites of devices: ours beside a library that runs on the same device.

mod add;
mod bench;
mod cg;
mod comparison;
mod conversion;
mod coo_spmv;
mod coo_to_csr;
mod dense_to_csr;
mod device_timer;
mod galerkin;
mod gather;
mod memory_pool;
mod sddmm;
mod spgemm;
mod spmm;
mod spmv;
mod trisolve;

use crate::arguments::{Arguments, Suite};
use crate::choice;
use crate::op::formats;
use crate::report::Report;
use crate::value::{Value, with_type};
use crate::workload;
use anyhow::Result;
use bench::{Bench, Graph, OtherData};
#[cfg(feature = "sycl")]
pub(crate) use device_timer::Sycl;
pub(crate) use device_timer::{Cuda, OpenCl};
use device_timer::{DeviceTimer, Work};
use sparse_core::{Csr, SparseFormat};
use std::cell::RefCell;
use std::process::ExitCode;
use std::time::Duration;

/// Times one operation on matrices that it makes.
type OnOwnMatrices<D> = fn(&Bench<'_, D>, &mut Report) -> Result<()>;

/// Times one operation on a matrix.
type OnGraph<D, T> = fn(&Bench<'_, D>, &mut Report, &Graph<'_, T>) -> Result<()>;

/// The operations of devices.
const OPERATIONS: [&str; 14] = [
    "dense_to_csr",
    "coo_to_csr",
    "spmv",
    "coo_spmv",
    "spmm",
    "sddmm",
    "spgemm",
    "galerkin",
    "add",
    "trisolve",
    "cg",
    "seed-001",
    "seed-003",
    "seed-004",
];

/// The exit code where there is no device.
const NO_DEVICE: u8 = 3;

/// Runs the suite of a driver.
pub(crate) fn run<D: DeviceTimer>(arguments: &Arguments) -> Result<ExitCode> {
    arguments.check_ops(&OPERATIONS)?;
    if let Some(reason) = D::LIBRARY.probe().reason {
        eprintln!("no {} device: {reason}", D::LIBRARY.name);
        return Ok(ExitCode::from(NO_DEVICE));
    }
    if arguments.suite == Suite::Choice {
        choose::<D>(arguments)?;
        return Ok(ExitCode::SUCCESS);
    }
    let bench = Bench::<D>::new(arguments)?;
    let mut report = bench.report()?;
    for value_type in arguments.types()? {
        with_type!(value_type, T => run_in::<D, T>(&bench, &mut report))?;
    }
    report.finish()?;
    Ok(ExitCode::SUCCESS)
}

/// Times the selected operations in a type.
fn run_in<D: DeviceTimer, T: Value>(bench: &Bench<'_, D>, report: &mut Report) -> Result<()> {
    let on_own_matrices: [(&str, OnOwnMatrices<D>); 11] = [
        ("dense_to_csr", dense_to_csr::run::<D, T>),
        ("coo_to_csr", coo_to_csr::run::<D, T>),
        ("sddmm", sddmm::run::<D, T>),
        ("spgemm", spgemm::run::<D, T>),
        ("galerkin", galerkin::run::<D, T>),
        ("add", add::run::<D, T>),
        ("trisolve", trisolve::run::<D, T>),
        ("seed-001", dense_to_csr::run_batches::<D, T>),
        ("seed-003", compare_formats::<D, T>),
        ("spmv", multiply_regular::<D, T>),
        ("cg", cg::run::<D, T>),
    ];
    for (_, run) in on_own_matrices.iter().filter(|(op, _)| bench.arguments.wants_op(op)) {
        run(bench, report)?;
    }
    on_graphs::<D, T>(bench, report)
}

/// Times the algorithms among which plans choose.
fn choose<D: DeviceTimer>(arguments: &Arguments) -> Result<()> {
    let device = D::device()?;
    let other = arguments.cold.then(|| OtherData::new(&device, arguments)).transpose()?.map(RefCell::new);
    let clock = |times: usize, work: &mut Work<'_>| match &other {
        Some(other) => (0..times)
            .map(|_| other.borrow_mut().fill_cache(&device).and_then(|()| D::seconds(&device, work)))
            .sum(),
        None if times > 1 && D::replays(&device, work) => D::replayed(&device, times, work),
        None => D::seconds(&device, &mut || (0..times).try_for_each(|_| work())),
    };
    let peer = bench::peer::<D>(&device, arguments);
    choice::run(&device, &clock, Duration::ZERO, peer.as_ref(), arguments)
}

fn compare_formats<D: DeviceTimer, T: Value>(bench: &Bench<'_, D>, report: &mut Report) -> Result<()> {
    let clock = |work: &mut Work<'_>| D::seconds(&bench.device, work);
    formats::compare::<_, T>(&bench.device, &clock, bench.arguments, report)
}

fn multiply_regular<D: DeviceTimer, T: Value>(bench: &Bench<'_, D>, report: &mut Report) -> Result<()> {
    workload::for_each_regular(bench.arguments, |name, host: &Csr<T>| {
        spmv::run(bench, report, &Graph { name, device: host.to_device(&bench.device)?, host })
    })
}

/// Times the products with graphs, each of which is made once for all of them.
fn on_graphs<D: DeviceTimer, T: Value>(bench: &Bench<'_, D>, report: &mut Report) -> Result<()> {
    let arguments = bench.arguments;
    let products: [(&[&str], OnGraph<D, T>); 3] =
        [(&["spmv"], spmv::run), (&["coo_spmv"], coo_spmv::run), (&["spmm", "seed-004"], spmm::run)];
    let wanted = products.iter().filter(|(names, _)| names.iter().any(|op| arguments.wants_op(op)));
    let wanted: Vec<_> = wanted.map(|(_, run)| run).collect();
    if wanted.is_empty() {
        return Ok(());
    }
    workload::for_each_graph(
        arguments,
        |_| 1,
        |name: &str, host: &Csr<T>| {
            let graph = Graph { name, device: host.to_device(&bench.device)?, host };
            wanted.iter().try_for_each(|run| run(bench, report, &graph))
        },
    )
}
