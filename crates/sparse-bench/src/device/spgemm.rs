//! A·A, A in CSR: with its pattern, and with other values in a pattern that is known.

use super::bench::Bench;
use super::conversion::compare;
use super::device_timer::DeviceTimer;
use crate::conversion::{Arrays, Conversion};
use crate::peer::interface::Peer;
use crate::report::Report;
use crate::value::Value;
use crate::{sparse_product, workload};
use anyhow::Result;
use backend_cpu::Cpu;
use sparse_core::op::SpgemmPlan;
use sparse_core::{Csr, PlanOptions, SparseFormat};
use sparse_device::Device;

pub(super) fn run<D: DeviceTimer, T: Value>(bench: &Bench<'_, D>, report: &mut Report) -> Result<()> {
    workload::for_each_square::<T>(bench.arguments, workload::SQUARED, |name, a| on(bench, report, name, a))
}

fn on<D: DeviceTimer, T: Value>(
    bench: &Bench<'_, D>,
    report: &mut Report,
    name: &str,
    a: &Csr<T>,
) -> Result<()> {
    let a = workload::of_integers(a)?;
    let (expected, bytes) = sparse_product::expected(&Cpu::new()?, &[&a, &a])?;
    let (device, a) = (&bench.device, &a.to_device(&bench.device)?);
    let plan = |options| SpgemmPlan::<_, Csr<T, Device>>::new(device, a, a, &options);
    let ours = Ours {
        first: Conversion::ours("ours", device, || plan(PlanOptions::once())?.run(a, a)),
        planned: Conversion::ours_into(
            "ours",
            device,
            || plan(PlanOptions::default()),
            |plan, last| match last {
                Some(mut c) => plan.run_into(a, a, &mut c).map(|()| c),
                None => plan.run(a, a),
            },
        ),
    };
    compare_calls(bench, report, ("spgemm", name, bytes), &expected.into(), ours, &[a, a])
}

/// A product of sparse matrices by ours.
pub(super) struct Ours<'a, T> {
    /// The plan, the product, and all of their memory.
    pub(super) first: Conversion<'a, T>,
    /// The values of a product that has its plan and memory.
    pub(super) planned: Conversion<'a, T>,
}

/// Compares first calls of ours and of the peer, which multiplies the factors from the last two on; and apart from
/// them, as operation `{op} planned`, runs with plans.
pub(super) fn compare_calls<'a, D: DeviceTimer, T: Value>(
    bench: &'a Bench<'_, D>,
    report: &mut Report,
    (op, workload, bytes): (&str, &str, usize),
    expected: &Arrays<T>,
    ours: Ours<'a, T>,
    factors: &[&'a Csr<T, Device>],
) -> Result<()> {
    let (mut first, mut planned) = (vec![ours.first], vec![ours.planned]);
    if let Some(peer) = &bench.peer {
        first.extend(peer.spgemm(factors)?);
        planned.extend(peer.spgemm_planned(factors)?);
    }
    compare(bench, report, (&T::name_of(op), workload, bytes), expected, first)?;
    compare(bench, report, (&T::name_of(&format!("{op} planned")), workload, bytes), expected, planned)
}
