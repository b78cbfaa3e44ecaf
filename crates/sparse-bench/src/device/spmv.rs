//! `y = A·x`, A in CSR; in f32 and f64 unless a type is requested.

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
use sparse_core::op::{AccOf, Op, SpmvKernel, SpmvPlan, VectorKernel};
use sparse_core::{Backend, Csr, PlanOptions, Scalar, Space, SparseFormat, c64, cast_slice};
use sparse_device::{Device, View};

pub(super) fn run<D: DeviceTimer, T: Value>(
    bench: &Bench<'_, D>,
    report: &mut Report,
    graph: &Graph<'_, T>,
) -> Result<()> {
    let expected = Expected::new(graph.host, &Pattern::new(1), 1);
    compare(bench, report, graph.name, &expected, &graph.device)?;
    if bench.arguments.also_in_double::<T>() {
        let values = bench.device.upload(&cast_slice::<T, f64>(graph.host.values())?)?;
        compare(bench, report, graph.name, &expected, &graph.device.with_values(values)?)?;
    }
    Ok(())
}

fn compare<D: DeviceTimer, T: Value>(
    bench: &Bench<'_, D>,
    report: &mut Report,
    workload: &str,
    expected: &Expected,
    a: &Csr<T, Device>,
) -> Result<()> {
    let x = bench.filled(Pattern::new(1).period(), a.ncols())?;
    let x = Device::view(&x);
    let mut products = ours(&bench.device, a, x)?;
    if let Some(peer) = &bench.peer {
        products.extend(peer.spmv(a, x)?);
    }
    let comparison = Comparison {
        op: format!("spmv {}", T::DTYPE),
        workload,
        bytes: traffic::spmv(a),
        expected,
        elements: a.nrows(),
        entries: a.nnz(),
        columns: 1,
    };
    let gathers = gathers::<D, _>(&bench.device, Device::view(a.col_idx()), x, 1);
    comparison.run(bench, report, products, Some(gathers))
}

/// The automatic choice, then every algorithm that takes this pattern.
pub(super) fn ours<'a, M>(
    device: &Device,
    a: &'a M,
    x: View<'a, M::Scalar>,
) -> Result<Vec<Product<'a, M::Scalar>>>
where
    M: SparseFormat<Space = Device>,
    Device: Backend<Space = Device> + SpmvKernel<M> + VectorKernel<M::Scalar>,
{
    let algorithms = SpmvKernel::<M>::spmv_algorithms(device, Op::None);
    let product = |name, options: &PlanOptions| product(device, name, a, x, options);
    Ok(by_each_algorithm(algorithms, product)?)
}

/// A plan as a product.
pub(super) fn product<'a, M>(
    device: &Device,
    name: String,
    a: &'a M,
    x: View<'a, M::Scalar>,
    options: &PlanOptions,
) -> sparse_core::Result<Product<'a, M::Scalar>>
where
    M: SparseFormat<Space = Device>,
    Device: Backend<Space = Device> + SpmvKernel<M> + VectorKernel<M::Scalar>,
{
    let (mut plan, seconds) = planned(device, || SpmvPlan::new(device, a, Op::None, options))?;
    let (one, zero) = (AccOf::<M>::from_c64(c64::ONE), AccOf::<M>::ZERO);
    let choice = plan.choice().clone();
    Ok(Product::new(name, seconds, move |y| plan.run(one, a, x, zero, y)).chosen(choice))
}
