//! CSR, CSC and batches of them along the compressed direction.

use super::by_length::{self, ByLength};
use super::members::Members;
use super::part_sums::PartSums;
use super::repeated::{Repeated, repeats};
use super::scatter::{CHUNKED_SCATTER, Chunks, Scatter, WorkSplit, chunk_size};
use super::{Needs, Prepared, Product, SpmvFormat, TRANSPOSED_PATTERN};
use crate::Cpu;
use crate::op::SEQUENTIAL;
use crate::parallel::hull;
use crate::primitive::lines::Lines;
use crate::primitive::partition::{Carry, Cut, PART_SIZE, Partition, cut_merge_path};
use crate::simd::Simd;
use sparse_core::op::{AccOf, Op};
use sparse_core::{Algorithm, DType, Index, Result, Scalar, algorithms};
use std::sync::atomic::{AtomicBool, Ordering};

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
            "a plan for 32 calls and more, of f32 or f64, with AVX2 or AVX-512: eight neighbouring rows on average have the same columns, \
             each one column further than in the row before",
        )
        .preprocessing("the columns of each group of such rows as runs of neighbours"),
        Needs::Own;

        RowsByLength = Algorithm::new(
            "rows_by_length",
            "a plan for 32 calls and more, of f32, f64, c32 or c64 with 32-bit columns, with AVX2 or AVX-512: rows have fewer than 32 entries on average, \
             or fewer than 128 and unequal lengths",
        )
        .preprocessing("parts with equal rows and entries, and the rows of each by their length"),
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
    /// Rows by their length.
    ByLength(ByLength<Acc>),
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
            | CompressedAlgorithm::RowsByLength => is_along,
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

    fn automatic_if_often(&self, simd: Simd, op: Op) -> Option<(Self::Algorithm, String)> {
        if ![Simd::Avx2, Simd::Avx512].contains(&simd) || op.transposes() == M::BY_ROWS {
            return None;
        }
        let dtype = M::Scalar::DTYPE;
        if [DType::F32, DType::F64].contains(&dtype) && repeats(self) {
            return Some((
                CompressedAlgorithm::RepeatedRows,
                "neighbouring rows have the same columns, one further each".into(),
            ));
        }
        let has_kernels = [DType::F32, DType::F64, DType::C32, DType::C64].contains(&dtype)
            && size_of::<M::Index>() == size_of::<i32>();
        let reason = if has_kernels { by_length::reason(self) } else { None };
        reason.map(|reason| (CompressedAlgorithm::RowsByLength, reason.into()))
    }

    fn prepare(&self, simd: Simd, algorithm: Self::Algorithm, _: Op) -> Result<Prepared<Self::Native>> {
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
            CompressedAlgorithm::RepeatedRows => Native::Repeated(Repeated::new(self, simd)),
            CompressedAlgorithm::RowsByLength => Native::ByLength(ByLength::new(self)),
            CompressedAlgorithm::RowPerThread => cut(Cut::Rows),
        }))
    }

    fn native_bytes(native: &Self::Native) -> usize {
        match native {
            Native::Split(split) => split.bytes(),
            Native::Repeated(repeated) => repeated.bytes(),
            Native::ByLength(rows) => rows.bytes(),
        }
    }

    unsafe fn multiply(&self, cpu: &Cpu, native: &mut Self::Native, product: Product<'_, Self::Scalar>) {
        match native {
            Native::Split(WorkSplit::Partition(parts)) => {
                multiply_stored(self, cpu, parts, product);
            }
            Native::Split(WorkSplit::Scatter(scatter)) => multiply_across(self, cpu, scatter, product),
            Native::Repeated(repeated) => repeated.multiply(self, cpu, product),
            Native::ByLength(rows) => rows.multiply(self, cpu, product),
        }
    }
}

/// The entries of the longest row.
fn longest<M: Members>(a: &M) -> usize {
    (0..a.members()).map(|k| longest_line(a.lines(k).offsets)).max().unwrap_or(0)
}

fn longest_line<O: Index>(offsets: &[O]) -> usize {
    offsets.windows(2).map(|w| w[1].as_usize() - w[0].as_usize()).max().unwrap_or(0)
}

/// Multiplies by the lines of each part; false if a column is out of range, after which `y` has no meaning.
pub(super) fn multiply_stored<M: Members>(
    a: &M,
    cpu: &Cpu,
    parts: &mut Partition<AccOf<M>>,
    product: Product<'_, M::Scalar>,
) -> bool {
    let Product { x, y, update, op } = product;
    let cols = x.len() / a.members();
    let has_fault = AtomicBool::new(false);
    let write = |y: &mut M::Scalar, sum| update.write(y, sum);
    parts.run(cpu, y, &write, &|part, y| {
        let Lines { offsets: ends, indices: columns, values } = a.lines(part.member);
        let x = &x[part.member * cols..][..cols];
        let write = |row: usize, sums: &[_]| update.write_all(&mut y[row..], sums);
        let carry = cpu.simd().run(PartSums { part, ends, columns, values, x, op, write });
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
