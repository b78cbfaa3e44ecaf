//! The suites of devices: ours beside a library that runs on the same device.

mod cg;
pub(crate) mod conversion;
mod coo_spmv;
mod coo_to_csr;
mod dense_to_csr;
mod device_timer;
mod gather;
pub(crate) mod peer;
pub(crate) mod product;
mod spmm;
mod spmv;

use crate::arguments::{Arguments, Suite};
use crate::choice;
use crate::op::formats;
use crate::report::Report;
use crate::workload;
use anyhow::Result;
#[cfg(feature = "sycl")]
pub(crate) use device_timer::Sycl;
pub(crate) use device_timer::{Cuda, OpenCl};
use device_timer::{DeviceTimer, Work};
use peer::Peer;
use sparse_core::{Backend, Csr, Element, Space, SparseFormat};
use sparse_device::{Buffer, Device};
use std::cell::RefCell;
use std::process::ExitCode;

/// The common data of every benchmark of a device.
struct Bench<'a, D: DeviceTimer> {
    arguments: &'a Arguments,
    device: Device,
    peer: Option<D::Peer>,
    pattern: workload::Pattern,
    /// Two buffers that do not fit the cache.
    other: RefCell<[Buffer<u64>; 2]>,
}

/// A matrix, in both memories.
struct Graph<'a> {
    name: &'a str,
    host: &'a Csr<f32>,
    device: Csr<f32, Device>,
}

/// Times one operation on a matrix.
type OnGraph<D> = fn(&Bench<'_, D>, &mut Report, &Graph<'_>) -> Result<()>;

/// The operations of devices.
const OPERATIONS: [&str; 9] =
    ["dense_to_csr", "coo_to_csr", "spmv", "coo_spmv", "spmm", "cg", "seed-001", "seed-003", "seed-004"];

/// The exit code where there is no device.
const NO_DEVICE: u8 = 3;

/// Words of 8 bytes that fill every cache twice over.
const MORE_THAN_CACHE: usize = 1 << 24;

/// Seconds of the timed runs of one contender, at most.
const BUDGET: f64 = 0.1;

/// Runs the suite of a driver.
pub(crate) fn run<D: DeviceTimer>(arguments: &Arguments) -> Result<ExitCode> {
    let on_graphs: [(&[&str], OnGraph<D>); 3] =
        [(&["spmv"], spmv::run), (&["coo_spmv"], coo_spmv::run), (&["spmm", "seed-004"], spmm::run)];
    arguments.check_ops(&OPERATIONS)?;
    if let Some(reason) = D::LIBRARY.probe().reason {
        eprintln!("no {} device: {reason}", D::LIBRARY.name);
        return Ok(ExitCode::from(NO_DEVICE));
    }
    if arguments.suite == Suite::Choice {
        let device = D::device()?;
        let clock = |times: usize, work: &mut Work<'_>| match times > 1 && D::replays(&device, work) {
            true => D::replayed(&device, times, work),
            false => D::seconds(&device, &mut || (0..times).try_for_each(|_| work())),
        };
        choice::run(&device, &clock, arguments)?;
        return Ok(ExitCode::SUCCESS);
    }
    let bench = Bench::<D>::new(arguments)?;
    let mut report = bench.report()?;
    if arguments.wants_op("dense_to_csr") {
        dense_to_csr::run(&bench, &mut report)?;
    }
    if arguments.wants_op("coo_to_csr") {
        coo_to_csr::run(&bench, &mut report)?;
    }
    if arguments.wants_op("seed-001") {
        dense_to_csr::run_batches(&bench, &mut report)?;
    }
    if arguments.wants_op("seed-003") {
        let clock = |work: &mut Work<'_>| D::seconds(&bench.device, work);
        formats::compare(&bench.device, &clock, arguments, &bench.pattern, &mut report)?;
    }
    if arguments.wants_op("spmv") {
        for regular in workload::REGULAR.iter().filter(|regular| arguments.wants(regular.name)) {
            let host = regular.matrix(arguments.smoke)?;
            let device = host.to_device(&bench.device)?;
            spmv::run(&bench, &mut report, &Graph { name: regular.name, host: &host, device })?;
        }
    }
    if arguments.wants_op("cg") {
        cg::run(&bench, &mut report)?;
    }
    let wanted = on_graphs.iter().filter(|(names, _)| names.iter().any(|op| arguments.wants_op(op)));
    let wanted: Vec<_> = wanted.map(|(_, run)| run).collect();
    let mut on_graph = |name: &str, host: &Csr<f32>| {
        let graph = Graph { name, device: host.to_device(&bench.device)?, host };
        wanted.iter().try_for_each(|run| run(&bench, &mut report, &graph))
    };
    if !wanted.is_empty() {
        workload::for_each_graph(arguments, |_| 1, &mut on_graph)?;
    }
    report.finish()?;
    Ok(ExitCode::SUCCESS)
}

impl<'a, D: DeviceTimer> Bench<'a, D> {
    fn new(arguments: &'a Arguments) -> Result<Self> {
        let device = D::device()?;
        let peer = D::Peer::ASKED_AS.filter(|&name| arguments.wants_peer(name));
        let peer = peer.map(|_| D::Peer::connect(&device));
        let peer = peer.and_then(|peer| peer.inspect_err(|error| eprintln!("left out: {error}")).ok());
        let words = if arguments.smoke { 1 << 10 } else { MORE_THAN_CACHE };
        let other = RefCell::new([device.zeros(words)?, device.zeros(words)?]);
        let pattern = workload::Pattern::new(arguments.most_columns());
        Ok(Self { arguments, device, peer, pattern, other })
    }

    /// A report that begins with the device, its peer and its copy bandwidth.
    fn report(&self) -> Result<Report> {
        let limit = self.copy_bandwidth()?;
        let caps = self.device.caps();
        let peer = self.peer.as_ref().map_or("no peer".into(), Peer::name);
        let machine = format!(
            "{} ({}), {peer}; copies {:.1} GB/s, read and written",
            caps.device,
            caps.backend,
            limit / 1e9
        );
        Report::new(&machine, limit, self.arguments.rounds(BUDGET), self.arguments)
    }

    /// Bytes a second that a copy reads and writes: the best of ten.
    fn copy_bandwidth(&self) -> Result<f64> {
        let words = if self.arguments.smoke { 1 << 16 } else { 1 << 27 };
        let from = self.device.zeros::<u64>(words)?;
        let mut to = self.device.zeros::<u64>(words)?;
        let mut best = f64::INFINITY;
        for _ in 0..10 {
            let mut copy = || self.device.copy(Device::view(&from), Device::view_mut(&mut to));
            best = best.min(D::seconds(&self.device, &mut copy)?);
        }
        Ok((2 * words * size_of::<u64>()) as f64 / best)
    }

    /// Fills the device's cache with other data.
    fn fill_cache(&self) -> sparse_core::Result<()> {
        let [from, to] = &mut *self.other.borrow_mut();
        self.device.copy(Device::view(from), Device::view_mut(to))
    }

    /// Writes `elements` into a buffer, repeated.
    fn fill<T: Element>(&self, buffer: &mut Buffer<T>, elements: &[T]) -> sparse_core::Result<()> {
        let source = self.device.upload(elements)?;
        let len = sparse_core::space::Buffer::len(buffer);
        for start in (0..len).step_by(elements.len()) {
            let end = len.min(start + elements.len());
            let from = Device::slice(Device::view(&source), 0..end - start);
            self.device.copy(from, Device::slice_mut(Device::view_mut(buffer), start..end))?;
        }
        Ok(())
    }

    /// A buffer of `len` elements that repeat.
    fn filled<T: Element>(&self, elements: &[T], len: usize) -> sparse_core::Result<Buffer<T>> {
        let mut buffer = self.device.zeros(len)?;
        self.fill(&mut buffer, elements)?;
        Ok(buffer)
    }
}
