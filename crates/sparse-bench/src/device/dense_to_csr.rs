//! Dense to CSR: a large matrix, and a batch of small ones.

use super::bench::Bench;
use super::conversion::compare;
use super::device_timer::DeviceTimer;
use crate::conversion::{Arrays, Conversion};
use crate::peer::interface::Peer;
use crate::report::Report;
use crate::value::Value;
use crate::{traffic, workload};
use anyhow::Result;
use sparse_core::op::{DenseToCompressedPlan, DenseToCsrKernel, Keep, Operations};
use sparse_core::reference::Reference;
use sparse_core::{BatchCsr, Csr, DenseBatchView, DenseView, Order, PlanOptions, Row, Space};
use sparse_device::Device;

type Plan<T> = DenseToCompressedPlan<Device, Row, T, i32, i32>;

/// Members of the batch that differ; the others repeat them.
const DIFFERENT: usize = 8;

/// Rows of a large matrix that differ; the others repeat them.
const DIFFERENT_ROWS: usize = 1024;

pub(super) fn run<D: DeviceTimer, T: Value>(bench: &Bench<'_, D>, report: &mut Report) -> Result<()> {
    let sizes = if bench.arguments.smoke { [64, 128] } else { [8192, 32768] };
    for (n, percents) in sizes.into_iter().zip([&[1, 10, 20, 50][..], &[1, 10, 20]]) {
        for &percent in percents {
            let name =
                if n == sizes[0] { format!("dense_{percent}%") } else { format!("dense_{n}_{percent}%") };
            if bench.arguments.generates::<T>(&name) {
                let rows = workload::dense::<T>(n.min(DIFFERENT_ROWS), n, percent, percent);
                single(bench, report, &name, n, &rows)?;
            }
        }
    }
    if bench.arguments.generates::<T>("batch_10%") {
        let (count, n) = if bench.arguments.smoke { (20, 32) } else { (1000, 1024) };
        batch::<D, T>(bench, report, ("dense_to_csr", "batch_10%"), (count, n), 10)?;
    }
    Ok(())
}

/// Batches of small and of large members.
pub(super) fn run_batches<D: DeviceTimer, T: Value>(bench: &Bench<'_, D>, report: &mut Report) -> Result<()> {
    let sizes = if bench.arguments.smoke { [(20, 32), (10, 64)] } else { [(1000, 128), (1000, 1024)] };
    for (count, n) in sizes {
        for percent in [1, 10, 50] {
            let name = format!("{count}x{n}_{percent}%");
            if bench.arguments.generates::<T>(&name) {
                batch::<D, T>(bench, report, ("seed-001", &name), (count, n), percent)?;
            }
        }
    }
    Ok(())
}

/// The algorithms that give whole rows or matrices to one work-item or warp, which large matrices leave without work.
const SERIAL: [&str; 3] = ["row_per_thread", "matrix_per_thread", "matrix_per_warp"];

/// The choice of the plan, and, for many rows, every algorithm that gives a row to several work-items.
fn contenders<T: Value>(device: &Device) -> Vec<(String, PlanOptions)> {
    let algorithms = DenseToCsrKernel::<T, i32, i32>::dense_to_csr_algorithms(device).iter();
    let named = algorithms.filter(|algorithm| !SERIAL.contains(&algorithm.name));
    let forced = named.map(|a| (format!("ours:{}", a.name), PlanOptions::forced(a.name)));
    std::iter::once(("ours".into(), PlanOptions::default())).chain(forced).collect()
}

fn single<D: DeviceTimer, T: Value>(
    bench: &Bench<'_, D>,
    report: &mut Report,
    name: &str,
    n: usize,
    rows: &[T],
) -> Result<()> {
    let device = &bench.device;
    let part: Csr<T> =
        Operations::dense_to_csr(&Reference, DenseView::row_major(rows, rows.len() / n, n)?, Keep::NonZero)?;
    let expected = repeated(Arrays::from(part), n * n / rows.len());
    let nnz = expected.values.len();
    let uploaded = bench.filled(rows, n * n)?;
    let view = DenseView::new(Device::view(&uploaded), n, n, n, Order::RowMajor)?;
    let mut conversions = vec![];
    for (name, options) in contenders::<T>(device) {
        let plan = move || Plan::new(device, view, Keep::NonZero, &options);
        let run = move |plan: &mut Plan<T>| -> sparse_core::Result<Csr<T, _>> { plan.run(view) };
        conversions.push(Conversion::ours_planned(&name, device, plan, run));
    }
    if let Some(peer) = &bench.peer {
        conversions.extend(peer.dense_to_csr(view.into(), nnz)?);
    }
    let bytes = traffic::compress::<T>(n * n, nnz, n + 1);
    compare(bench, report, (&T::name_of("dense_to_csr"), name, bytes), &expected, conversions)
}

/// The rows of a matrix, repeated.
fn repeated<T: Value>(part: Arrays<T>, times: usize) -> Arrays<T> {
    let nnz = part.values.len() as i32;
    let ends = (0..times as i32).flat_map(|k| part.offsets[1..].iter().map(move |end| end + k * nnz));
    Arrays {
        offsets: std::iter::once(0).chain(ends).collect(),
        indices: part.indices.repeat(times),
        values: part.values.repeat(times),
    }
}

fn batch<D: DeviceTimer, T: Value>(
    bench: &Bench<'_, D>,
    report: &mut Report,
    (op, name): (&str, &str),
    (count, n): (usize, usize),
    percent: u32,
) -> Result<()> {
    let device = &bench.device;
    let members: Vec<Vec<T>> = (0..DIFFERENT).map(|k| workload::dense(n, n, percent, k as u32)).collect();
    let (expected, most) = compressed(&members, count, n)?;
    let uploaded = bench.filled(&members.concat(), count * n * n)?;
    let view = DenseBatchView::new(Device::view(&uploaded), count, n * n, (n, n), n, Order::RowMajor)?;
    let mut conversions = vec![];
    for (name, options) in contenders::<T>(device) {
        let plan = move || Plan::new(device, view, Keep::NonZero, &options);
        let run = move |plan: &mut Plan<T>| -> sparse_core::Result<BatchCsr<T, _>> { plan.run_batch(view) };
        conversions.push(Conversion::ours_planned(&name, device, plan, run));
    }
    if let Some(peer) = &bench.peer {
        conversions.extend(peer.dense_to_csr(view, most)?);
    }
    let bytes = traffic::compress::<T>(count * n * n, expected.indices.len(), count * (n + 1));
    compare(bench, report, (&T::name_of(op), name, bytes), &expected, conversions)
}

/// The arrays of `count` members, which repeat, and the most entries of one.
fn compressed<T: Value>(members: &[Vec<T>], count: usize, n: usize) -> Result<(Arrays<T>, usize)> {
    let compress = |member: &Vec<T>| -> Result<Arrays<T>> {
        let csr: Csr<T> =
            Operations::dense_to_csr(&Reference, DenseView::row_major(member, n, n)?, Keep::NonZero)?;
        Ok(csr.into())
    };
    let members = members.iter().map(compress).collect::<Result<Vec<_>>>()?;
    let mut all = Arrays::default();
    for member in members.iter().cycle().take(count) {
        all.offsets.extend_from_slice(&member.offsets);
        all.indices.extend_from_slice(&member.indices);
        all.values.extend_from_slice(&member.values);
    }
    let most = members.iter().map(|member| member.values.len()).max();
    Ok((all, most.unwrap_or(0)))
}
