//! Several tasks of one processor: merged by prefix sums or not, along or across the compressed axis, one thread per
//! task or all threads on each.

use super::data::Data;
use super::figure::Figure;
use super::processor::{Compresses, Compressor, Processor, with_backend};
use super::sweeps::ratio;
use super::{AMOUNT, Context, ORDERS, PERCENTS};
use anyhow::{Result, ensure};
use sparse_core::backend::SpaceOf;
use sparse_core::{Axis, Backend, Col, DenseView, Order, Row, Space};
use sparse_distrib::{DeviceStack, Options, Parallelism, Partition, Source, dispatch};
use std::hint::black_box;
use std::slice;

/// The tasks of one matrix.
const TASKS: usize = 4;

/// The orders for which inter-task kernels are, beside those of the slides.
const SMALL_ORDERS: [usize; 2] = [32, 64];

/// Compression of one matrix by several tasks, whose parts are merged by prefix sums or stored with their counts.
pub(super) fn with_and_without_prefix_sums(context: &Context<'_>) -> Result<Vec<Figure>> {
    let title = format!("one matrix by {TASKS} tasks, merged by prefix sums or with counts only");
    let mut figure = Figure::new("prefix", title, "ratio", "ms");
    figure.note("counts only: tasks own their rows of CRS or columns of CCS; where they share them, only prefix sums do");
    let (rows, cols) = (Partition::rows(TASKS)?, Partition::cols(TASKS)?);
    by_ratio(context, figure, |processor, data| {
        with_backend!(processor, backend => Ok([
            ("CRS, prefix sums", merged::<_, Row>(context, backend, data, rows)?),
            ("CRS, counts", counted::<_, Row>(context, backend, data, rows)?),
            ("CCS, prefix sums", merged::<_, Col>(context, backend, data, cols)?),
            ("CCS, counts", counted::<_, Col>(context, backend, data, cols)?),
        ]))
    })
}

/// CRS and CCS by tasks that have rows or columns.
pub(super) fn dispatches(context: &Context<'_>) -> Result<Vec<Figure>> {
    let title = format!("one matrix to CRS and CCS by {TASKS} tasks that have its rows or its columns");
    let mut figure = Figure::new("dispatch", title, "ratio", "ms");
    figure.note("prefix sums: HPS for CRS by rows and CCS by columns, VPS for the others");
    let (rows, cols) = (Partition::rows(TASKS)?, Partition::cols(TASKS)?);
    by_ratio(context, figure, |processor, data| {
        with_backend!(processor, backend => Ok([
            ("CRS by rows", merged::<_, Row>(context, backend, data, rows)?),
            ("CRS by columns", merged::<_, Row>(context, backend, data, cols)?),
            ("CCS by rows", merged::<_, Col>(context, backend, data, rows)?),
            ("CCS by columns", merged::<_, Col>(context, backend, data, cols)?),
        ]))
    })
}

/// The seconds that `measure` returns, by ratio, for all threads and for each device.
fn by_ratio<const SERIES: usize>(
    context: &Context<'_>,
    mut figure: Figure,
    measure: impl Fn(&Processor, &Data) -> Result<[(&'static str, f64); SERIES]>,
) -> Result<Vec<Figure>> {
    for percent in PERCENTS {
        let data = context.data(percent)?;
        for processor in &context.processors[1..] {
            let (name, ratio) = (&processor.name, ratio(percent));
            if context.is_late() {
                figure.note(format!("left out for want of time: {name} at {ratio}"));
                continue;
            }
            for (what, seconds) in measure(processor, &data)? {
                figure.add(format!("{name}: {what}"), ratio, seconds * 1e3);
            }
        }
    }
    Ok(vec![figure])
}

/// Seconds of tasks whose parts are merged by prefix sums.
fn merged<B: Compresses, A: Axis>(
    context: &Context<'_>,
    backend: &B,
    data: &Data,
    tasks: Partition,
) -> Result<f64> {
    let n = data.order;
    let uploaded = backend.upload(data.member(0))?;
    let matrix = DenseView::new(SpaceOf::<B>::view(&uploaded), n, n, n, Order::RowMajor)?;
    let made = dispatch::compress::<B, A, f32, i32, i32>(backend, matrix, tasks)?;
    let expected = data.csr(0).triplets().map(|(row, col, _)| A::swap(row, col));
    let mut expected: Vec<_> = expected.collect();
    expected.sort_unstable();
    ensure!(made.triplets().map(|(row, col, _)| A::swap(row, col)).eq(expected), "wrong entries by {tasks}");
    context.timed(|| {
        black_box(dispatch::compress::<B, A, f32, i32, i32>(backend, matrix, tasks)?);
        Ok(())
    })
}

/// Seconds of tasks that leave counts.
fn counted<B: Compresses, A: Axis>(
    context: &Context<'_>,
    backend: &B,
    data: &Data,
    tasks: Partition,
) -> Result<f64> {
    let n = data.order;
    let uploaded = backend.upload(data.member(0))?;
    let matrix = DenseView::new(SpaceOf::<B>::view(&uploaded), n, n, n, Order::RowMajor)?;
    let run = || dispatch::compress_counted::<B, A, f32, i32, i32>(backend, matrix, tasks);
    ensure!(run()?.values().len() == data.nnz(1), "wrong number of entries by {tasks}");
    context.timed(|| {
        black_box(run()?);
        Ok(())
    })
}

/// Inter-task and intra-task parallelism by the order of matrices, which are in the processor's memory.
pub(super) fn inter_and_intra(context: &Context<'_>) -> Result<Vec<Figure>> {
    let count = context.amount(AMOUNT);
    let title = format!("inter- and intra-task, {count} matrices in the processor's memory, ratio 0.5");
    let mut figure = Figure::new("tasks", title, "order", "ms");
    figure.note("batch: whole matrices for each thread of the host, all threads for one above 4 MiB; all in one launch of a device");
    figure.note("inter_task: whole matrices for each thread of the host; all in one launch of a device, for each warp, or work-item of a CPU");
    figure.note("intra_task: all threads, or a launch, for one matrix after the other");
    figure.note("the slides' inter-task kernel gives a whole matrix to a thread; a warp reads neighbouring elements together");
    for order in SMALL_ORDERS.into_iter().chain(ORDERS) {
        let data = Data::new(context.order(order), 50)?;
        let elements = data.elements(count);
        for processor in &context.processors[1..] {
            if context.is_late() {
                figure.note(format!("left out for want of time: {} at {}", processor.name, data.order));
                continue;
            }
            with_backend!(processor, backend => {
                let buffer = backend.upload(&elements)?;
                let shape = (data.order, data.order);
                let stack = DeviceStack::packed(backend.clone(), &buffer, count, shape)?;
                for parallelism in Parallelism::ALL {
                    let seconds = in_place(context, processor, &data, &stack, parallelism)?;
                    let name = format!("{}: {parallelism}", processor.name);
                    figure.add(name, data.order as f64, seconds * 1e3);
                }
            });
        }
    }
    Ok(vec![figure])
}

/// Seconds of the engine for matrices in the processor's memory, with plans of a run before.
fn in_place(
    context: &Context<'_>,
    processor: &Processor,
    data: &Data,
    stack: &dyn Source<f32>,
    parallelism: Parallelism,
) -> Result<f64> {
    let mut compressor = Compressor::new(slice::from_ref(processor))?;
    let options = Options { parallelism, ..Options::default() };
    compressor.compress(data, stack, &options)?;
    context.median(|| Ok(compressor.compress(data, stack, &options)?.seconds))
}
