//! `L·x = b`, L the lower triangle of a matrix in CSR.

use super::bench::Bench;
use super::comparison::Comparison;
use super::device_timer::DeviceTimer;
use crate::check::Exact;
use crate::peer::interface::Peer;
use crate::product::{Product, by_each_algorithm, planned};
use crate::report::Report;
use crate::value::Value;
use crate::{traffic, workload};
use anyhow::Result;
use backend_cpu::Cpu;
use sparse_core::op::{Op, Operations, Triangular, TrisolveKernel, TrisolvePlan};
use sparse_core::{Backend, Csr, PlanOptions, Space, SparseFormat};
use sparse_device::{Device, View, ViewMut};

pub(super) fn run<D: DeviceTimer, T: Value>(bench: &Bench<'_, D>, report: &mut Report) -> Result<()> {
    workload::for_each_square::<T>(bench.arguments, workload::TRIANGLES, |name, a| {
        compare(bench, report, name, &workload::lower_triangle(a)?)
    })
}

fn compare<D: DeviceTimer, T: Value>(
    bench: &Bench<'_, D>,
    report: &mut Report,
    workload: &str,
    host: &Csr<T>,
) -> Result<()> {
    let (device, n) = (&bench.device, host.nrows());
    let x = Exact(workload::small_integers::<T>(n));
    let mut b = vec![T::ZERO; n];
    Operations::spmv(&Cpu::new()?, Op::None, T::ONE, host, &x.0, T::ZERO, &mut b)?;
    let (l, b) = (host.to_device(device)?, device.upload(&b)?);
    let b = Device::view(&b);
    let mut products = ours(device, &l, b)?;
    if let Some(peer) = &bench.peer {
        products.extend(peer.trisolve(&l, b)?);
    }
    let comparison = Comparison {
        op: T::name_of("trisolve"),
        workload,
        bytes: traffic::spmv(&l),
        expected: &x,
        elements: n,
        entries: l.nnz(),
        columns: 1,
    };
    comparison.run(bench, report, products, None)
}

/// The automatic choice, then every algorithm.
fn ours<'a, T: Value>(device: &Device, l: &'a Csr<T, Device>, b: View<'a, T>) -> Result<Vec<Product<'a, T>>> {
    let product = |name: String, options: &PlanOptions| -> sparse_core::Result<_> {
        let (mut plan, seconds) =
            planned(device, || TrisolvePlan::new(device, l, Triangular::lower(), options))?;
        let choice = plan.choice().clone();
        let run = move |x: ViewMut<'_, T>| plan.run(l, b, x);
        Ok(Product::new(name, seconds, run).chosen(choice))
    };
    Ok(by_each_algorithm(TrisolveKernel::<Csr<T, Device>>::trisolve_algorithms(device), product)?)
}
