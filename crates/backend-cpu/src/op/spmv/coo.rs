//! COO: entries in chunks where rows are in order, else sorted by rows in the plan.

use super::chunked_scatter::{CHUNKED_SCATTER, Chunks, Scatter, WorkSplit, chunk_size};
use super::long_row::Columns;
use super::part_sums::PartSums;
use super::{Needs, Prepared, Product, SpmvFormat, TRANSPOSED_PATTERN};
use crate::Cpu;
use crate::op::SEQUENTIAL;
use crate::parallel::{chunks, hull};
use crate::primitive::partition::{PART_SIZE, Part, Partition, RowEnds};
use sparse_core::op::Op;
use sparse_core::{Accumulator, Algorithm, Coo, Error, Host, Index, Result, Scalar, algorithms};

algorithms! {
    /// The algorithms of COO.
    pub enum CooAlgorithm needs Needs {
        Segmented = Algorithm::new("segmented", "rows are in order").preprocessing("chunks of entries"),
        Needs::Own;

        ChunkedScatter = CHUNKED_SCATTER, Needs::Own;

        SortedRows =
            Algorithm::new("sorted_rows", "rows are not in order, and the sums of all chunks above 2·nnz")
                .preprocessing("the pattern by rows, with the positions of the values"),
        Needs::RowPattern;

        TransposedPattern = TRANSPOSED_PATTERN, Needs::RowPattern;
        Sequential = SEQUENTIAL, Needs::Own;
    }
}

impl<T: Scalar, I: Index> SpmvFormat for Coo<T, Host, I> {
    type Native = WorkSplit<T::Acc>;

    type Algorithm = CooAlgorithm;
    const SEQUENTIAL: Self::Algorithm = CooAlgorithm::Sequential;

    fn fits(algorithm: Self::Algorithm, op: Op) -> bool {
        match algorithm {
            CooAlgorithm::Segmented | CooAlgorithm::SortedRows => !op.transposes(),
            CooAlgorithm::TransposedPattern => op.transposes(),
            CooAlgorithm::ChunkedScatter | CooAlgorithm::Sequential => true,
        }
    }

    fn automatic(&self, op: Op) -> (Self::Algorithm, String) {
        if !op.transposes() && self.order().major_sorted {
            return (CooAlgorithm::Segmented, "rows are in order".into());
        }
        let (pay_off, reason) = chunks_of(self, op).pay_off();
        match (pay_off, op.transposes()) {
            (true, _) => (CooAlgorithm::ChunkedScatter, reason),
            (false, true) => (CooAlgorithm::TransposedPattern, reason),
            (false, false) => (CooAlgorithm::SortedRows, reason),
        }
    }

    fn prepare(&self, _: &Cpu, algorithm: Self::Algorithm, op: Op) -> Result<Prepared<Self::Native>> {
        match algorithm {
            CooAlgorithm::Sequential => Ok(Prepared::Sequential),
            CooAlgorithm::SortedRows | CooAlgorithm::TransposedPattern => Ok(Prepared::RowPattern),
            CooAlgorithm::ChunkedScatter => {
                Ok(Prepared::Native(WorkSplit::Scatter(Scatter::new(chunks_of(self, op))?)))
            }
            CooAlgorithm::Segmented if self.order().major_sorted => {
                Ok(Prepared::Native(WorkSplit::Partition(segments(self.nrows(), self.row_idx()))))
            }
            CooAlgorithm::Segmented => Err(Error::unsupported(
                "spmv algorithm `segmented` for coo",
                "it needs rows in order; sort the matrix or take `sorted_rows`",
            )),
        }
    }

    fn native_bytes(split: &Self::Native) -> usize {
        split.bytes()
    }

    unsafe fn multiply(&self, cpu: &Cpu, split: &mut Self::Native, product: Product<'_, T>) {
        match split {
            WorkSplit::Partition(parts) => multiply_segmented(self, cpu, parts, product),
            WorkSplit::Scatter(scatter) => multiply_scattered(self, cpu, scatter, product),
        }
    }
}

fn multiply_segmented<T: Scalar, I: Index>(
    a: &Coo<T, Host, I>,
    cpu: &Cpu,
    parts: &mut Partition<T::Acc>,
    product: Product<'_, T>,
) {
    let Product { x, y, update, op } = product;
    let (columns, values) = (a.col_idx(), a.values());
    let write = |y: &mut T, sum| update.write(y, sum);
    parts.run(cpu, y, &write, &|part, y| {
        let ends = Segments(a.row_idx());
        let write = |row: usize, sums: &[_]| update.write_all(&mut y[row..], sums);
        cpu.simd()
            .run(PartSums { part, ends, columns, values, x, op, known: Columns::InRange, write })
            .unwrap_or_default()
    });
}

/// (rows, columns) of the entries of op(A).
fn coordinates<T: Scalar, I: Index>(a: &Coo<T, Host, I>, op: Op) -> (&[I], &[I]) {
    op.orient(a.row_idx(), a.col_idx())
}

/// Chunks of entries.
fn chunks_of<T: Scalar, I: Index>(a: &Coo<T, Host, I>, op: Op) -> Chunks {
    let (rows, _) = coordinates(a, op);
    let chunks = chunks(a.nnz(), chunk_size(a.nnz()));
    let ranges = chunks.iter().map(|entries| hull(rows[entries.clone()].iter().map(|row| row.as_usize())));
    let ranges = ranges.collect();
    let parts = chunks.into_iter().map(|entries| Part { member: 0, rows: 0..0, entries });
    Chunks::new(parts.collect(), ranges)
}

fn multiply_scattered<T: Scalar, I: Index>(
    a: &Coo<T, Host, I>,
    cpu: &Cpu,
    scatter: &mut Scatter<T::Acc>,
    product: Product<'_, T>,
) {
    let (x, op) = (product.x, product.op);
    let (rows, columns) = coordinates(a, op);
    scatter.multiply(cpu, product, |chunk, sums| {
        let entries = chunk.entries.clone();
        let coordinates = rows[entries.clone()].iter().zip(&columns[entries.clone()]);
        for ((row, column), &value) in coordinates.zip(&a.values()[entries]) {
            sums.add(row.as_usize(), op.apply(value).to_acc() * x[column.as_usize()].to_acc());
        }
    });
}

/// Chunks of the entries of a matrix with rows in order; the rows before a chunk's first entry belong to the chunk
/// before it.
fn segments<I: Index, Acc: Accumulator>(rows: usize, row_idx: &[I]) -> Partition<Acc> {
    let mut first_row = 0;
    let parts = chunks(row_idx.len(), PART_SIZE).into_iter().map(|entries| {
        let end_row = row_idx.get(entries.end).map_or(rows, |row| row.as_usize());
        let rows = first_row..end_row;
        first_row = end_row;
        Part { member: 0, rows, entries }
    });
    Partition::of(parts.collect())
}

/// Rows in order, by the row of each entry.
struct Segments<'a, I>(&'a [I]);

impl<I: Index> RowEnds for Segments<'_, I> {
    #[inline(always)]
    fn row_starts_at(&self, row: usize, entry: usize) -> bool {
        entry == 0 || self.0[entry - 1].as_usize() < row
    }

    #[inline(always)]
    fn end(&self, row: usize, entry: usize) -> usize {
        let same = self.0[entry..].iter().take_while(|r| r.as_usize() == row);
        entry + same.count()
    }
}
