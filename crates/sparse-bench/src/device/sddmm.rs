//! `U·Vᵀ` at the entries of a sparse matrix, U and V row-major.

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
use sparse_core::op::{Sampling, SddmmKernel, SddmmPlan};
use sparse_core::{Backend, Csr, DenseView, Order, PlanOptions, Space, SparseFormat};
use sparse_device::{Device, ViewMut};

pub(super) fn run<D: DeviceTimer, T: Value>(bench: &Bench<'_, D>, report: &mut Report) -> Result<()> {
    workload::for_each_sparse::<T>(bench.arguments, |name, p| {
        bench.arguments.columns().iter().try_for_each(|&inner| compare(bench, report, (name, p), inner))
    })
}

fn compare<D: DeviceTimer, T: Value>(
    bench: &Bench<'_, D>,
    report: &mut Report,
    (workload, host): (&str, &Csr<T>),
    inner: usize,
) -> Result<()> {
    let (device, rows, cols) = (&bench.device, host.nrows(), host.ncols());
    let (u, v) = (workload::small_integers(rows * inner), workload::small_integers(cols * inner));
    let view = |data, rows| DenseView::<T>::row_major(data, rows, inner);
    let mut plan = SddmmPlan::new(&Cpu::new()?, host, Sampling::Pattern, inner, &PlanOptions::once())?;
    let mut expected = Exact(vec![T::ZERO; host.nnz()]);
    plan.run(T::ONE, host, view(&u, rows)?, view(&v, cols)?, T::ZERO, &mut expected.0)?;

    let (p, u, v) = (host.to_device(device)?, device.upload(&u)?, device.upload(&v)?);
    let u = DenseView::new(Device::view(&u), rows, inner, inner, Order::RowMajor)?;
    let v = DenseView::new(Device::view(&v), cols, inner, inner, Order::RowMajor)?;
    let mut products = ours(device, &p, u, v)?;
    if let Some(peer) = &bench.peer {
        products.extend(peer.sddmm(&p, u, v)?);
    }
    let comparison = Comparison {
        op: T::name_of(&format!("sddmm k={inner}")),
        workload,
        bytes: traffic::with_dense(&p, inner),
        expected: &expected,
        elements: p.nnz(),
        entries: p.nnz(),
        columns: inner,
    };
    comparison.run(bench, report, products, None)
}

/// The automatic choice, then every algorithm.
fn ours<'a, T: Value>(
    device: &Device,
    p: &'a Csr<T, Device>,
    u: DenseView<'a, T, Device>,
    v: DenseView<'a, T, Device>,
) -> Result<Vec<Product<'a, T>>> {
    let product = |name: String, options: &PlanOptions| -> sparse_core::Result<_> {
        let (mut plan, seconds) =
            planned(device, || SddmmPlan::new(device, p, Sampling::Pattern, u.ncols(), options))?;
        let choice = plan.choice().clone();
        let run = move |c: ViewMut<'_, T>| plan.run(T::ONE, p, u, v, T::ZERO, c);
        Ok(Product::new(name, seconds, run).chosen(choice))
    };
    Ok(by_each_algorithm(SddmmKernel::<Csr<T, Device>>::sddmm_algorithms(device), product)?)
}
