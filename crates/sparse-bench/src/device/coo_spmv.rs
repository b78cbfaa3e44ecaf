//! `y = A·x`, A in COO: the segmented sum beside one work-item for all entries.

use super::bench::{Bench, Graph};
use super::comparison::Comparison;
use super::device_timer::DeviceTimer;
use super::gather::gathers;
use super::spmv::product;
use crate::check::Expected;
use crate::report::Report;
use crate::traffic;
use crate::value::Value;
use crate::workload::Pattern;
use anyhow::Result;
use sparse_core::op::{Op, Operations, SpmvKernel};
use sparse_core::reference::Reference;
use sparse_core::{Coo, PlanOptions, Space, SparseFormat};
use sparse_device::Device;

/// The most entries for one work-item, which would be too slow beyond.
const MAX_ENTRIES: usize = 2_000_000;

/// The algorithms to compare, if the device has them.
const COMPARED: [&str; 3] = ["segmented", "segmented_sycl", "sequential"];

pub(super) fn run<D: DeviceTimer, T: Value>(
    bench: &Bench<'_, D>,
    report: &mut Report,
    graph: &Graph<'_, T>,
) -> Result<()> {
    if graph.host.nnz() > MAX_ENTRIES {
        return Ok(());
    }
    let coo: Coo<T> = Reference.convert(graph.host, &())?;
    let coo = coo.to_device(&bench.device)?;
    let pattern = Pattern::new(1);
    let x = bench.filled(pattern.period(), coo.ncols())?;
    let x = Device::view(&x);
    let forced =
        |name: &str| product(&bench.device, format!("ours:{name}"), &coo, x, &PlanOptions::forced(name));
    let offered = SpmvKernel::<Coo<T, Device>>::spmv_algorithms(&bench.device, Op::None).iter();
    let products = offered.map(|algorithm| algorithm.name).filter(|name| COMPARED.contains(name)).map(forced);
    let products = products.collect::<sparse_core::Result<_>>()?;
    let comparison = Comparison {
        op: format!("coo_spmv {}", T::DTYPE),
        workload: graph.name,
        bytes: traffic::coo_spmv(&coo),
        expected: &Expected::new(graph.host, &pattern, 1),
        elements: coo.nrows(),
        entries: coo.nnz(),
        columns: 1,
    };
    let gathers = gathers::<D, _>(&bench.device, Device::view(coo.col_idx()), x, 1);
    comparison.run(bench, report, products, Some(gathers))
}
