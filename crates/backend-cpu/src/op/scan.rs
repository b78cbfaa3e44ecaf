//! Prefix sums over fixed blocks.

use super::SEQUENTIAL;
use super::plan::CpuPlan;
use crate::Cpu;
use crate::parallel::{CHUNK, chunks, split_mut};
use crate::primitive::fill::zeroed;
use sparse_core::op::{ScanElement, ScanKernel, ScanKind, ScanOrder};
use sparse_core::reference::{Reference, ScanSteps};
use sparse_core::{Algorithm, AlgorithmSet, PlanOptions, Result, algorithms};
use std::ops::Range;

algorithms! {
    /// The algorithms of scans.
    pub enum ScanAlgorithm {
        Blocked = Algorithm::new("blocked", "always: sums of blocks, their prefix sums, then every block");
        WorkEfficient = Algorithm::new("work_efficient", "never: Blelloch's up-sweep and down-sweep");
        Sequential = SEQUENTIAL;
    }
}

/// Elements of a block of the work-efficient scan.
const TREE: usize = 1024;

impl<T: ScanElement> ScanKernel<T> for Cpu {
    type Plan = CpuPlan<ScanAlgorithm, ScanSteps>;

    fn scan_algorithms(&self, _: ScanOrder) -> &'static [Algorithm] {
        ScanAlgorithm::table(&|_| true)
    }

    fn plan_scan(
        &self,
        shape: (usize, usize),
        order: ScanOrder,
        kind: ScanKind,
        options: &PlanOptions,
    ) -> Result<Self::Plan> {
        let (offered, preferred) = (ScanAlgorithm::table(&|_| true), ScanAlgorithm::Blocked);
        let (algorithm, choice) = options.choose_among("scan", offered, preferred, preferred.row().chosen)?;
        Ok(CpuPlan { algorithm, reference: ScanSteps { choice, shape, order, kind } })
    }

    unsafe fn run_scan(&self, plan: &mut Self::Plan, input: &[T], output: &mut [T]) -> Result<()> {
        let ScanSteps { shape: (rows, cols), order, kind, .. } = plan.reference;
        match (plan.algorithm, order) {
            (ScanAlgorithm::Sequential, _) => {
                // SAFETY: the reference has the same plan, and the caller promises operands of its shape.
                return unsafe { Reference.run_scan(&mut plan.reference, input, output) };
            }
            (ScanAlgorithm::WorkEfficient, ScanOrder::ColumnMajor) => {
                let by_columns = transposed(self, input, (rows, cols));
                let mut sums = by_columns.clone();
                sweeps(self, &by_columns, &mut sums, input.len(), kind);
                output.copy_from_slice(&transposed(self, &sums, (cols, rows)));
            }
            (ScanAlgorithm::WorkEfficient, ScanOrder::RowMajor) => sweeps(self, input, output, cols, kind),
            (ScanAlgorithm::WorkEfficient, ScanOrder::Flat) => sweeps(self, input, output, input.len(), kind),
            (ScanAlgorithm::Blocked, ScanOrder::Flat) => blocked(self, input, output, CHUNK, kind),
            (ScanAlgorithm::Blocked, ScanOrder::RowMajor) => {
                blocked(self, input, output, CHUNK.div_ceil(cols) * cols, kind);
            }
            (ScanAlgorithm::Blocked, ScanOrder::ColumnMajor) => down_columns(self, input, output, cols, kind),
        }
        Ok(())
    }
}

fn add<T: ScanElement>(sums: &mut [T], values: &[T]) {
    for (sum, value) in sums.iter_mut().zip(values) {
        *sum = sum.wrapping_add(*value);
    }
}

/// Adds `value` to `sum` and returns the result at its position.
#[inline(always)]
fn step<T: ScanElement>(sum: &mut T, value: T, kind: ScanKind) -> T {
    let before = *sum;
    *sum = sum.wrapping_add(value);
    match kind {
        ScanKind::Inclusive => *sum,
        ScanKind::Exclusive => before,
    }
}

/// Scans blocks: sums of blocks, their exclusive prefix sums, then each block from its own.
fn blocked<T: ScanElement>(cpu: &Cpu, input: &[T], output: &mut [T], block: usize, kind: ScanKind) {
    let mut carries = cpu.map(input.len(), input.chunks(block).collect(), |block: &[T]| {
        block.iter().fold(T::default(), |sum, value| sum.wrapping_add(*value))
    });
    exclusive(&mut carries);
    cpu.for_chunks(output, block, |start, part| {
        let mut sum = carries[start / block];
        for (out, value) in part.iter_mut().zip(&input[start..]) {
            *out = step(&mut sum, *value, kind);
        }
    });
}

fn exclusive<T: ScanElement>(values: &mut [T]) {
    let mut sum = T::default();
    for value in values {
        *value = step(&mut sum, *value, ScanKind::Exclusive);
    }
}

/// Scans the columns of a row-major array row by row: sums of each column in blocks of rows, the start of each column
/// in each block, then every block.
fn down_columns<T: ScanElement>(cpu: &Cpu, input: &[T], output: &mut [T], cols: usize, kind: ScanKind) {
    let block = CHUNK.div_ceil(cols) * cols;
    let mut carries = cpu.map(input.len(), input.chunks(block).collect(), |block: &[T]| {
        let mut sums = vec![T::default(); cols];
        block.chunks(cols).for_each(|row| add(&mut sums, row));
        sums
    });
    let mut bases = vec![T::default(); cols];
    carries.iter().for_each(|sums| add(&mut bases, sums));
    exclusive(&mut bases);
    for sums in &mut carries {
        for (base, sum) in bases.iter_mut().zip(sums) {
            *sum = step(base, *sum, ScanKind::Exclusive);
        }
    }
    cpu.for_chunks(output, block, |start, part| {
        let mut sums = carries[start / block].clone();
        for (row, values) in part.chunks_mut(cols).zip(input[start..].chunks(cols)) {
            for ((out, sum), value) in row.iter_mut().zip(&mut sums).zip(values) {
                *out = step(sum, *value, kind);
            }
        }
    });
}

/// The prefix sums of each series, by sweeps.
fn sweeps<T: ScanElement>(cpu: &Cpu, input: &[T], output: &mut [T], series: usize, kind: ScanKind) {
    output.copy_from_slice(input);
    work_efficient(cpu, output, series);
    if kind == ScanKind::Inclusive {
        cpu.for_chunks(output, CHUNK, |start, part| add(part, &input[start..]));
    }
}

/// A row-major array of this shape, column by column.
fn transposed<T: ScanElement>(cpu: &Cpu, input: &[T], (rows, cols): (usize, usize)) -> Vec<T> {
    let mut output = zeroed(input.len());
    cpu.for_chunks(&mut output, rows, |start, column| {
        for (i, element) in column.iter_mut().enumerate() {
            *element = input[i * cols + start / rows];
        }
    });
    output
}

/// Exclusive prefix sums in place: of blocks, by sweeps through a tree; of the blocks' totals likewise; then added. No
/// block reaches beyond the end of a series.
fn work_efficient<T: ScanElement>(cpu: &Cpu, data: &mut [T], series: usize) {
    let len = data.len();
    let blocks = blocks_of_series(len, series);
    let mut totals = cpu.map(len, split_mut(data, &blocks), tree_scan);
    if totals.len() > 1 {
        let series = totals.len();
        work_efficient(cpu, &mut totals, series);
        let parts = split_mut(data, &blocks).into_iter().zip(totals).collect();
        cpu.for_each(len, parts, |(block, total): (&mut [T], T)| {
            block.iter_mut().for_each(|sum| *sum = sum.wrapping_add(total));
        });
    }
}

fn blocks_of_series(len: usize, series: usize) -> Vec<Range<usize>> {
    chunks(len, series)
        .into_iter()
        .flat_map(|series| {
            chunks(series.len(), TREE)
                .into_iter()
                .map(move |block| series.start + block.start..series.start + block.end)
        })
        .collect()
}

/// Blelloch: Prefix sums and their applications (1990). Exclusive prefix sums in place; returns the total. Missing
/// elements up to a power of two count as zeros.
fn tree_scan<T: ScanElement>(block: &mut [T]) -> T {
    let size = block.len().next_power_of_two();
    let mut tree = vec![T::default(); size];
    tree[..block.len()].copy_from_slice(block);
    let mut offset = 1;
    while offset < size {
        for right in (2 * offset - 1..size).step_by(2 * offset) {
            tree[right] = tree[right].wrapping_add(tree[right - offset]);
        }
        offset *= 2;
    }
    let total = std::mem::take(&mut tree[size - 1]);
    while offset > 1 {
        offset /= 2;
        for right in (2 * offset - 1..size).step_by(2 * offset) {
            let left = tree[right - offset];
            tree[right - offset] = tree[right];
            tree[right] = tree[right].wrapping_add(left);
        }
    }
    block.copy_from_slice(&tree[..block.len()]);
    total
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A worked example, step by step.
    #[test]
    fn sweeps_give_the_exclusive_sums_and_the_total() {
        let mut block = [6, 3, 1, 0, 2, 4, 5, 7];
        assert_eq!(tree_scan(&mut block), 28);
        assert_eq!(block, [0, 6, 9, 10, 10, 12, 16, 21]);
        let mut block = [1, 2, 3];
        assert_eq!(tree_scan(&mut block), 6);
        assert_eq!(block, [0, 1, 3]);
    }
}
