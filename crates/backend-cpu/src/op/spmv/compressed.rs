//! CSR, CSC and batches of them along the compressed direction.

use super::chunked_scatter::{CHUNKED_SCATTER, Chunks, Scatter, WorkSplit, chunk_size};
use super::long_row::Columns;
use super::members::Members;
use super::part_sums::PartSums;
use super::repeated_rows::Repeated;
use super::rows_by_length::ByLength;
use super::segmented_sums::Segmented;
use super::shared_columns::SharedColumns;
use super::thresholds::SpmvThresholds;
use super::{Needs, Prepared, Product, SpmvFormat, TRANSPOSED_PATTERN};
use crate::Cpu;
use crate::op::SEQUENTIAL;
use crate::parallel::{chunks, hull};
use crate::primitive::lines::Lines;
use crate::primitive::partition::{Carry, Cut, PART_SIZE, Partition, cut_merge_path};
use crate::simd::Simd;
use sparse_core::op::{AccOf, Op};
use sparse_core::{Algorithm, DType, Index, Result, Scalar, algorithms};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

/// Lines that are counted together.
const COUNTED_LINES: usize = 64 * 1024;

algorithms! {
    /// The algorithms of CSR, CSC and batches of them.
    pub enum CompressedAlgorithm needs Needs {
        RowPerThread = Algorithm::new("row_per_thread", "no row is longer than a part")
            .preprocessing("parts of whole rows with equal entries"),
        Needs::Own;

        MergePath = Algorithm::new("merge_path", "a row is longer than a part")
            .preprocessing("parts with equal rows and entries"),
        Needs::Own;

        RepeatedRows = Algorithm::new(
            "repeated_rows",
            "a plan for 32 calls and more, of f32 or f64, with AVX2 or AVX-512: neighbouring rows have the same columns, each one \
             column further than in the row before, and groups of such rows have 4 rows and 100 entries on average",
        )
        .preprocessing("the columns of each group of such rows as runs of neighbours"),
        Needs::Own;

        SharedColumns = Algorithm::new(
            "shared_columns",
            "a plan for 32 calls and more, of f32 or f64, with AVX2 or AVX-512: neighbouring rows have the same columns, three rows in two groups of \
             such rows, which have 224 bytes of values on average",
        )
        .preprocessing("the number of rows of each group"),
        Needs::Own;

        RowsByLength = Algorithm::new(
            "rows_by_length",
            "a plan for 32 calls and more, of c32 or c64 with 32-bit columns, with AVX2 or AVX-512: rows as for segmented_sums",
        )
        .preprocessing("parts with equal rows and entries, and the rows of each by their length"),
        Needs::Own;

        SegmentedSums = Algorithm::new(
            "segmented_sums",
            "a plan for 32 calls and more, of f32 or f64 with 32-bit columns, with AVX2 or AVX-512: rows have fewer than 32 entries on average, \
             or fewer than 128 and unequal lengths",
        )
        .preprocessing("parts with equal rows and entries, and a bit for each entry or the runs of rows of one length"),
        Needs::Own;

        ChunkedScatter = CHUNKED_SCATTER, Needs::Own;
        TransposedPattern = TRANSPOSED_PATTERN, Needs::RowPattern;
        Sequential = SEQUENTIAL, Needs::Own;
    }
}

/// The plan of compressed matrices.
pub enum Native<Acc> {
    /// Rows and entries in equal parts.
    Split(WorkSplit<Acc>),
    /// Groups of rows.
    Repeated(Repeated),
    /// Groups of rows with the same columns.
    Shared(SharedColumns),
    /// Rows by their length.
    ByLength(ByLength<Acc>),
    /// Sums of rows by segmented scans.
    Segmented(Segmented<Acc>),
}

impl<M: Members> SpmvFormat for M {
    type Native = Native<AccOf<M>>;

    type Algorithm = CompressedAlgorithm;
    const SEQUENTIAL: Self::Algorithm = CompressedAlgorithm::Sequential;

    fn fits(algorithm: Self::Algorithm, op: Op) -> bool {
        let is_along = op.transposes() != M::BY_ROWS;
        match algorithm {
            CompressedAlgorithm::RowPerThread
            | CompressedAlgorithm::MergePath
            | CompressedAlgorithm::RepeatedRows
            | CompressedAlgorithm::SharedColumns
            | CompressedAlgorithm::RowsByLength
            | CompressedAlgorithm::SegmentedSums => is_along,
            CompressedAlgorithm::ChunkedScatter | CompressedAlgorithm::TransposedPattern => !is_along,
            CompressedAlgorithm::Sequential => true,
        }
    }

    fn automatic(&self, op: Op) -> (Self::Algorithm, String) {
        if op.transposes() == M::BY_ROWS {
            let (pay_off, reason) = chunks_of(self).pay_off();
            return match pay_off {
                true => (CompressedAlgorithm::ChunkedScatter, reason),
                false => (CompressedAlgorithm::TransposedPattern, reason),
            };
        }
        let longest = longest(self);
        let (algorithm, comparison) = match longest > PART_SIZE {
            true => (CompressedAlgorithm::MergePath, "more than"),
            false => (CompressedAlgorithm::RowPerThread, "no more than"),
        };
        (algorithm, format!("the longest row has {longest} entries, {comparison} the {PART_SIZE} of a part"))
    }

    fn automatic_if_often(&self, cpu: &Cpu, op: Op) -> Option<(Self::Algorithm, String)> {
        if ![Simd::Avx2, Simd::Avx512].contains(&cpu.simd()) || op.transposes() == M::BY_ROWS {
            return None;
        }
        let dtype = M::Scalar::DTYPE;
        let is_real = [DType::F32, DType::F64].contains(&dtype);
        let filled = if is_real { filled_lines(self, cpu) } else { 0 };
        if is_real && Repeated::pays_off(self, filled, cpu) {
            return Some((
                CompressedAlgorithm::RepeatedRows,
                "neighbouring rows have the same columns, one further each".into(),
            ));
        }
        if is_real && SharedColumns::pays_off(self, filled, cpu) {
            return Some((
                CompressedAlgorithm::SharedColumns,
                "neighbouring rows have the same columns".into(),
            ));
        }
        let has_kernels = [DType::F32, DType::F64, DType::C32, DType::C64].contains(&dtype)
            && size_of::<M::Index>() == size_of::<i32>();
        let reason = if has_kernels { short_or_unequal(self) } else { None };
        let algorithm =
            if is_real { CompressedAlgorithm::SegmentedSums } else { CompressedAlgorithm::RowsByLength };
        reason.map(|reason| (algorithm, reason.into()))
    }

    fn prepare(&self, cpu: &Cpu, algorithm: Self::Algorithm, _: Op) -> Result<Prepared<Self::Native>> {
        let cut = |cut| {
            let members = (0..self.members()).map(|k| self.lines(k).offsets);
            Native::Split(WorkSplit::Partition(Partition::cut(cut, members)))
        };
        Ok(Prepared::Native(match algorithm {
            CompressedAlgorithm::Sequential => return Ok(Prepared::Sequential),
            CompressedAlgorithm::TransposedPattern => return Ok(Prepared::RowPattern),
            CompressedAlgorithm::ChunkedScatter => {
                Native::Split(WorkSplit::Scatter(Scatter::new(chunks_of(self))?))
            }
            CompressedAlgorithm::MergePath => cut(Cut::MergePath),
            CompressedAlgorithm::RepeatedRows => Native::Repeated(Repeated::new(self, cpu)),
            CompressedAlgorithm::SharedColumns => Native::Shared(SharedColumns::new(self, cpu)),
            CompressedAlgorithm::RowsByLength => Native::ByLength(ByLength::new(self, cpu)),
            CompressedAlgorithm::SegmentedSums => Native::Segmented(Segmented::new(self, cpu)),
            CompressedAlgorithm::RowPerThread => cut(Cut::Rows),
        }))
    }

    fn native_bytes(native: &Self::Native) -> usize {
        match native {
            Native::Split(split) => split.bytes(),
            Native::Repeated(repeated) => repeated.bytes(),
            Native::Shared(groups) => groups.bytes(),
            Native::ByLength(rows) => rows.bytes(),
            Native::Segmented(rows) => rows.bytes(),
        }
    }

    unsafe fn multiply(&self, cpu: &Cpu, native: &mut Self::Native, product: Product<'_, Self::Scalar>) {
        match native {
            Native::Split(WorkSplit::Partition(parts)) => {
                let known = if SpmvThresholds::CPU.fetches_entries(self) {
                    Columns::InRange
                } else {
                    Columns::Cached
                };
                multiply_stored(self, cpu, parts, product, known);
            }
            Native::Split(WorkSplit::Scatter(scatter)) => multiply_across(self, cpu, scatter, product),
            Native::Repeated(repeated) => repeated.multiply(self, cpu, product),
            Native::Shared(groups) => groups.multiply(self, cpu, product),
            Native::ByLength(rows) => rows.multiply(self, cpu, product),
            Native::Segmented(rows) => rows.multiply(self, cpu, product),
        }
    }
}

/// The reason why sums across the ends of rows take less time than rows one by one, if they do: rows are short, or of
/// middle length but unequal.
fn short_or_unequal<M: Members>(a: &M) -> Option<&'static str> {
    let offsets = || (0..a.members()).map(|k| a.lines(k).offsets);
    let rows: usize = offsets().map(|offsets| offsets.len() - 1).sum();
    let SpmvThresholds { long_rows, long_unequal_rows, .. } = SpmvThresholds::CPU;
    if a.nnz() < long_rows * rows {
        return Some("rows are short");
    }
    let squares: f64 = offsets().map(squared_lengths).sum();
    let are_unequal = squares * rows as f64 > 2.0 * (a.nnz() as f64).powi(2);
    (are_unequal && a.nnz() < long_unequal_rows * rows).then_some("rows have unequal lengths")
}

/// The sum of the squared lengths of all rows.
fn squared_lengths<O: Index>(offsets: &[O]) -> f64 {
    offsets.windows(2).map(|ends| ((ends[1].as_usize() - ends[0].as_usize()) as f64).powi(2)).sum()
}

/// The entries of the longest row.
fn longest<M: Members>(a: &M) -> usize {
    (0..a.members()).map(|k| longest_line(a.lines(k).offsets)).max().unwrap_or(0)
}

pub(super) fn longest_line<O: Index>(offsets: &[O]) -> usize {
    offsets.windows(2).map(|w| w[1].as_usize() - w[0].as_usize()).max().unwrap_or(0)
}

/// The number of lines that have entries.
fn filled_lines<M: Members>(a: &M, cpu: &Cpu) -> usize {
    let of_member = |k| {
        let offsets = a.lines(k).offsets;
        let lines = offsets.len() - 1;
        let count = |lines: Range<usize>| {
            offsets[lines.start..=lines.end].windows(2).filter(|ends| ends[0] != ends[1]).count()
        };
        cpu.map(lines, chunks(lines, COUNTED_LINES), count).into_iter().sum::<usize>()
    };
    (0..a.members()).map(of_member).sum()
}

/// Multiplies by the lines of each part; false if a column is out of range, after which `y` has no meaning.
pub(super) fn multiply_stored<M: Members>(
    a: &M,
    cpu: &Cpu,
    parts: &mut Partition<AccOf<M>>,
    product: Product<'_, M::Scalar>,
    known: Columns,
) -> bool {
    let Product { x, y, update, op } = product;
    let cols = x.len() / a.members();
    let has_fault = AtomicBool::new(false);
    let write = |y: &mut M::Scalar, sum| update.write(y, sum);
    parts.run(cpu, y, &write, &|part, y| {
        let Lines { offsets: ends, indices: columns, values } = a.lines(part.member);
        let x = &x[part.member * cols..][..cols];
        let write = |row: usize, sums: &[_]| update.write_all(&mut y[row..], sums);
        let carry = cpu.simd().run(PartSums { part, ends, columns, values, x, op, known, write });
        carry.unwrap_or_else(|| {
            has_fault.store(true, Ordering::Relaxed);
            Carry::default()
        })
    });
    !has_fault.into_inner()
}

/// Chunks of lines of each member.
fn chunks_of<M: Members>(a: &M) -> Chunks {
    let (rows, cols) = a.member_shape();
    let minor = if M::BY_ROWS { cols } else { rows };
    let size = chunk_size(a.nnz() + a.nrows().max(a.ncols()));
    let mut parts = vec![];
    for member in 0..a.members() {
        cut_merge_path(member, a.lines(member).offsets, size, &mut parts);
    }
    let rows = parts.iter().map(|part| {
        let indices = &a.lines(part.member).indices[part.entries.clone()];
        hull(indices.iter().map(|index| part.member * minor + index.as_usize()))
    });
    let rows = rows.collect();
    Chunks::new(parts, rows)
}

/// Adds the entries of each chunk to its sums, whose ranges have all their columns.
pub(super) fn multiply_across<M: Members>(
    a: &M,
    cpu: &Cpu,
    scatter: &mut Scatter<AccOf<M>>,
    product: Product<'_, M::Scalar>,
) {
    let (x, op) = (product.x, product.op);
    let (major, minor) = (x.len() / a.members(), product.y.len() / a.members());
    scatter.multiply(cpu, product, |chunk, sums| {
        if chunk.entries.is_empty() {
            return;
        }
        let Lines { offsets, indices, values } = a.lines(chunk.member);
        // In variables of this closure, else they are loaded again for every entry.
        let (first, sums) = sums.parts();
        let first = first - chunk.member * minor;
        let mut start = chunk.entries.start;
        for (line, &x) in x[chunk.member * major..][..major].iter().enumerate().skip(chunk.rows.start) {
            if start == chunk.entries.end {
                break;
            }
            let end = offsets[line + 1].as_usize().min(chunk.entries.end);
            for (index, &value) in indices[start..end].iter().zip(&values[start..end]) {
                sums[index.as_usize() - first] += op.apply(value).to_acc() * x.to_acc();
            }
            start = end;
        }
    });
}
