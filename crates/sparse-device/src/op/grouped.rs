//! Entries that a plan groups on the host, by rows of op(A) or by coordinates; the device adds them group by group.

use super::numbered::{Numbered, Values, position};
use crate::launch::Launch;
use crate::program::Defines;
use crate::{Buffer, Device, Driver};
use sparse_core::op::Op;
use sparse_core::reference::{Entries, Entry};
use sparse_core::{Algorithm, Backend, DenseViewMut, Result, Scalar};
use std::sync::Arc;

pub(super) const GROUPED_ROWS: Algorithm =
    Algorithm::new("grouped_rows", "rows of op(A) are not what the format stores in order")
        .preprocessing("the entries by rows of op(A), with their columns and positions, sorted on the host");

/// The entries of op(A) by rows.
#[derive(Debug)]
pub(super) struct RowGroups<D: Driver> {
    offsets: Buffer<D, i64>,
    columns: Buffer<D, i64>,
    positions: Buffer<D, i64>,
}

impl<D: Driver> RowGroups<D> {
    pub(super) fn new<M: Numbered<D>>(backend: &Device<D>, a: &M, op: Op) -> Result<Self> {
        let numbered = a.numbered(backend)?;
        let (rows, _) = op.shape(a);
        let mut entries: Vec<_> = numbered.entries().collect();
        if op.transposes() {
            entries.iter_mut().for_each(|(i, j, _)| std::mem::swap(i, j));
        }
        Self::of_entries(backend, rows, entries)
    }

    fn of_entries(backend: &Device<D>, rows: usize, mut entries: Vec<Entry<f64>>) -> Result<Self> {
        entries.sort_by_key(|&(i, _, _)| i);
        let mut offsets = vec![0; rows + 1];
        entries.iter().for_each(|&(i, _, _)| offsets[i + 1] += 1);
        (0..rows).for_each(|i| offsets[i + 1] += offsets[i]);
        let columns: Vec<_> = entries.iter().map(|&(_, j, _)| j as i64).collect();
        let positions: Vec<_> = entries.iter().map(|&(_, _, number)| position(number)).collect();
        Ok(Self {
            offsets: backend.upload(&offsets)?,
            columns: backend.upload(&columns)?,
            positions: backend.upload(&positions)?,
        })
    }

    /// Bytes that the groups take.
    pub(super) fn bytes(&self) -> usize {
        let arrays = [&self.offsets, &self.columns, &self.positions];
        arrays.iter().map(|array| array.len * size_of::<i64>()).sum()
    }
}

impl<D: Driver> Device<D> {
    /// A kernel over grouped entries.
    pub(super) fn grouped_kernel<T: Scalar>(&self, entry: &'static str, op: Op) -> Result<Arc<D::Kernel>> {
        self.kernel_of::<T>("grouped", entry, Defines::default().conj(op))
    }
}

impl<'a, D: Driver> Launch<'a, D> {
    /// The value arrays of a matrix, by position.
    pub(super) fn values<T: Scalar>(self, values: Values<'a, D, T>) -> Self {
        self.size(values.split).buffer(values.head).buffer(values.tail)
    }

    /// Groups and the matrix that they are of.
    pub(super) fn groups_of<T: Scalar>(self, groups: &'a RowGroups<D>, values: Values<'a, D, T>) -> Self {
        self.buffer(&groups.offsets).buffer(&groups.columns).buffer(&groups.positions).values(values)
    }
}

/// Entries by the element that their sum goes to.
#[derive(Debug)]
pub(super) struct Sums<D: Driver> {
    count: usize,
    offsets: Buffer<D, i64>,
    positions: Buffer<D, i64>,
    rows: Buffer<D, i64>,
    cols: Buffer<D, i64>,
    kernel: Arc<D::Kernel>,
}

impl<D: Driver> Sums<D> {
    /// Groups entries, which are sorted by coordinate, into runs of one coordinate each. The sum of run k goes to
    /// `target(k, coordinate)`.
    pub(super) fn new<T: Scalar>(
        backend: &Device<D>,
        entries: &[Entry<f64>],
        target: impl Fn(usize, (usize, usize)) -> (usize, usize),
    ) -> Result<Self> {
        let (mut offsets, mut rows, mut cols) = (vec![0], vec![], vec![]);
        for run in entries.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
            let (row, col) = target(rows.len(), (run[0].0, run[0].1));
            offsets.push(offsets[rows.len()] + run.len() as i64);
            rows.push(row as i64);
            cols.push(col as i64);
        }
        let positions: Vec<_> = entries.iter().map(|entry| position(entry.2)).collect();
        Ok(Self {
            count: rows.len(),
            offsets: backend.upload(&offsets)?,
            positions: backend.upload(&positions)?,
            rows: backend.upload(&rows)?,
            cols: backend.upload(&cols)?,
            kernel: backend.grouped_kernel::<T>("grouped_sum", Op::None)?,
        })
    }

    /// The number of sums.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Writes the sums.
    pub(super) fn run<T: Scalar>(
        &self,
        backend: &Device<D>,
        values: Values<'_, D, T>,
        to: DenseViewMut<'_, T, Device<D>>,
    ) -> Result<()> {
        let launch = backend.launch(&self.kernel).size(self.count);
        let launch = launch.buffer(&self.offsets).buffer(&self.positions).values(values);
        launch.buffer(&self.rows).buffer(&self.cols).dense_mut(to).items(self.count)
    }
}
