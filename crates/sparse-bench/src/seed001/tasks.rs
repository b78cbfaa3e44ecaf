//! Several tasks of one processor: merged by prefix sums or not, along or across the compressed axis, one task a thread
//! or all threads on each.

use super::data::Data;
use super::figure::Figure;
use super::processor::{AnyBackend, Compresses, Processor, with_backend};
use super::sweeps::ratio;
use super::{AMOUNT, Context, ORDERS, PERCENTS};
use anyhow::{Result, anyhow, ensure};
use backend_cpu::{Cpu, Simd};
use sparse_core::backend::SpaceOf;
use sparse_core::op::{DenseToCompressedPlan, Keep};
use sparse_core::{Axis, BatchCsr, Col, Csr, DenseBatchView, DenseView, Order, PlanOptions, Row, Space};
use sparse_distrib::{Partition, dispatch};
use std::hint::black_box;
use std::thread;

/// The tasks of one matrix.
const TASKS: usize = 4;

/// Compression of one matrix by several tasks, whose parts are merged by prefix sums or stand with their counts.
pub(super) fn with_and_without_prefix_sums(context: &Context<'_>) -> Result<Vec<Figure>> {
    let title = format!("one matrix by {TASKS} tasks, merged by prefix sums or with counts only");
    let mut figure = Figure::new("prefix", title, "ratio", "ms");
    figure.note("counts only: tasks own their rows of CRS or columns of CCS; where they share them, only prefix sums do");
    for_each_matrix(context, &mut figure, |figure, processor, data, x| {
        let (rows, cols) = (Partition::rows(TASKS)?, Partition::cols(TASKS)?);
        with_backend!(processor, backend => {
            let times = [
                ("CRS, prefix sums", merged::<_, Row>(context, backend, data, rows)?),
                ("CRS, counts", counted::<_, Row>(context, backend, data, rows)?),
                ("CCS, prefix sums", merged::<_, Col>(context, backend, data, cols)?),
                ("CCS, counts", counted::<_, Col>(context, backend, data, cols)?),
            ];
            for (what, seconds) in times {
                figure.add(format!("{}: {what}", processor.name), x, seconds * 1e3);
            }
        });
        Ok(())
    })?;
    Ok(vec![figure])
}

/// CRS and CCS by tasks that have rows or columns.
pub(super) fn dispatches(context: &Context<'_>) -> Result<Vec<Figure>> {
    let title = format!("one matrix to CRS and CCS by {TASKS} tasks that have its rows or its columns");
    let mut figure = Figure::new("dispatch", title, "ratio", "ms");
    figure.note("prefix sums: HPS for CRS by rows and CCS by columns, VPS for the others");
    for_each_matrix(context, &mut figure, |figure, processor, data, x| {
        let (rows, cols) = (Partition::rows(TASKS)?, Partition::cols(TASKS)?);
        with_backend!(processor, backend => {
            let times = [
                ("CRS by rows", merged::<_, Row>(context, backend, data, rows)?),
                ("CRS by columns", merged::<_, Row>(context, backend, data, cols)?),
                ("CCS by rows", merged::<_, Col>(context, backend, data, rows)?),
                ("CCS by columns", merged::<_, Col>(context, backend, data, cols)?),
            ];
            for (what, seconds) in times {
                figure.add(format!("{}: {what}", processor.name), x, seconds * 1e3);
            }
        });
        Ok(())
    })?;
    Ok(vec![figure])
}

/// Calls `measure` for each ratio on all threads and on each device.
fn for_each_matrix(
    context: &Context<'_>,
    figure: &mut Figure,
    mut measure: impl FnMut(&mut Figure, &Processor, &Data, f64) -> Result<()>,
) -> Result<()> {
    for percent in PERCENTS {
        let data = context.data(percent)?;
        for processor in &context.processors[1..] {
            if context.is_late() {
                figure.note(format!("left out for want of time: {} at {}", processor.name, ratio(percent)));
            } else {
                measure(figure, processor, &data, ratio(percent))?;
            }
        }
    }
    Ok(())
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

/// Inter-task and intra-task parallelism by the order of matrices, which lie in the processor's memory.
pub(super) fn inter_and_intra(context: &Context<'_>) -> Result<Vec<Figure>> {
    let count = context.amount(AMOUNT);
    let title = format!("inter- and intra-task, {count} matrices in the processor's memory, ratio 0.5");
    let mut figure = Figure::new("tasks", title, "order", "ms");
    figure.note(
        "inter: each thread of the host compresses whole matrices; each work-item of a device whole rows",
    );
    figure.note("intra: all threads or work-items compress one matrix after the other; batch: all of them in one call");
    figure
        .note("no kernel here gives a whole matrix to one work-item, as the slides' inter-task kernel does");
    let (by_rows, all) = (PlanOptions::forced("row_per_thread"), PlanOptions::default());
    for order in ORDERS {
        let data = Data::new(context.order(order), 50)?;
        let elements = data.elements(count);
        for processor in &context.processors[1..] {
            if context.is_late() {
                figure.note(format!("left out for want of time: {} at {}", processor.name, data.order));
                continue;
            }
            let (inter, intra, batch) = match &processor.backend {
                AnyBackend::Cpu(cpu) => {
                    let batch = Batch::new(cpu, &data, &elements)?;
                    (
                        by_threads(context, cpu.threads(), &data, &elements)?,
                        batch.one_by_one(context)?,
                        batch.at_once(context, &all)?,
                    )
                }
                AnyBackend::Device(device) => {
                    let batch = Batch::new(device, &data, &elements)?;
                    (
                        batch.at_once(context, &by_rows)?,
                        batch.one_by_one(context)?,
                        batch.at_once(context, &all)?,
                    )
                }
            };
            for (what, seconds) in [("inter", inter), ("intra", intra), ("batch", batch)] {
                figure.add(format!("{}: {what}", processor.name), data.order as f64, seconds * 1e3);
            }
        }
    }
    Ok(vec![figure])
}

/// Seconds of `threads` threads that compress whole matrices.
fn by_threads(context: &Context<'_>, threads: usize, data: &Data, elements: &[f32]) -> Result<f64> {
    let (n, size) = (data.order, data.order * data.order);
    let count = elements.len() / size;
    let matrix = |item: usize| DenseView::row_major(&elements[item * size..][..size], n, n);
    let backends = (0..threads).map(|_| Cpu::with(1, Simd::detect())).collect::<Result<Vec<_>, _>>()?;
    let compress = |backend: &Cpu, items: &mut dyn Iterator<Item = usize>| -> Result<()> {
        let mut plan =
            DenseToCompressedPlan::new(backend, matrix(0)?, Keep::NonZero, &PlanOptions::default())?;
        for item in items {
            let made: Csr<f32> = plan.run(matrix(item)?)?;
            ensure!(made.nnz() == data.csr(item).nnz(), "matrix {item} has {} entries", made.nnz());
        }
        Ok(())
    };
    context.timed(|| {
        thread::scope(|scope| {
            let running: Vec<_> = backends
                .iter()
                .enumerate()
                .map(|(thread, backend)| {
                    scope.spawn(move || compress(backend, &mut (thread..count).step_by(threads)))
                })
                .collect();
            let joined =
                running.into_iter().map(|thread| thread.join().map_err(|_| anyhow!("a thread panicked")));
            joined.collect::<Result<Vec<_>>>()?.into_iter().collect()
        })
    })
}

/// Matrices in the memory of a backend.
struct Batch<'a, B: Compresses> {
    backend: &'a B,
    data: &'a Data,
    count: usize,
    elements: sparse_core::backend::Buf<B, f32>,
}

impl<'a, B: Compresses> Batch<'a, B> {
    fn new(backend: &'a B, data: &'a Data, elements: &[f32]) -> Result<Self> {
        let count = elements.len() / (data.order * data.order);
        Ok(Self { backend, data, count, elements: backend.upload(elements)? })
    }

    fn view(&self) -> Result<DenseBatchView<'_, f32, SpaceOf<B>>> {
        let n = self.data.order;
        let elements = SpaceOf::<B>::view(&self.elements);
        Ok(DenseBatchView::new(elements, self.count, n * n, (n, n), n, Order::RowMajor)?)
    }

    /// Seconds of all matrices in one call.
    fn at_once(&self, context: &Context<'_>, options: &PlanOptions) -> Result<f64> {
        let view = self.view()?;
        let mut plan =
            DenseToCompressedPlan::<_, Row, _, _, i32>::new(self.backend, view, Keep::NonZero, options)?;
        let mut run = || -> Result<()> {
            let made: BatchCsr<f32, SpaceOf<B>> = plan.run_batch(view)?;
            self.backend.synchronize()?;
            ensure!(made.nnz() == self.data.nnz(self.count), "the batch has {} entries", made.nnz());
            Ok(())
        };
        run()?;
        context.timed(run)
    }

    /// Seconds of matrix after matrix.
    fn one_by_one(&self, context: &Context<'_>) -> Result<f64> {
        let view = self.view()?;
        let options = PlanOptions::default();
        let mut plan = DenseToCompressedPlan::<_, Row, _, _, i32>::new(
            self.backend,
            view.member(0),
            Keep::NonZero,
            &options,
        )?;
        let mut run = || -> Result<()> {
            for item in 0..self.count {
                let made: Csr<f32, SpaceOf<B>> = plan.run(view.member(item))?;
                ensure!(made.nnz() == self.data.csr(item).nnz(), "matrix {item} has {} entries", made.nnz());
            }
            Ok(self.backend.synchronize()?)
        };
        run()?;
        context.timed(run)
    }
}
