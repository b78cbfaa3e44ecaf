//! Prefix sums: Blelloch's scan of chunks, then of the chunks' totals, level after level, and back; short series by a
//! single work-group, longer ones in a single pass where work-groups may wait for each other.

use super::scan_look_back::{self, ScanLookBack};
use crate::defines::Defines;
use crate::{Buffer, Device, Kernel, View};
use sparse_core::op::{ScanElement, ScanKind};
use sparse_core::{Backend, Result, Space};

/// The lines of an array: element p of line l is at `l·line_step + p·item_step`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lines {
    pub(crate) count: usize,
    pub(crate) len: usize,
    pub(crate) line_step: usize,
    pub(crate) item_step: usize,
}

impl Lines {
    /// One line without gaps.
    pub(crate) fn series(len: usize) -> Self {
        Self { count: 1, len, line_step: 0, item_step: 1 }
    }
}

/// The kernels' name of an element.
pub(crate) fn element<T: ScanElement>() -> &'static str {
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

/// Elements of a series up to which a single work-group computes it: more launches would take longer.
const SHORT: usize = 16384;

/// Prefix sums of arrays of one shape.
#[derive(Debug)]
pub(crate) enum PrefixSum<T> {
    /// A short series.
    Short { kernel: Kernel, len: usize },
    /// A longer series, on devices whose work-groups may wait for each other.
    LookBack(ScanLookBack),
    /// Anything else.
    Levels(Levels<T>),
}

/// The levels of prefix sums.
#[derive(Debug)]
pub(crate) struct Levels<T> {
    scan_chunks: Kernel,
    add: Kernel,
    chunk: usize,
    levels: Vec<Level<T>>,
}

impl<T: ScanElement> Levels<T> {
    fn new(backend: &Device, lines: Lines, padded: bool) -> Result<Self> {
        let kernel = |entry| kernel::<T>(backend, entry, padded);
        let mut sum = Self {
            scan_chunks: kernel("scan_chunks")?,
            add: kernel("scan_add")?,
            chunk: 2 * backend.inner.block,
            levels: vec![],
        };
        let mut chunks = sum.push_level(backend, lines)?;
        while chunks > 1 {
            chunks = sum.push_level(backend, Lines::series(chunks))?;
        }
        Ok(sum)
    }

    fn push_level(&mut self, backend: &Device, lines: Lines) -> Result<usize> {
        let per_line = lines.len.div_ceil(self.chunk);
        let chunks = lines.count * per_line;
        self.levels.push(Level { lines, per_line, chunks, totals: backend.allocate(chunks)? });
        Ok(chunks)
    }

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
}

fn kernel<T: ScanElement>(backend: &Device, entry: &'static str, padded: bool) -> Result<Kernel> {
    let defines = Defines::default().set("BLOCK", backend.inner.block).set("ELEMENT", element::<T>());
    backend.kernel("scan", entry, defines.set("PADDED", u8::from(padded)))
}

impl<T: ScanElement> PrefixSum<T> {
    /// Prefix sums of `len` elements as one series.
    pub(crate) fn series(backend: &Device, len: usize) -> Result<Self> {
        if len <= SHORT {
            return Ok(Self::Short { kernel: kernel::<T>(backend, "scan_short", false)?, len });
        }
        match backend.lacks(scan_look_back::FILE) {
            None => ScanLookBack::new::<T>(backend, len).map(Self::LookBack),
            Some(_) => Self::new(backend, Lines::series(len), false),
        }
    }

    /// Prefix sums of lines; `padded` leaves holes in local memory, against bank conflicts.
    pub(crate) fn new(backend: &Device, lines: Lines, padded: bool) -> Result<Self> {
        Levels::new(backend, lines, padded).map(Self::Levels)
    }

    /// Writes the prefix sums of `input` to `output`.
    pub(crate) fn run(
        &self,
        backend: &Device,
        kind: ScanKind,
        input: View<'_, T>,
        output: View<'_, T>,
    ) -> Result<()> {
        match self {
            Self::Short { kernel, len } => {
                let launch = backend.launch(kernel).size(*len);
                let launch = launch.value(i32::from(kind == ScanKind::Inclusive)).view(input).view(output);
                launch.groups(1, backend.inner.block)
            }
            Self::LookBack(scan) => scan.run(backend, kind, input, output),
            Self::Levels(levels) => levels.run(backend, kind, input, output),
        }
    }

    /// Replaces `counts` by their exclusive prefix sums.
    pub(crate) fn starts(&self, backend: &Device, counts: &Buffer<T>) -> Result<()> {
        let view = Device::view(counts);
        self.run(backend, ScanKind::Exclusive, view, view)
    }

    /// Bytes of the totals, or of the tiles' states.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Short { .. } => 0,
            Self::LookBack(scan) => scan.bytes(),
            Self::Levels(Levels { levels, .. }) => {
                levels.iter().map(|level| level.chunks * size_of::<T>()).sum()
            }
        }
    }
}

impl PrefixSum<i64> {
    /// Replaces counts, followed by a zero, by their exclusive prefix sums, and returns the sum of all.
    pub(crate) fn starts_and_sum(&self, backend: &Device, counts: &Buffer<i64>) -> Result<usize> {
        self.starts(backend, counts)?;
        Ok(backend.last(counts)? as usize)
    }
}

impl Device {
    /// The last element of a buffer. Waits for the device.
    pub(crate) fn last<T: ScanElement>(&self, buffer: &Buffer<T>) -> Result<T> {
        let mut last = [T::default()];
        self.download_into(Self::slice(Self::view(buffer), buffer.len - 1..buffer.len), &mut last)?;
        Ok(last[0])
    }
}
