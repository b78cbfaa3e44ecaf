//! COO, CSR and CSC into each other.

use super::bucket::Coordinates;
use super::radix::group;
use super::transpose::{Lines, by_spans, in_minor_order, parts};
use super::{ParallelConvert, SEQUENTIAL, serial};
use crate::Cpu;
use crate::primitive::fill::Arrays;
use sparse_core::op::Duplicates;
use sparse_core::reference::Convert;
use sparse_core::{
    Algorithm, Axis, BatchCompressed, Compressed, Coo, Csc, Csr, Error, Host, Index, IndexOrder, OtherAxis,
    Result, Scalar, algorithms,
};

algorithms! {
    /// The algorithms that bring entries to their rows or columns.
    pub enum CompressAlgorithm {
        Radix = Algorithm::new(
            "radix",
            "always: stable, buckets of rows or columns by fixed chunks of entries (none if they are in order), then each bucket; of CSR and CSC, and of coordinates in the order of the other axis, whose parts span few indices, entries are counted into their places",
        );
        Sequential = SEQUENTIAL;
    }
}

algorithms! {
    /// The algorithms of CSR and CSC to COO.
    pub enum ExpandAlgorithm {
        Expand = Algorithm::new("expand", "always: offsets become indices, the rest is copied");
        Sequential = SEQUENTIAL;
    }
}

/// CSR or CSC of coordinates in any order.
pub(in crate::op) fn coo_to_compressed<A: Axis, T: Scalar, I: Index, O: Index>(
    cpu: &Cpu,
    a: &Coo<T, Host, I>,
    duplicates: Duplicates,
) -> Result<Compressed<A, T, Host, I, O>> {
    let (major, minor) = if A::IS_ROW { (a.row_idx(), a.col_idx()) } else { (a.col_idx(), a.row_idx()) };
    let entries = Coordinates { major, minor, values: a.values() };
    let grouped = by_major(cpu, A::swap(a.nrows(), a.ncols()), entries, duplicates, A::swap)?;
    let unique = duplicates != Duplicates::Keep || a.order().unique;
    Ok(compressed(a.nrows(), a.ncols(), grouped, unique))
}

/// As [`group`], of coordinates below these extents, in any order: those that are in the order of the other axis are
/// counted into their places.
pub(super) fn by_major<T: Scalar, I: Index, O: Index>(
    cpu: &Cpu,
    extents: (usize, usize),
    entries: Coordinates<'_, T, I>,
    duplicates: Duplicates,
    to_row_col: fn(usize, usize) -> (usize, usize),
) -> Result<Arrays<T, I, O>> {
    match in_minor_order(cpu, extents.0, entries)? {
        Some(arrays) => Ok(arrays),
        None => group(cpu, extents.0, entries, duplicates, to_row_col),
    }
}

pub(super) fn compressed<A: Axis, T: Scalar, I: Index, O: Index>(
    rows: usize,
    cols: usize,
    Arrays { offsets, indices, values }: Arrays<T, I, O>,
    unique: bool,
) -> Compressed<A, T, Host, I, O> {
    let order = IndexOrder { unique, ..IndexOrder::CANONICAL };
    // SAFETY: `group` returns offsets that rise from 0 to the number of entries, and indices of the input, sorted
    // within each major index.
    unsafe { Compressed::new_unchecked(rows, cols, offsets, indices, values, order) }
}

algorithms! {
    /// The algorithms of batches along their other axis.
    pub enum MembersAlgorithm {
        ByMember = Algorithm::new("by_member", "always: each member by a counting sort, members side by side");
        Sequential = SEQUENTIAL;
    }
}

impl<A: Axis, T: Scalar, I: Index, O: Index> ParallelConvert<BatchCompressed<A::Other, T, Host, I, O>>
    for BatchCompressed<A, T, Host, I, O>
{
    type Algorithm = MembersAlgorithm;
    const AUTOMATIC: Self::Algorithm = MembersAlgorithm::ByMember;

    fn run(
        &self,
        cpu: &Cpu,
        algorithm: MembersAlgorithm,
        (): &(),
    ) -> Result<BatchCompressed<A::Other, T, Host, I, O>> {
        match algorithm {
            MembersAlgorithm::ByMember => {
                self.to_other_axis_by(|members| cpu.for_each(self.nnz(), members, OtherAxis::fill))
            }
            MembersAlgorithm::Sequential => self.convert(&()),
        }
    }
}

/// The same entries, compressed along the other axis.
fn recompress<A: Axis, T: Scalar, I: Index, O: Index>(
    cpu: &Cpu,
    a: &Compressed<A, T, Host, I, O>,
) -> Result<Compressed<A::Other, T, Host, I, O>> {
    let lines = (&a.offsets()[..], &a.indices()[..], &a.values()[..]);
    // SAFETY: the offsets of a matrix ascend so.
    let arrays = unsafe { along_other_axis(cpu, a.pattern().minor(), lines) }?;
    let arrays = arrays.ok_or_else(|| Error::format(A::FORMAT, "an index is out of range"))?;
    Ok(compressed(a.nrows(), a.ncols(), arrays, a.order().unique))
}

/// The lines along the other axis, of which there are `minor`; `None` if an index is not below that.
///
/// # Safety
/// The offsets ascend from 0 to the number of indices and of values.
pub(super) unsafe fn along_other_axis<T: Scalar, I: Index, O: Index>(
    cpu: &Cpu,
    minor: usize,
    lines: Lines<'_, T, I, O>,
) -> Result<Option<Arrays<T, I, O>>> {
    let (offsets, indices, values) = lines;
    let Some(parts) = parts(cpu, minor, offsets, indices) else { return Ok(None) };
    if let Some(arrays) = by_spans(cpu, minor, lines, parts)? {
        return Ok(Some(arrays));
    }
    if serial::are_few_scattered(cpu, values.len(), minor) {
        // SAFETY: the caller's promise.
        return unsafe { serial::along_other_axis(cpu, minor, lines) };
    }
    let expanded = cpu.expand(offsets);
    let entries = Coordinates { major: indices, minor: &expanded, values };
    group(cpu, minor, entries, Duplicates::Keep, |major, minor| (major, minor)).map(Some)
}

/// The entries in storage order, with both indices.
fn coordinates<A: Axis, T: Scalar, I: Index, O: Index>(
    cpu: &Cpu,
    a: &Compressed<A, T, Host, I, O>,
) -> Coo<T, Host, I> {
    let (major, minor) = (cpu.expand(a.offsets()), cpu.copy_of(a.indices()));
    let (row_idx, col_idx) = if A::IS_ROW { (major, minor) } else { (minor, major) };
    let known = a.order();
    let order =
        IndexOrder { major_sorted: A::IS_ROW, sorted: A::IS_ROW && known.sorted, unique: known.unique };
    // SAFETY: the indices are those of `a`, the expanded ones count its rows or columns; a row of CSR precedes the
    // next, and its columns are as sorted as they were.
    unsafe { Coo::new_unchecked(a.nrows(), a.ncols(), row_idx, col_idx, cpu.copy_of(a.values()), order) }
}

impl<A: Axis, T: Scalar, I: Index, O: Index> ParallelConvert<Compressed<A, T, Host, I, O>>
    for Coo<T, Host, I>
{
    type Algorithm = CompressAlgorithm;
    const AUTOMATIC: Self::Algorithm = CompressAlgorithm::Radix;

    fn run(
        &self,
        cpu: &Cpu,
        algorithm: CompressAlgorithm,
        duplicates: &Duplicates,
    ) -> Result<Compressed<A, T, Host, I, O>> {
        match algorithm {
            CompressAlgorithm::Radix => coo_to_compressed(cpu, self, *duplicates),
            CompressAlgorithm::Sequential => self.convert(duplicates),
        }
    }
}

impl<T: Scalar, I: Index, O: Index> ParallelConvert<Csc<T, Host, I, O>> for Csr<T, Host, I, O> {
    type Algorithm = CompressAlgorithm;
    const AUTOMATIC: Self::Algorithm = CompressAlgorithm::Radix;

    fn run(&self, cpu: &Cpu, algorithm: CompressAlgorithm, (): &()) -> Result<Csc<T, Host, I, O>> {
        match algorithm {
            CompressAlgorithm::Radix => recompress(cpu, self),
            CompressAlgorithm::Sequential => self.convert(&()),
        }
    }
}

impl<T: Scalar, I: Index, O: Index> ParallelConvert<Csr<T, Host, I, O>> for Csc<T, Host, I, O> {
    type Algorithm = CompressAlgorithm;
    const AUTOMATIC: Self::Algorithm = CompressAlgorithm::Radix;

    fn run(&self, cpu: &Cpu, algorithm: CompressAlgorithm, (): &()) -> Result<Csr<T, Host, I, O>> {
        match algorithm {
            CompressAlgorithm::Radix => recompress(cpu, self),
            CompressAlgorithm::Sequential => self.convert(&()),
        }
    }
}

impl<A: Axis, T: Scalar, I: Index, O: Index> ParallelConvert<Coo<T, Host, I>>
    for Compressed<A, T, Host, I, O>
{
    type Algorithm = ExpandAlgorithm;
    const AUTOMATIC: Self::Algorithm = ExpandAlgorithm::Expand;

    fn run(&self, cpu: &Cpu, algorithm: ExpandAlgorithm, (): &()) -> Result<Coo<T, Host, I>> {
        match algorithm {
            ExpandAlgorithm::Expand => Ok(coordinates(cpu, self)),
            ExpandAlgorithm::Sequential => self.convert(&()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Simd;

    #[test]
    fn few_entries_anywhere_are_counted_to_their_columns() {
        let entries = [(0, 1, 1.0), (0, (1 << 18) - 1, 2.0), (2, 1, 3.0), (2, 7, 4.0)];
        let far: Csr<f64> =
            Coo::<f64>::from_triplets(3, 1 << 18, entries).unwrap().convert(&Default::default()).unwrap();
        // Each part of the other has as many columns as all have.
        for csr in [far, sparse_generate::uniform(50_000, 50_000, 4, 1).unwrap()] {
            check_scattered(&csr);
        }
    }

    fn check_scattered(csr: &Csr<f64>) {
        let (cpu, cols) = (Cpu::with(2, Simd::detect()).unwrap(), csr.ncols());
        let lines = (&**csr.offsets(), &**csr.indices(), &**csr.values());
        assert!(by_spans(&cpu, cols, lines, parts(&cpu, cols, lines.0, lines.1).unwrap()).unwrap().is_none());
        let (found, expected): (Csc<f64>, Csc<f64>) =
            (recompress(&cpu, csr).unwrap(), csr.convert(&()).unwrap());
        assert_eq!((found.offsets(), found.indices()), (expected.offsets(), expected.indices()));
        assert_eq!(found.values(), expected.values());
    }
}
