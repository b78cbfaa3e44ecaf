//! `C = A·B` in f32, A in CSR, B and C row-major.

use super::bench::{Bench, Graph};
use super::comparison::Comparison;
use super::device_timer::DeviceTimer;
use super::gather::gathers;
use crate::check::Expected;
use crate::peer::interface::Products;
use crate::product::{Product, available, planned};
use crate::report::Report;
use anyhow::Result;
use sparse_core::op::{Duplicates, Op, Operations, SpmmKernel, SpmmPlan};
use sparse_core::{Coo, Csr, DenseView, DenseViewMut, Order, PlanOptions, Space};
use sparse_device::{Device, ViewMut};

/// An algorithm that takes many times as long as the others with many columns.
const SLOW: &str = "row_per_thread";

pub(super) fn run<D: DeviceTimer>(
    bench: &Bench<'_, D>,
    report: &mut Report,
    graph: &Graph<'_>,
) -> Result<()> {
    for &columns in bench.arguments.columns() {
        compare(bench, report, graph, columns)?;
    }
    Ok(())
}

fn compare<D: DeviceTimer>(
    bench: &Bench<'_, D>,
    report: &mut Report,
    graph: &Graph<'_>,
    columns: usize,
) -> Result<()> {
    let a = &graph.device;
    let b = bench.filled(bench.pattern.period(), a.ncols() * columns)?;
    let b = DenseView::new(Device::view(&b), a.ncols(), columns, columns, Order::RowMajor)?;
    let mut products = ours(&bench.device, a, b)?;
    if !a.order().unique {
        products.push(coalesced(&bench.device, a, b)?);
    }
    if let Some(peer) = &bench.peer {
        products.extend(peer.spmm(a, b)?);
    }
    let comparison = Comparison {
        op: format!("spmm k={columns}"),
        workload: graph.name,
        bytes: 8 * a.nnz() + 4 * a.nrows() + 4 * columns * (a.nrows() + a.ncols()),
        expected: &Expected::new(graph.host, &bench.pattern, columns),
        elements: a.nrows() * columns,
        entries: a.nnz(),
        columns,
    };
    let gathers = gathers::<D, _>(&bench.device, Device::view(a.col_idx()), b.data(), columns);
    comparison.run(bench, report, products, Some(gathers))
}

/// The automatic choice, then every algorithm but the slow one.
fn ours<'a>(
    device: &Device,
    a: &'a Csr<f32, Device>,
    b: DenseView<'a, f32, Device>,
) -> Result<Vec<Product<'a, f32>>> {
    let (rows, columns) = (a.nrows(), b.ncols());
    let product = |name: String, options: &PlanOptions| -> sparse_core::Result<_> {
        let (mut plan, seconds) = planned(device, || SpmmPlan::new(device, a, Op::None, columns, options))?;
        let choice = plan.choice().clone();
        let run = move |c: ViewMut<'_, f32>| {
            plan.run(1.0, a, b, 0.0, DenseViewMut::new(c, rows, columns, columns, Order::RowMajor)?)
        };
        Ok(Product::new(name, seconds, run).chosen(choice))
    };
    let automatic = PlanOptions::often();
    let mut products = vec![product("ours".into(), &automatic)?];
    let algorithms = SpmmKernel::<Csr<f32, Device>>::spmm_algorithms(device, Op::None);
    for algorithm in algorithms.iter().filter(|algorithm| algorithm.name != SLOW) {
        let (name, options) =
            (format!("ours:{}", algorithm.name), PlanOptions::forced(algorithm.name).relaxed());
        products.extend(available(&name, product(name.clone(), &options)));
    }
    Ok(products)
}

/// The automatic choice for the matrix whose entries of one coordinate are added first, which counts as part of the plan.
fn coalesced<'a>(
    device: &Device,
    a: &'a Csr<f32, Device>,
    b: DenseView<'a, f32, Device>,
) -> Result<Product<'a, f32>> {
    let (rows, columns) = (a.nrows(), b.ncols());
    let make = || -> sparse_core::Result<_> {
        let coo: Coo<f32, Device> = device.convert(a, &())?;
        let summed: Csr<f32, Device> = device.convert(&coo, &Duplicates::Sum)?;
        let plan = SpmmPlan::new(device, &summed, Op::None, columns, &PlanOptions::often())?;
        Ok((summed, plan))
    };
    let ((summed, mut plan), seconds) = planned(device, make)?;
    let choice = plan.choice().clone();
    let run = move |c: ViewMut<'_, f32>| {
        plan.run(1.0, &summed, b, 0.0, DenseViewMut::new(c, rows, columns, columns, Order::RowMajor)?)
    };
    Ok(Product::new("ours:coalesced", seconds, run).chosen(choice))
}
