//! Prefix sums: chunks by Blelloch's scan, the chunks' totals likewise, level after level, and back.
//!
//! HPS cuts its chunks at the ends of rows and VPS at the ends of columns, so that a line's total is carried into the
//! next; TPS has one line.

use crate::program::Defines;
use crate::{Buffer, Device, Driver, View, ViewMut};
use sparse_core::op::{ScanElement, ScanKernel, ScanKind, ScanOrder};
use sparse_core::{Algorithm, Backend, Choice, KernelPlan, PlanOptions, Result, Space};
use std::sync::Arc;

const PADDED: &str = "work_efficient_padded";
const ALGORITHMS: &[Algorithm] = &[
    Algorithm::new("work_efficient", "the device is a CPU").preprocessing("room for the total of each chunk"),
    Algorithm::new(
        PADDED,
        "otherwise: a hole after every 32 elements of local memory, against bank conflicts",
    )
    .preprocessing("room for the total of each chunk"),
];

/// The lines of an array: element p of line l stands at `l·line_step + p·item_step`.
#[derive(Debug, Clone, Copy)]
struct Lines {
    count: usize,
    len: usize,
    line_step: usize,
    item_step: usize,
}

/// One pass: lines cut into chunks, and room for the chunks' totals.
#[derive(Debug)]
struct Level<D: Driver, T> {
    lines: Lines,
    per_line: usize,
    chunks: usize,
    totals: Buffer<D, T>,
}

/// Prefix sums of arrays of one shape.
#[derive(Debug)]
pub(super) struct Scan<D: Driver, T> {
    scan_chunks: Arc<D::Kernel>,
    add: Arc<D::Kernel>,
    chunk: usize,
    levels: Vec<Level<D, T>>,
}

impl<D: Driver, T: ScanElement> Scan<D, T> {
    /// Scans of `len` elements as one series.
    pub(super) fn series(backend: &Device<D>, len: usize) -> Result<Self> {
        Self::new(backend, Lines { count: 1, len, line_step: 0, item_step: 1 }, false)
    }

    fn new(backend: &Device<D>, lines: Lines, padded: bool) -> Result<Self> {
        let block = backend.inner.block;
        let element = if size_of::<T>() == 4 { "uint" } else { "ulong" };
        let defines =
            Defines::default().set("BLOCK", block).set("ELEMENT", element).set("PADDED", u8::from(padded));
        let mut scan = Self {
            scan_chunks: backend.kernel("scan", "scan_chunks", defines.clone())?,
            add: backend.kernel("scan", "scan_add", defines)?,
            chunk: 2 * block,
            levels: vec![],
        };
        let mut chunks = scan.push_level(backend, lines)?;
        while chunks > 1 {
            chunks = scan.push_level(backend, Lines { count: 1, len: chunks, line_step: 0, item_step: 1 })?;
        }
        Ok(scan)
    }

    fn push_level(&mut self, backend: &Device<D>, lines: Lines) -> Result<usize> {
        let per_line = lines.len.div_ceil(self.chunk);
        let chunks = lines.count * per_line;
        self.levels.push(Level { lines, per_line, chunks, totals: backend.allocate(chunks)? });
        Ok(chunks)
    }

    /// Writes the prefix sums of `input` to `output`.
    fn run(
        &self,
        backend: &Device<D>,
        kind: ScanKind,
        input: View<'_, D, T>,
        output: View<'_, D, T>,
    ) -> Result<()> {
        let operands = |level: usize| match level {
            0 => (input, output, kind),
            _ => {
                let totals = Device::<D>::view(&self.levels[level - 1].totals);
                (totals, totals, ScanKind::Exclusive)
            }
        };
        for (number, level) in self.levels.iter().enumerate() {
            let (from, to, kind) = operands(number);
            let launch = backend.launch(&self.scan_chunks).size(level.chunks).size(level.per_line);
            let launch = launch.size(level.lines.len).size(level.lines.line_step).size(level.lines.item_step);
            let launch = launch.value(i32::from(kind == ScanKind::Inclusive)).view(from).view(to);
            let groups = level.chunks.min(backend.most_groups());
            launch.buffer(&level.totals).groups(groups, self.chunk / 2)?;
        }
        for (number, level) in self.levels.iter().enumerate().rev().filter(|(_, level)| level.chunks > 1) {
            let (_, to, _) = operands(number);
            let launch = backend.launch(&self.add).size(level.chunks).size(level.per_line);
            let launch = launch.size(level.lines.len).size(level.lines.line_step).size(level.lines.item_step);
            launch.buffer(&level.totals).view(to).items(level.chunks * self.chunk)?;
        }
        Ok(())
    }

    /// Turns `counts` into the sums of what stands before each.
    pub(super) fn starts(&self, backend: &Device<D>, counts: &mut Buffer<D, T>) -> Result<()> {
        let view = Device::<D>::view(counts);
        self.run(backend, ScanKind::Exclusive, view, view)
    }

    fn bytes(&self) -> usize {
        self.levels.iter().map(|level| level.chunks * size_of::<T>()).sum()
    }
}

impl<D: Driver> Scan<D, i64> {
    /// Turns counts, with a zero behind them, into the sums of what stands before each, and gives the sum of all.
    pub(super) fn starts_and_sum(&self, backend: &Device<D>, counts: &mut Buffer<D, i64>) -> Result<usize> {
        self.starts(backend, counts)?;
        let mut sum = [0];
        let last = Device::<D>::slice(Device::<D>::view(counts), counts.len - 1..counts.len);
        backend.download_into(last, &mut sum)?;
        Ok(sum[0] as usize)
    }
}

/// The plan of a scan.
#[derive(Debug)]
pub struct ScanSteps<D: Driver, T> {
    choice: Choice,
    kind: ScanKind,
    scan: Scan<D, T>,
}

impl<D: Driver, T: ScanElement> KernelPlan for ScanSteps<D, T> {
    fn choice(&self) -> &Choice {
        &self.choice
    }

    fn workspace_bytes(&self) -> usize {
        self.scan.bytes()
    }
}

impl<D: Driver, T: ScanElement> ScanKernel<T> for Device<D> {
    type Plan = ScanSteps<D, T>;

    fn scan_algorithms(&self, _: ScanOrder) -> &'static [Algorithm] {
        ALGORITHMS
    }

    fn plan_scan(
        &self,
        (rows, cols): (usize, usize),
        order: ScanOrder,
        kind: ScanKind,
        options: &PlanOptions,
    ) -> Result<ScanSteps<D, T>> {
        let (automatic, reason) = match self.driver().is_cpu() {
            true => ("work_efficient", "the device is a CPU"),
            false => (PADDED, "the device is no CPU"),
        };
        let choice = options.choose("scan", ALGORITHMS, automatic, reason)?;
        let lines = match order {
            ScanOrder::Tps => Lines { count: 1, len: rows * cols, line_step: 0, item_step: 1 },
            ScanOrder::Hps => Lines { count: rows, len: cols, line_step: cols, item_step: 1 },
            ScanOrder::Vps => Lines { count: cols, len: rows, line_step: 1, item_step: cols },
        };
        let scan = Scan::new(self, lines, choice.algorithm == PADDED)?;
        Ok(ScanSteps { choice, kind, scan })
    }

    unsafe fn scan(
        &self,
        plan: &mut ScanSteps<D, T>,
        input: View<'_, D, T>,
        output: ViewMut<'_, D, T>,
    ) -> Result<()> {
        plan.scan.run(self, plan.kind, input, Device::<D>::as_shared(&output))
    }
}
