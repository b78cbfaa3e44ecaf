//! Compressed parts to one compressed matrix, by one prefix sum and without atomics.
//!
//! Let `counts[a][k]` be the number of entries that the a-th part across the compressed axis has in row k of CSR
//! (column k of CSC). The exclusive prefix sums of the counts are the places of the parts' entries in the result:
//!
//! | partition | parts of a row | prefix sums |
//! |---|---|---|
//! | rows for CSR, columns for CSC | one: parts follow each other | HPS, row-major |
//! | columns for CSR, rows for CSC, meshes | several: each part has entries of every row that it overlaps | VPS, column-major |
//!
//! The column-major table is the digit-offset table of a stable counting sort with parts as tiles and rows as buckets:
//! entries come out in ascending order, on every run the same.

use crate::Block;
use crate::partition::Partition;
use crate::pointers::counts;
use sparse_core::backend::SpaceOf;
use sparse_core::op::{ScanElement, ScanKernel, ScanKind, ScanOrder, ScanPlan};
use sparse_core::{Axis, Compressed, Error, Index, PlanOptions, Result, Scalar, Space};
use std::ops::Range;

/// The entries that each part has in each row of CSR (column of CSC), and their places in the merged matrix.
///
/// ```
/// use sparse_core::reference::Reference;
/// use sparse_core::Csr;
/// use sparse_distrib::{MergeTable, Partition};
///
/// // Columns 0..2 and 2..4 of [1 0 0 2; 3 4 0 0].
/// let left = Csr::<f64>::new(2, 2, vec![0, 1, 3], vec![0, 0, 1], vec![1.0, 3.0, 4.0])?;
/// let right = Csr::<f64>::new(2, 2, vec![0, 1, 1], vec![1], vec![2.0])?;
/// let table = MergeTable::new(&Reference, Partition::cols(2)?, (2, 4), &[left, right])?;
/// assert_eq!(table.counts(), [1, 2, 1, 0]);
/// assert_eq!(table.starts(), [0, 2, 1, 4]);
/// assert_eq!(table.offsets(), [0, 2, 4]);
/// # Ok::<(), sparse_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeTable<O: ScanElement> {
    lines: usize,
    nnz: O,
    counts: Vec<O>,
    starts: Vec<O>,
}

impl<O: ScanElement> MergeTable<O> {
    /// The table of the parts of a matrix of shape `shape`, in the order of `partition`. The prefix sums are those of
    /// `backend`.
    ///
    /// # Errors
    /// [`Error::Shape`] unless there is a block for every part, of its shape; [`Error::IndexOverflow`] if nnz does not
    /// fit `O`; an error of the device's runtime.
    pub fn new<B: ScanKernel<O>, A: Axis, T: Scalar, I: Index>(
        backend: &B,
        partition: Partition,
        shape: (usize, usize),
        blocks: &[Block<A, T, I, O>],
    ) -> Result<Self> {
        check_blocks(partition, shape, blocks)?;
        let lines = A::swap(shape.0, shape.1).0;
        let across = A::swap(partition.grid().0, partition.grid().1).1;
        let nnz = O::try_new("nnz", blocks.iter().map(Compressed::nnz).sum())?;
        let mut table =
            vec![O::default(); sparse_core::error::checked_product("parts x rows", across, lines)?];
        for (index, block) in blocks.iter().enumerate() {
            let range = cells::<A>(partition, shape, index);
            for (cell, count) in table[range].iter_mut().zip(counts(block.offsets())) {
                *cell = O::cast(count);
            }
        }
        let order = merge_order::<A>(partition);
        let starts = scan(backend, (across, lines), order, ScanKind::Exclusive, &table)?;
        Ok(Self { lines, nnz, counts: table, starts })
    }

    /// The counts, a row of the table for each part across the compressed axis.
    pub fn counts(&self) -> &[O] {
        &self.counts
    }

    /// The place of each count's first entry in the merged arrays: the exclusive prefix sums.
    pub fn starts(&self) -> &[O] {
        &self.starts
    }

    /// The offsets of the merged matrix.
    pub fn offsets(&self) -> Vec<O> {
        let mut offsets = self.starts[..self.lines].to_vec();
        offsets.push(self.nnz);
        offsets
    }
}

/// The order of the prefix sums that merge the parts of `partition`: HPS (row-major) if each row belongs to one part,
/// VPS (column-major) if rows are divided among parts.
///
/// ```
/// use sparse_core::op::ScanOrder;
/// use sparse_core::{Col, Row};
/// use sparse_distrib::{Partition, merge_order};
///
/// assert_eq!(merge_order::<Row>(Partition::rows(3)?), ScanOrder::RowMajor);
/// assert_eq!(merge_order::<Col>(Partition::rows(3)?), ScanOrder::ColumnMajor);
/// # Ok::<(), sparse_core::Error>(())
/// ```
pub fn merge_order<A: Axis>(partition: Partition) -> ScanOrder {
    if partition.is_along::<A>() { ScanOrder::RowMajor } else { ScanOrder::ColumnMajor }
}

/// The matrix of shape `shape` whose parts, with local indices, are `blocks`, in the order of `partition`.
///
/// O(nnz + parts across · rows). The prefix sums are those of `backend`; entries are moved on the host.
///
/// # Errors
/// As for [`MergeTable::new`], and [`Error::IndexOverflow`] if an extent does not fit `I`.
pub fn merge<B: ScanKernel<O>, A: Axis, T: Scalar, I: Index, O: ScanElement>(
    backend: &B,
    partition: Partition,
    shape: (usize, usize),
    blocks: &[Block<A, T, I, O>],
) -> Result<Block<A, T, I, O>> {
    I::try_new("rows", shape.0)?;
    I::try_new("columns", shape.1)?;
    let table = MergeTable::new(backend, partition, shape, blocks)?;
    let nnz = table.nnz.as_usize();
    let (mut indices, mut values) = (vec![I::default(); nnz], vec![T::ZERO; nnz]);
    for (index, block) in blocks.iter().enumerate() {
        let base = partition.part(shape, index).major_minor::<A>().1.start;
        for (k, cell) in cells::<A>(partition, shape, index).enumerate() {
            let start = table.starts[cell].as_usize();
            for (position, (minor, value)) in (start..).zip(block.major_entries(k)) {
                indices[position] = I::cast(base + minor);
                values[position] = value;
            }
        }
    }
    Compressed::new(shape.0, shape.1, table.offsets(), indices, values)
}

/// The cells of the table that part `index` fills.
fn cells<A: Axis>(partition: Partition, shape: (usize, usize), index: usize) -> Range<usize> {
    let lines = A::swap(shape.0, shape.1).0;
    let col_blocks = partition.grid().1;
    let across = A::swap(index / col_blocks, index % col_blocks).1;
    let major = partition.part(shape, index).major_minor::<A>().0;
    across * lines + major.start..across * lines + major.end
}

fn check_blocks<A: Axis, T: Scalar, I: Index, O: Index>(
    partition: Partition,
    shape: (usize, usize),
    blocks: &[Block<A, T, I, O>],
) -> Result<()> {
    if blocks.len() != partition.parts() {
        let reason = format!("{} blocks where {partition} has {} parts", blocks.len(), partition.parts());
        return Err(Error::shape("merge", reason));
    }
    for (index, (part, block)) in partition.iter(shape).zip(blocks).enumerate() {
        if part.shape() != block.shape() {
            let reason =
                format!("block {index} has shape {:?} where {:?} is needed", block.shape(), part.shape());
            return Err(Error::shape("merge", reason));
        }
    }
    Ok(())
}

/// Prefix sums of a host array, made by `backend`.
fn scan<B: ScanKernel<O>, O: ScanElement>(
    backend: &B,
    shape: (usize, usize),
    order: ScanOrder,
    kind: ScanKind,
    input: &[O],
) -> Result<Vec<O>> {
    let device_input = backend.upload(input)?;
    let mut output = backend.zeros::<O>(input.len())?;
    let mut plan = ScanPlan::new(backend, shape, order, kind, &PlanOptions::once())?;
    plan.run(SpaceOf::<B>::view(&device_input), SpaceOf::<B>::view_mut(&mut output))?;
    backend.download(&output)
}
