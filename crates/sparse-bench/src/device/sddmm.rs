//! `U·Vᵀ` at the entries of a sparse matrix in f32, U and V row-major.

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
use sparse_core::op::{Sampling, SddmmKernel, SddmmPlan};
use sparse_core::{Backend, Csr, DenseView, Order, PlanOptions, Space, SparseFormat};
use sparse_device::{Device, ViewMut};

pub(super) fn run<D: DeviceTimer>(bench: &Bench<'_, D>, report: &mut Report) -> Result<()> {
    workload::for_each_sparse(bench.arguments, |name, p| {
        bench.arguments.columns().iter().try_for_each(|&inner| compare(bench, report, (name, p), inner))
    })
}

fn compare<D: DeviceTimer>(
    bench: &Bench<'_, D>,
    report: &mut Report,
    (workload, host): (&str, &Csr<f32>),
    inner: usize,
) -> Result<()> {
    let (device, rows, cols) = (&bench.device, host.nrows(), host.ncols());
    let (u, v) = (workload::small_integers(rows * inner), workload::small_integers(cols * inner));
    let view = |data, rows| DenseView::<f32>::row_major(data, rows, inner);
    let mut plan = SddmmPlan::new(&Cpu::new()?, host, Sampling::Pattern, inner, &PlanOptions::once())?;
    let mut expected = Exact(vec![0.0; host.nnz()]);
    plan.run(1.0, host, view(&u, rows)?, view(&v, cols)?, 0.0, &mut expected.0)?;

    let (p, u, v) = (host.to_device(device)?, device.upload(&u)?, device.upload(&v)?);
    let u = DenseView::new(Device::view(&u), rows, inner, inner, Order::RowMajor)?;
    let v = DenseView::new(Device::view(&v), cols, inner, inner, Order::RowMajor)?;
    let mut products = ours(device, &p, u, v)?;
    if let Some(peer) = &bench.peer {
        products.extend(peer.sddmm(&p, u, v)?);
    }
    let comparison = Comparison {
        op: format!("sddmm k={inner}"),
        workload,
        bytes: 8 * p.nnz() + 4 * rows + 4 * inner * (rows + cols),
        expected: &expected,
        elements: p.nnz(),
        entries: p.nnz(),
        columns: inner,
    };
    comparison.run(bench, report, products, None)
}

/// The automatic choice, then every algorithm.
fn ours<'a>(
    device: &Device,
    p: &'a Csr<f32, Device>,
    u: DenseView<'a, f32, Device>,
    v: DenseView<'a, f32, Device>,
) -> Result<Vec<Product<'a, f32>>> {
    let product = |name: String, options: &PlanOptions| -> sparse_core::Result<_> {
        let (mut plan, seconds) =
            planned(device, || SddmmPlan::new(device, p, Sampling::Pattern, u.ncols(), options))?;
        let choice = plan.choice().clone();
        let run = move |c: ViewMut<'_, f32>| plan.run(1.0, p, u, v, 0.0, c);
        Ok(Product::new(name, seconds, run).chosen(choice))
    };
    let automatic = PlanOptions::often();
    let mut products = vec![product("ours".into(), &automatic)?];
    for algorithm in SddmmKernel::<Csr<f32, Device>>::sddmm_algorithms(device) {
        let name = format!("ours:{}", algorithm.name);
        products.extend(available(&name, product(name.clone(), &PlanOptions::forced(algorithm.name))));
    }
    Ok(products)
}
