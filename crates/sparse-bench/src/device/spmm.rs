//! `C = A·B`, A in CSR, B and C row-major.

use super::bench::{Bench, Graph};
use super::comparison::Comparison;
use super::device_timer::DeviceTimer;
use super::gather::gathers;
use crate::check::Expected;
use crate::peer::interface::Products;
use crate::product::{Product, by_each_algorithm, planned};
use crate::report::Report;
use crate::traffic;
use crate::value::Value;
use crate::workload::Pattern;
use anyhow::Result;
use sparse_core::op::{Duplicates, Op, Operations, SpmmKernel, SpmmPlan};
use sparse_core::{Coo, Csr, DenseView, DenseViewMut, Order, PlanOptions, Space};
use sparse_device::{Device, ViewMut};

/// An algorithm that takes many times as long as the others with many columns.
const SLOW: &str = "row_per_thread";

pub(super) fn run<D: DeviceTimer, T: Value>(
    bench: &Bench<'_, D>,
    report: &mut Report,
    graph: &Graph<'_, T>,
) -> Result<()> {
    for &columns in bench.arguments.columns() {
        compare(bench, report, graph, columns)?;
    }
    Ok(())
}

fn compare<D: DeviceTimer, T: Value>(
    bench: &Bench<'_, D>,
    report: &mut Report,
    graph: &Graph<'_, T>,
    columns: usize,
) -> Result<()> {
    let a = &graph.device;
    let pattern = Pattern::new(columns);
    let b = bench.filled(pattern.period(), a.ncols() * columns)?;
    let b = DenseView::new(Device::view(&b), a.ncols(), columns, columns, Order::RowMajor)?;
    let mut products = ours(&bench.device, a, b)?;
    if !a.order().unique {
        products.push(coalesced(&bench.device, a, b)?);
    }
    if let Some(peer) = &bench.peer {
        products.extend(peer.spmm(a, b)?);
    }
    let comparison = Comparison {
        op: T::name_of(&format!("spmm k={columns}")),
        workload: graph.name,
        bytes: traffic::with_dense(a, columns),
        expected: &Expected::new(graph.host, &pattern, columns),
        elements: a.nrows() * columns,
        entries: a.nnz(),
        columns,
    };
    let gathers = gathers::<D, _>(&bench.device, Device::view(a.col_idx()), b.data(), columns);
    comparison.run(bench, report, products, Some(gathers))
}

/// The automatic choice, then every algorithm but the slow one.
fn ours<'a, T: Value>(
    device: &Device,
    a: &'a Csr<T, Device>,
    b: DenseView<'a, T, Device>,
) -> Result<Vec<Product<'a, T>>> {
    let (rows, columns) = (a.nrows(), b.ncols());
    let product = |name: String, options: &PlanOptions| -> sparse_core::Result<_> {
        let (mut plan, seconds) = planned(device, || SpmmPlan::new(device, a, Op::None, columns, options))?;
        let choice = plan.choice().clone();
        let run = move |c: ViewMut<'_, T>| {
            plan.run(T::ONE, a, b, T::ZERO, DenseViewMut::new(c, rows, columns, columns, Order::RowMajor)?)
        };
        Ok(Product::new(name, seconds, run).chosen(choice))
    };
    let mut algorithms = SpmmKernel::<Csr<T, Device>>::spmm_algorithms(device, Op::None).to_vec();
    algorithms.retain(|algorithm| algorithm.name != SLOW);
    Ok(by_each_algorithm(&algorithms, product)?)
}

/// The automatic choice for the matrix after duplicates are added, which counts as part of the plan.
fn coalesced<'a, T: Value>(
    device: &Device,
    a: &'a Csr<T, Device>,
    b: DenseView<'a, T, Device>,
) -> Result<Product<'a, T>> {
    let (rows, columns) = (a.nrows(), b.ncols());
    let make = || -> sparse_core::Result<_> {
        let coo: Coo<T, Device> = device.convert(a, &())?;
        let summed: Csr<T, Device> = device.convert(&coo, &Duplicates::Sum)?;
        let plan = SpmmPlan::new(device, &summed, Op::None, columns, &PlanOptions::often())?;
        Ok((summed, plan))
    };
    let ((summed, mut plan), seconds) = planned(device, make)?;
    let choice = plan.choice().clone();
    let run = move |c: ViewMut<'_, T>| {
        plan.run(T::ONE, &summed, b, T::ZERO, DenseViewMut::new(c, rows, columns, columns, Order::RowMajor)?)
    };
    Ok(Product::new("ours:coalesced", seconds, run).chosen(choice))
}
