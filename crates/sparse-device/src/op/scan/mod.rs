//! Prefix sums: Blelloch's scan of chunks, then of the chunks' totals, level after level, and back.
//!
//! HPS cuts its chunks at the ends of rows and VPS at the ends of columns, so that a line's total is carried into the
//! next; TPS has one line. Where work-groups may wait for each other, TPS and HPS have a single-pass algorithm too.

use crate::op::available_algorithms::Needs;
use crate::primitive::look_back::Tiles;
use crate::program::Defines;
use crate::{Buffer, Device, Kernel, View, ViewMut};
use sparse_core::op::{ScanElement, ScanKernel, ScanKind, ScanOrder};
use sparse_core::{Algorithm, Backend, Choice, KernelPlan, PlanOptions, Result, Space, algorithms};

algorithms! {
    /// The algorithms of scans.
    enum ScanAlgorithm needs Needs {
        WorkEfficient = Algorithm::new("work_efficient", "the device is a CPU")
            .preprocessing("the total of each chunk"),
        Needs::Nothing;

        WorkEfficientPadded = Algorithm::new(
            "work_efficient_padded",
            "otherwise: a hole after every 32 elements of local memory, against bank conflicts",
        )
        .preprocessing("the total of each chunk"),
        Needs::Nothing;

        /// For lines without gaps.
        LookBack = Algorithm::new(
            "look_back",
            "never: a single pass, on devices whose work-groups may wait for each other",
        )
        .preprocessing("the state of each tile"),
        Needs::File(LOOK_BACK_FILE);
    }
}

/// The file of the kernel of `look_back`, and the elements of a tile for each work-item: `ITEMS` of the kernel.
const LOOK_BACK_FILE: &str = "scan_look_back";
const LOOK_BACK_ITEMS: usize = 8;

/// The lines of an array: element p of line l is at `l·line_step + p·item_step`.
#[derive(Debug, Clone, Copy)]
struct Lines {
    count: usize,
    len: usize,
    line_step: usize,
    item_step: usize,
}

/// The kernels' name of an element.
fn element<T: ScanElement>() -> &'static str {
    if size_of::<T>() == 4 { "uint" } else { "ulong" }
}

/// One pass: lines cut into chunks, and the chunks' totals.
#[derive(Debug)]
struct Level<T> {
    lines: Lines,
    per_line: usize,
    chunks: usize,
    totals: Buffer<T>,
}

/// Prefix sums of arrays of one shape.
#[derive(Debug)]
pub(crate) struct Scan<T> {
    scan_chunks: Kernel,
    add: Kernel,
    chunk: usize,
    levels: Vec<Level<T>>,
}

impl<T: ScanElement> Scan<T> {
    /// Scans of `len` elements as one series.
    pub(crate) fn series(backend: &Device, len: usize) -> Result<Self> {
        Self::new(backend, Lines { count: 1, len, line_step: 0, item_step: 1 }, false)
    }

    fn new(backend: &Device, lines: Lines, padded: bool) -> Result<Self> {
        let block = backend.inner.block;
        let defines = Defines::default().set("BLOCK", block).set("ELEMENT", element::<T>());
        let defines = defines.set("PADDED", u8::from(padded));
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

    fn push_level(&mut self, backend: &Device, lines: Lines) -> Result<usize> {
        let per_line = lines.len.div_ceil(self.chunk);
        let chunks = lines.count * per_line;
        self.levels.push(Level { lines, per_line, chunks, totals: backend.allocate(chunks)? });
        Ok(chunks)
    }

    /// Writes the prefix sums of `input` to `output`.
    fn run(&self, backend: &Device, kind: ScanKind, input: View<'_, T>, output: View<'_, T>) -> Result<()> {
        let operands = |level: usize| match level {
            0 => (input, output, kind),
            _ => {
                let totals = Device::view(&self.levels[level - 1].totals);
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

    /// Replaces `counts` by their exclusive prefix sums.
    pub(crate) fn starts(&self, backend: &Device, counts: &Buffer<T>) -> Result<()> {
        let view = Device::view(counts);
        self.run(backend, ScanKind::Exclusive, view, view)
    }

    fn bytes(&self) -> usize {
        self.levels.iter().map(|level| level.chunks * size_of::<T>()).sum()
    }
}

impl Scan<i64> {
    /// Replaces counts, followed by a zero, by their exclusive prefix sums, and returns the sum of all.
    pub(crate) fn starts_and_sum(&self, backend: &Device, counts: &Buffer<i64>) -> Result<usize> {
        self.starts(backend, counts)?;
        let mut sum = [0];
        let last = Device::slice(Device::view(counts), counts.len - 1..counts.len);
        backend.download_into(last, &mut sum)?;
        Ok(sum[0] as usize)
    }
}

/// The scan of a contiguous array in a single pass.
#[derive(Debug)]
struct LookBack {
    kernel: Kernel,
    len: usize,
    tiles: Tiles,
}

impl LookBack {
    fn new<T: ScanElement>(backend: &Device, len: usize) -> Result<Self> {
        let block = backend.inner.block;
        let defines = Defines::default().set("BLOCK", block).set("ELEMENT", element::<T>());
        Ok(Self {
            kernel: backend.kernel(LOOK_BACK_FILE, "scan_look_back", defines)?,
            len,
            tiles: Tiles::new(backend, len.div_ceil(LOOK_BACK_ITEMS * block))?,
        })
    }

    fn run<T: ScanElement>(
        &self,
        backend: &Device,
        kind: ScanKind,
        input: View<'_, T>,
        output: View<'_, T>,
    ) -> Result<()> {
        let launch =
            backend.launch(&self.kernel).size(self.len).value(i32::from(kind == ScanKind::Inclusive));
        let groups = backend.most_groups().min(self.tiles.count());
        let launch = self.tiles.begin(backend, launch.view(input).view(output))?;
        launch.groups(groups, backend.inner.block)
    }
}

/// The plan of a scan.
#[derive(Debug)]
pub struct ScanSteps<T> {
    choice: Choice,
    kind: ScanKind,
    passes: Passes<T>,
}

#[derive(Debug)]
enum Passes<T> {
    Levels(Scan<T>),
    LookBack(LookBack),
}

impl<T: ScanElement> KernelPlan for ScanSteps<T> {
    fn choice(&self) -> &Choice {
        &self.choice
    }

    fn workspace_bytes(&self) -> usize {
        match &self.passes {
            Passes::Levels(scan) => scan.bytes(),
            Passes::LookBack(scan) => scan.tiles.bytes(),
        }
    }
}

impl<T: ScanElement> ScanKernel<T> for Device {
    type Plan = ScanSteps<T>;

    fn scan_algorithms(&self, order: ScanOrder) -> &'static [Algorithm] {
        let has_gaps = order == ScanOrder::ColumnMajor;
        self.offered(|algorithm: ScanAlgorithm| !(has_gaps && algorithm == ScanAlgorithm::LookBack))
    }

    fn plan_scan(
        &self,
        (rows, cols): (usize, usize),
        order: ScanOrder,
        kind: ScanKind,
        options: &PlanOptions,
    ) -> Result<ScanSteps<T>> {
        let fitting = match self.caps().is_cpu {
            true => (ScanAlgorithm::WorkEfficient, "the device is a CPU"),
            false => (ScanAlgorithm::WorkEfficientPadded, "the device is no CPU"),
        };
        let offered = ScanKernel::<T>::scan_algorithms(self, order);
        let (algorithm, choice) = self.choose("scan", options, offered, fitting)?;
        let lines = match order {
            ScanOrder::Flat => Lines { count: 1, len: rows * cols, line_step: 0, item_step: 1 },
            ScanOrder::RowMajor => Lines { count: rows, len: cols, line_step: cols, item_step: 1 },
            ScanOrder::ColumnMajor => Lines { count: cols, len: rows, line_step: 1, item_step: cols },
        };
        let passes = match algorithm {
            ScanAlgorithm::WorkEfficient => Passes::Levels(Scan::new(self, lines, false)?),
            ScanAlgorithm::WorkEfficientPadded => Passes::Levels(Scan::new(self, lines, true)?),
            ScanAlgorithm::LookBack => Passes::LookBack(LookBack::new::<T>(self, rows * cols)?),
        };
        Ok(ScanSteps { choice, kind, passes })
    }

    unsafe fn scan(&self, plan: &mut ScanSteps<T>, input: View<'_, T>, output: ViewMut<'_, T>) -> Result<()> {
        let output = Device::as_shared(&output);
        match &plan.passes {
            Passes::Levels(scan) => scan.run(self, plan.kind, input, output),
            Passes::LookBack(scan) => scan.run(self, plan.kind, input, output),
        }
    }
}
