//! R·A·P, all in CSR: with the patterns of its products, and with other values in patterns that are known.

use super::bench::Bench;
use super::device_timer::DeviceTimer;
use super::spgemm::{Ours, compare_calls};
use crate::conversion::Conversion;
use crate::report::Report;
use crate::value::Value;
use crate::{multigrid, sparse_product};
use anyhow::Result;
use backend_cpu::Cpu;
use sparse_core::op::GalerkinPlan;
use sparse_core::{Csr, PlanOptions, SparseFormat};
use sparse_device::Device;

pub(super) fn run<D: DeviceTimer, T: Value>(bench: &Bench<'_, D>, report: &mut Report) -> Result<()> {
    multigrid::for_each::<T>(bench.arguments, |name, factors| on(bench, report, name, factors))
}

/// Ours has one plan; the peer multiplies twice.
fn on<D: DeviceTimer, T: Value>(
    bench: &Bench<'_, D>,
    report: &mut Report,
    name: &str,
    factors: [&Csr<T>; 3],
) -> Result<()> {
    let (expected, bytes) = sparse_product::expected(&Cpu::new()?, &factors)?;
    let device = &bench.device;
    let [r, a, p] = factors.map(|factor| factor.to_device(device));
    let (r, a, p) = (&r?, &a?, &p?);
    let plan = |options| GalerkinPlan::<_, Csr<T, Device>>::new(device, r, a, p, &options);
    let ours = Ours {
        first: Conversion::ours("ours", device, || plan(PlanOptions::once())?.run(r, a, p)),
        planned: Conversion::ours_into(
            "ours",
            device,
            || plan(PlanOptions::default()),
            |plan, last| match last {
                Some(mut c) => plan.run_into(r, a, p, &mut c).map(|()| c),
                None => plan.run(r, a, p),
            },
        ),
    };
    compare_calls(bench, report, ("galerkin", name, bytes), &expected.into(), ours, &[r, a, p])
}
