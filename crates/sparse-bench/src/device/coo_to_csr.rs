//! COO in random order to CSR, duplicates added.

use super::bench::Bench;
use super::conversion::compare;
use super::device_timer::DeviceTimer;
use crate::arguments::PeerName;
use crate::conversion::{Arrays, Conversion};
use crate::peer::cupy;
use crate::peer::interface::Peer;
use crate::report::Report;
use crate::value::Value;
use crate::{traffic, workload};
use anyhow::Result;
use sparse_core::op::{ConvertKernel, ConvertPlan, Duplicates, Operations};
use sparse_core::reference::Reference;
use sparse_core::{Coo, Csr, PlanOptions, SparseFormat};
use sparse_device::Device;

/// Matrices of the CPU suite without duplicates, which cuSPARSE does not add.
const WORKLOADS: [&str; 3] = ["uniform_8", "arxiv", "yelp"];

pub(super) fn run<D: DeviceTimer, T: Value>(bench: &Bench<'_, D>, report: &mut Report) -> Result<()> {
    workload::for_each_named::<T>(bench.arguments, &WORKLOADS, |name, a| {
        on(bench, report, name, &workload::shuffled(a)?)
    })
}

/// A conversion finds the pattern, so ours makes its plan in every run, by the chosen algorithm and by each; `ours:run`
/// runs a plan that was made before.
fn on<D: DeviceTimer, T: Value>(
    bench: &Bench<'_, D>,
    report: &mut Report,
    name: &str,
    host: &Coo<T>,
) -> Result<()> {
    let expected: Csr<T> = Reference.convert(host, &Duplicates::Sum)?;
    let bytes = traffic::coo_to_csr(host.nnz(), &expected);
    let (device, coo) = (&bench.device, &host.to_device(&bench.device)?);
    let plan_with = |options: &PlanOptions| {
        ConvertPlan::<_, _, Csr<T, Device>>::new(device, coo, &Duplicates::Sum, options)
    };
    let plan = || plan_with(&PlanOptions::once());
    let mut conversions = vec![
        Conversion::ours("ours", device, || plan()?.run(coo)),
        Conversion::ours_planned("ours:run", device, plan, |plan| plan.run(coo)),
    ];
    for algorithm in ConvertKernel::<Coo<T, Device>, Csr<T, Device>>::convert_algorithms(device) {
        let options = PlanOptions { algorithm: Some(algorithm.name.into()), ..PlanOptions::once() };
        let name = format!("ours:{}", algorithm.name);
        conversions.push(Conversion::ours(&name, device, move || plan_with(&options)?.run(coo)));
    }
    if let Some(peer) = &bench.peer {
        conversions.extend(peer.coo_to_csr(coo)?);
    }
    if D::HAS_CUPY && bench.arguments.wants_peer(PeerName::Cupy) {
        conversions.extend(cupy::coo_to_csr(host)?);
    }
    compare(bench, report, (&T::name_of("coo_to_csr"), name, bytes), &Arrays::from(expected), conversions)
}
