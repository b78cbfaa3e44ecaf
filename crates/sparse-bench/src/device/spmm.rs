//! `C = A·B`, A in CSR, B and C row-major.

use super::bench::{Bench, Graph};
use super::comparison::Comparison;
use super::device_timer::DeviceTimer;
use super::gather::gathers;
use crate::check::Expected;
use crate::peer::interface::Products;
use crate::product::{Product, available, by_each_algorithm, planned};
use crate::report::Report;
use crate::traffic;
use crate::value::Value;
use crate::workload::Pattern;
use anyhow::Result;
use sparse_core::op::{Duplicates, Op, Operations, SpmmKernel, SpmmPlan};
use sparse_core::{Algorithm, Coo, Csr, DenseView, DenseViewMut, Order, PlanOptions, Space};
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

/// Compares all algorithms in full precision with those of the peer; then, in a table of its own, each that rounds.
fn compare<D: DeviceTimer, T: Value>(
    bench: &Bench<'_, D>,
    report: &mut Report,
    graph: &Graph<'_, T>,
    columns: usize,
) -> Result<()> {
    let algorithms = SpmmKernel::<Csr<T, Device>>::spmm_algorithms(&bench.device, Op::None).iter().copied();
    let (rounding, whole): (Vec<_>, Vec<_>) = algorithms
        .filter(|algorithm| algorithm.name != SLOW)
        .partition(|algorithm| algorithm.factor_bits.is_some());
    let a = &graph.device;
    let pattern = Pattern::new(columns);
    let b = bench.filled(pattern.period(), a.ncols() * columns)?;
    let b = DenseView::new(Device::view(&b), a.ncols(), columns, columns, Order::RowMajor)?;
    let mut products = by_each_algorithm(&whole, |name, options| ours(&bench.device, a, b, name, options))?;
    if !a.order().unique {
        products.push(coalesced(&bench.device, a, b)?);
    }
    if let Some(peer) = &bench.peer {
        products.extend(peer.spmm(a, b)?);
    }
    let expected = Expected::new(graph.host, &pattern, columns);
    let comparison = Comparison {
        op: T::name_of(&format!("spmm k={columns}")),
        workload: graph.name,
        bytes: traffic::with_dense(a, columns),
        expected: &expected,
        elements: a.nrows() * columns,
        entries: a.nnz(),
        columns,
    };
    let gathers = gathers::<D, _>(&bench.device, Device::view(a.col_idx()), b.data(), columns);
    comparison.run(bench, report, products, Some(gathers))?;
    for Algorithm { name: algorithm, factor_bits, .. } in rounding {
        let (name, options) = (format!("ours:{algorithm}"), PlanOptions::forced(algorithm));
        let product = ours(&bench.device, a, b, name.clone(), &options);
        let Some(product) = available(&name, product) else { continue };
        let op = T::name_of(&format!("spmm k={columns} {algorithm}"));
        let expected = &expected.clone().with_factor_bits(factor_bits);
        Comparison { op, expected, ..comparison }.run(bench, report, vec![product], None)?;
    }
    Ok(())
}

/// The product by the algorithm of a plan with these options.
fn ours<'a, T: Value>(
    device: &Device,
    a: &'a Csr<T, Device>,
    b: DenseView<'a, T, Device>,
    name: String,
    options: &PlanOptions,
) -> sparse_core::Result<Product<'a, T>> {
    let (rows, columns) = (a.nrows(), b.ncols());
    let (mut plan, seconds) = planned(device, || SpmmPlan::new(device, a, Op::None, columns, options))?;
    let choice = plan.choice().clone();
    let run = move |c: ViewMut<'_, T>| {
        plan.run(T::ONE, a, b, T::ZERO, DenseViewMut::new(c, rows, columns, columns, Order::RowMajor)?)
    };
    Ok(Product::new(name, seconds, run).chosen(choice))
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
