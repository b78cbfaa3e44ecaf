//! A·A in f32, A in CSR: with its pattern, and with other values in a pattern that is known.

use super::bench::Bench;
use super::conversion::compare;
use super::device_timer::DeviceTimer;
use crate::conversion::{Arrays, Conversion};
use crate::peer::interface::Peer;
use crate::product::planned;
use crate::report::Report;
use crate::workload;
use anyhow::Result;
use backend_cpu::Cpu;
use sparse_core::op::{Operations, SpgemmPlan};
use sparse_core::{Csr, PlanOptions, SparseFormat};
use sparse_device::Device;

pub(super) fn run<D: DeviceTimer>(bench: &Bench<'_, D>, report: &mut Report) -> Result<()> {
    workload::for_each_square(bench.arguments, workload::SQUARED, |name, a| on(bench, report, name, a))
}

/// `ours` makes its plan in every run, `ours:run` has one.
fn on<D: DeviceTimer>(bench: &Bench<'_, D>, report: &mut Report, name: &str, a: &Csr<f32>) -> Result<()> {
    let a = workload::of_integers(a)?;
    let cpu = Cpu::new()?;
    let products = SpgemmPlan::bound(&cpu, &a, &a)?.products as usize;
    let expected = Operations::spgemm(&cpu, &a, &a)?;
    let bytes = 8 * (a.nnz() + products + expected.nnz());
    let (device, a) = (&bench.device, a.to_device(&bench.device)?);
    let plan = || SpgemmPlan::<_, Csr<f32, Device>>::new(device, &a, &a, &PlanOptions::once());
    let (mut reused, seconds) = planned(device, plan)?;
    let mut conversions = vec![
        Conversion::ours("ours", None, device, || plan()?.run(&a, &a)),
        Conversion::ours("ours:run", Some(seconds), device, || reused.run(&a, &a)),
    ];
    if let Some(peer) = &bench.peer {
        conversions.extend(peer.spgemm(&a)?);
    }
    compare(bench, report, ("spgemm", name, bytes), &Arrays::from(expected), conversions)
}
