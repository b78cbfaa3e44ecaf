//! HYB: the sums of the overflow, then the ELL part, each row written once.

use super::ell::multiply_ell;
use super::long_row::Columns;
use super::part_sums::PartSums;
use super::{Needs, Prepared, Product, SpmvFormat, TRANSPOSED_PATTERN};
use crate::Cpu;
use crate::op::SEQUENTIAL;
use crate::primitive::partition::{Cut, Partition};
use sparse_core::op::Op;
use sparse_core::{Accumulator, Algorithm, Host, Hyb, Index, Result, Scalar, algorithms};
use std::ops::Range;

algorithms! {
    /// The algorithms of HYB.
    pub enum HybAlgorithm needs Needs {
        Device = Algorithm::new("device", "always")
            .preprocessing("the rows of the overflow, and their sums"),
        Needs::Own;

        TransposedPattern = TRANSPOSED_PATTERN, Needs::RowPattern;
        Sequential = SEQUENTIAL, Needs::Own;
    }
}

/// The rows that have overflow entries, and their sums.
pub struct Overflow<I, Acc> {
    rows: Vec<I>,
    offsets: Vec<i64>,
    parts: Partition<Acc>,
    sums: Vec<Acc>,
}

impl<I: Index, Acc: Accumulator> Overflow<I, Acc> {
    fn new(row_idx: &[I]) -> Self {
        let segments = row_idx.chunk_by(|a, b| a == b);
        let rows: Vec<I> = segments.clone().map(|segment| segment[0]).collect();
        let ends = segments.scan(0, |end, segment| {
            *end += segment.len();
            Some(i64::cast(*end))
        });
        let offsets: Vec<i64> = std::iter::once(0).chain(ends).collect();
        let parts = Partition::cut(Cut::MergePath, std::iter::once(offsets.as_slice()));
        let sums = vec![Acc::ZERO; rows.len()];
        Self { rows, offsets, parts, sums }
    }

    /// Adds the sums of overflow rows to `sums`, those of `rows`.
    fn add_to(&self, rows: Range<usize>, sums: &mut [Acc]) {
        let first = self.rows.partition_point(|row| row.as_usize() < rows.start);
        let overflow = self.rows[first..].iter().zip(&self.sums[first..]);
        for (row, &sum) in overflow.take_while(|(row, _)| row.as_usize() < rows.end) {
            sums[row.as_usize() - rows.start] += sum;
        }
    }
}

impl<T: Scalar, I: Index> SpmvFormat for Hyb<T, Host, I> {
    type Native = Overflow<I, T::Acc>;

    type Algorithm = HybAlgorithm;
    const SEQUENTIAL: Self::Algorithm = HybAlgorithm::Sequential;

    fn fits(algorithm: Self::Algorithm, op: Op) -> bool {
        match algorithm {
            HybAlgorithm::Device => !op.transposes(),
            HybAlgorithm::TransposedPattern => op.transposes(),
            HybAlgorithm::Sequential => true,
        }
    }

    fn automatic(&self, op: Op) -> (Self::Algorithm, String) {
        if op.transposes() {
            let reason = "the entries of a column are not contiguous";
            return (HybAlgorithm::TransposedPattern, reason.into());
        }
        (HybAlgorithm::Device, "both parts are on the device".into())
    }

    fn prepare(&self, _: &Cpu, algorithm: Self::Algorithm, _: Op) -> Result<Prepared<Self::Native>> {
        Ok(match algorithm {
            HybAlgorithm::Sequential => Prepared::Sequential,
            HybAlgorithm::TransposedPattern => Prepared::RowPattern,
            HybAlgorithm::Device => Prepared::Native(Overflow::new(self.coo().row_idx())),
        })
    }

    fn native_bytes(overflow: &Self::Native) -> usize {
        size_of_val(overflow.rows.as_slice())
            + size_of_val(overflow.offsets.as_slice())
            + size_of_val(overflow.sums.as_slice())
            + overflow.parts.bytes()
    }

    unsafe fn multiply(&self, cpu: &Cpu, overflow: &mut Self::Native, product: Product<'_, T>) {
        let (x, op) = (product.x, product.op);
        let (columns, values) = (self.coo().col_idx(), self.coo().values());
        let Overflow { offsets, parts, sums, .. } = overflow;
        let ends = offsets.as_slice();
        let write = |total: &mut T::Acc, sum| *total = sum;
        parts.run(cpu, sums, &write, &|part, sums| {
            let write = |row: usize, found: &[_]| sums[row..][..found.len()].copy_from_slice(found);
            cpu.simd()
                .run(PartSums { part, ends, columns, values, x, op, known: Columns::InRange, write })
                .unwrap_or_default()
        });
        multiply_ell(cpu, self.ell(), product, |rows, sums| overflow.add_to(rows, sums));
    }
}
