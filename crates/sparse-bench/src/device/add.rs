//! `A + Aᵀ` in CSR: with its pattern, and with other values in a pattern that is known.

use super::bench::Bench;
use super::conversion::compare;
use super::device_timer::DeviceTimer;
use crate::conversion::{Arrays, Conversion};
use crate::peer::interface::Peer;
use crate::report::Report;
use crate::value::Value;
use crate::{traffic, workload};
use anyhow::Result;
use backend_cpu::Cpu;
use sparse_core::op::{Elementwise, ElementwisePlan, Operations};
use sparse_core::{Csr, PlanOptions, SparseFormat};
use sparse_device::Device;

pub(super) fn run<D: DeviceTimer, T: Value>(bench: &Bench<'_, D>, report: &mut Report) -> Result<()> {
    workload::for_each_sparse::<T>(bench.arguments, |name, a| {
        if a.nrows() == a.ncols() { on(bench, report, name, a) } else { Ok(()) }
    })
}

/// `ours` makes its plan in every run, `ours:run` has one.
fn on<D: DeviceTimer, T: Value>(
    bench: &Bench<'_, D>,
    report: &mut Report,
    name: &str,
    a: &Csr<T>,
) -> Result<()> {
    let a = workload::of_integers(a)?;
    let b = workload::transposed(&a)?;
    let expected = Cpu::new()?.add(T::ONE, &a, T::ONE, &b)?;
    let bytes = traffic::add(&a, expected.nnz());
    let device = &bench.device;
    let (a, b) = (a.to_device(device)?, b.to_device(device)?);
    let plan = || {
        let options = PlanOptions::once();
        ElementwisePlan::<_, Csr<T, Device>>::new(device, Elementwise::Add, &a, &b, &options)
    };
    let mut conversions = vec![
        Conversion::ours("ours", device, || plan()?.run(T::ONE, &a, T::ONE, &b)),
        Conversion::ours_planned("ours:run", device, plan, |plan| plan.run(T::ONE, &a, T::ONE, &b)),
    ];
    if let Some(peer) = &bench.peer {
        conversions.extend(peer.add(&a, &b)?);
    }
    compare(bench, report, (&T::name_of("add"), name, bytes), &Arrays::from(expected), conversions)
}
