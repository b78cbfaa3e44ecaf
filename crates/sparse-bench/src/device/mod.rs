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
use crate::workload;
use anyhow::Result;
use bench::{Bench, Graph};
#[cfg(feature = "sycl")]
pub(crate) use device_timer::Sycl;
pub(crate) use device_timer::{Cuda, OpenCl};
use device_timer::{DeviceTimer, Work};
use sparse_core::{Csr, SparseFormat};
use std::process::ExitCode;
use std::time::Duration;

/// Times one operation on matrices that it makes.
type OnOwnMatrices<D> = fn(&Bench<'_, D>, &mut Report) -> Result<()>;

/// Times one operation on a matrix.
type OnGraph<D> = fn(&Bench<'_, D>, &mut Report, &Graph<'_>) -> Result<()>;

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
    let on_own_matrices: [(&str, OnOwnMatrices<D>); 11] = [
        ("dense_to_csr", dense_to_csr::run),
        ("coo_to_csr", coo_to_csr::run),
        ("sddmm", sddmm::run),
        ("spgemm", spgemm::run),
        ("galerkin", galerkin::run),
        ("add", add::run),
        ("trisolve", trisolve::run),
        ("seed-001", dense_to_csr::run_batches),
        ("seed-003", compare_formats),
        ("spmv", multiply_regular),
        ("cg", cg::run),
    ];
    for (_, run) in on_own_matrices.iter().filter(|(op, _)| arguments.wants_op(op)) {
        run(&bench, &mut report)?;
    }
    on_graphs(&bench, &mut report)?;
    report.finish()?;
    Ok(ExitCode::SUCCESS)
}

/// Times the algorithms among which plans choose.
fn choose<D: DeviceTimer>(arguments: &Arguments) -> Result<()> {
    let device = D::device()?;
    let clock = |times: usize, work: &mut Work<'_>| match times > 1 && D::replays(&device, work) {
        true => D::replayed(&device, times, work),
        false => D::seconds(&device, &mut || (0..times).try_for_each(|_| work())),
    };
    let peer = bench::peer::<D>(&device, arguments);
    choice::run(&device, &clock, Duration::ZERO, peer.as_ref(), arguments)
}

fn compare_formats<D: DeviceTimer>(bench: &Bench<'_, D>, report: &mut Report) -> Result<()> {
    let clock = |work: &mut Work<'_>| D::seconds(&bench.device, work);
    formats::compare(&bench.device, &clock, bench.arguments, &bench.pattern, report)
}

fn multiply_regular<D: DeviceTimer>(bench: &Bench<'_, D>, report: &mut Report) -> Result<()> {
    let arguments = bench.arguments;
    for regular in workload::REGULAR.iter().filter(|regular| arguments.wants(regular.name)) {
        let host = regular.matrix(arguments.smoke)?;
        let device = host.to_device(&bench.device)?;
        spmv::run(bench, report, &Graph { name: regular.name, host: &host, device })?;
    }
    Ok(())
}

/// Times the products with graphs, each of which is made once for all of them.
fn on_graphs<D: DeviceTimer>(bench: &Bench<'_, D>, report: &mut Report) -> Result<()> {
    let arguments = bench.arguments;
    let products: [(&[&str], OnGraph<D>); 3] =
        [(&["spmv"], spmv::run), (&["coo_spmv"], coo_spmv::run), (&["spmm", "seed-004"], spmm::run)];
    let wanted = products.iter().filter(|(names, _)| names.iter().any(|op| arguments.wants_op(op)));
    let wanted: Vec<_> = wanted.map(|(_, run)| run).collect();
    if wanted.is_empty() {
        return Ok(());
    }
    workload::for_each_graph(arguments, |_| 1, &mut |name: &str, host: &Csr<f32>| {
        let graph = Graph { name, device: host.to_device(&bench.device)?, host };
        wanted.iter().try_for_each(|run| run(bench, report, &graph))
    })
}
