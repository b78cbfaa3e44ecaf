//! `A + Aᵀ` in f32 and CSR: with its pattern, and with other values in a pattern that is known.

use super::bench::Bench;
use super::conversion::compare;
use super::device_timer::DeviceTimer;
use crate::conversion::{Arrays, Conversion};
use crate::peer::interface::Peer;
use crate::report::Report;
use crate::workload;
use anyhow::Result;
use backend_cpu::Cpu;
use sparse_core::op::{Elementwise, ElementwisePlan, Operations};
use sparse_core::{Csr, PlanOptions, SparseFormat};
use sparse_device::Device;

pub(super) fn run<D: DeviceTimer>(bench: &Bench<'_, D>, report: &mut Report) -> Result<()> {
    workload::for_each_sparse(bench.arguments, |name, a| {
        if a.nrows() == a.ncols() { on(bench, report, name, a) } else { Ok(()) }
    })
}

/// `ours` makes its plan in every run, `ours:run` has one.
fn on<D: DeviceTimer>(bench: &Bench<'_, D>, report: &mut Report, name: &str, a: &Csr<f32>) -> Result<()> {
    let a = workload::of_integers(a)?;
    let b = workload::transposed(&a)?;
    let expected = Cpu::new()?.add(1.0, &a, 1.0, &b)?;
    let bytes = 8 * (2 * a.nnz() + expected.nnz()) + 12 * (a.nrows() + 1);
    let device = &bench.device;
    let (a, b) = (a.to_device(device)?, b.to_device(device)?);
    let plan = || {
        let options = PlanOptions::once();
        ElementwisePlan::<_, Csr<f32, Device>>::new(device, Elementwise::Add, &a, &b, &options)
    };
    let mut conversions = vec![
        Conversion::ours("ours", device, || plan()?.run(1.0, &a, 1.0, &b)),
        Conversion::ours_planned("ours:run", device, plan, |plan| plan.run(1.0, &a, 1.0, &b)),
    ];
    if let Some(peer) = &bench.peer {
        conversions.extend(peer.add(&a, &b)?);
    }
    compare(bench, report, ("add", name, bytes), &Arrays::from(expected), conversions)
}
