//! `L·x = b` in f32, L the lower triangle of a matrix in CSR.

use super::bench::Bench;
use super::comparison::Comparison;
use super::device_timer::DeviceTimer;
use crate::check::Exact;
use crate::peer::interface::Peer;
use crate::product::{Product, available, planned};
use crate::report::Report;
use crate::workload;
use anyhow::Result;
use backend_cpu::Cpu;
use sparse_core::op::{Op, Operations, Triangular, TrisolveKernel, TrisolvePlan};
use sparse_core::{Backend, Csr, PlanOptions, Space, SparseFormat};
use sparse_device::{Device, View, ViewMut};

pub(super) fn run<D: DeviceTimer>(bench: &Bench<'_, D>, report: &mut Report) -> Result<()> {
    workload::for_each_square(bench.arguments, workload::TRIANGLES, |name, a| {
        compare(bench, report, name, &workload::lower_triangle(a)?)
    })
}

fn compare<D: DeviceTimer>(
    bench: &Bench<'_, D>,
    report: &mut Report,
    workload: &str,
    host: &Csr<f32>,
) -> Result<()> {
    let (device, n) = (&bench.device, host.nrows());
    let x = Exact(workload::solution(n));
    let mut b = vec![0.0; n];
    Operations::spmv(&Cpu::new()?, Op::None, 1.0, host, &x.0, 0.0, &mut b)?;
    let (l, b) = (host.to_device(device)?, device.upload(&b)?);
    let b = Device::view(&b);
    let mut products = ours(device, &l, b)?;
    if let Some(peer) = &bench.peer {
        products.extend(peer.trisolve(&l, b)?);
    }
    let comparison = Comparison {
        op: "trisolve".into(),
        workload,
        bytes: 8 * l.nnz() + 4 * (n + 1) + 8 * n,
        expected: &x,
        elements: n,
        entries: l.nnz(),
        columns: 1,
    };
    comparison.run(bench, report, products, None)
}

/// The automatic choice, then every algorithm.
fn ours<'a>(device: &Device, l: &'a Csr<f32, Device>, b: View<'a, f32>) -> Result<Vec<Product<'a, f32>>> {
    let product = |name: String, options: &PlanOptions| -> sparse_core::Result<_> {
        let (mut plan, seconds) =
            planned(device, || TrisolvePlan::new(device, l, Triangular::lower(), options))?;
        let choice = plan.choice().clone();
        let run = move |x: ViewMut<'_, f32>| plan.run(l, b, x);
        Ok(Product::new(name, seconds, run).chosen(choice))
    };
    let automatic = PlanOptions::often();
    let mut products = vec![product("ours".into(), &automatic)?];
    for algorithm in TrisolveKernel::<Csr<f32, Device>>::trisolve_algorithms(device) {
        let name = format!("ours:{}", algorithm.name);
        products.extend(available(&name, product(name.clone(), &PlanOptions::forced(algorithm.name))));
    }
    Ok(products)
}
