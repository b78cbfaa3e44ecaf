//! Prefix sums: Blelloch's scan of chunks, then of the chunks' totals, level after level, and back.

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

/// Prefix sums of arrays of one shape.
#[derive(Debug)]
pub(crate) struct PrefixSum<T> {
    scan_chunks: Kernel,
    add: Kernel,
    chunk: usize,
    levels: Vec<Level<T>>,
}

impl<T: ScanElement> PrefixSum<T> {
    /// Prefix sums of `len` elements as one series.
    pub(crate) fn series(backend: &Device, len: usize) -> Result<Self> {
        Self::new(backend, Lines::series(len), false)
    }

    /// Prefix sums of lines; `padded` leaves holes in local memory, against bank conflicts.
    pub(crate) fn new(backend: &Device, lines: Lines, padded: bool) -> Result<Self> {
        let block = backend.inner.block;
        let defines = Defines::default().set("BLOCK", block).set("ELEMENT", element::<T>());
        let defines = defines.set("PADDED", u8::from(padded));
        let mut sum = Self {
            scan_chunks: backend.kernel("scan", "scan_chunks", defines.clone())?,
            add: backend.kernel("scan", "scan_add", defines)?,
            chunk: 2 * block,
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

    /// Writes the prefix sums of `input` to `output`.
    pub(crate) fn run(
        &self,
        backend: &Device,
        kind: ScanKind,
        input: View<'_, T>,
        output: View<'_, T>,
    ) -> Result<()> {
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

    /// Bytes of the totals.
    pub(crate) fn bytes(&self) -> usize {
        self.levels.iter().map(|level| level.chunks * size_of::<T>()).sum()
    }
}

impl PrefixSum<i64> {
    /// Replaces counts, followed by a zero, by their exclusive prefix sums, and returns the sum of all.
    pub(crate) fn starts_and_sum(&self, backend: &Device, counts: &Buffer<i64>) -> Result<usize> {
        self.starts(backend, counts)?;
        let mut sum = [0];
        let last = Device::slice(Device::view(counts), counts.len - 1..counts.len);
        backend.download_into(last, &mut sum)?;
        Ok(sum[0] as usize)
    }
}
