//! `C ← Aᵀ·B` of arrays in the caller's memory, with A in CSR: each row of A is added to the rows of C that its columns
//! name, where SpMM along the rows of Aᵀ would have to transpose A first.
//!
//! C is cut into ranges of rows, one for each thread, and each task walks through A and adds what belongs to its range.
//! So the elements of C are added up in the order of A's rows, whatever the number of threads. A task skips the parts
//! of A that have no column in its range, which are most of them in bands and grids; of others it reads the columns, a
//! small part of the work of a product with several columns of B.
//!
//! Where C is small beside A, chunks of A's rows are added to a C of their own, and these in order: nothing is read
//! twice. The number of chunks does not depend on the threads either.

use super::once;
use super::thresholds::SpmmThresholds;
use crate::Cpu;
use crate::borrow::Extremes;
use crate::op::compiled::{find, spmm_across_table};
use crate::parallel::{CHUNK, SERIAL_LIMIT, rows_by_entries, split_mut};
use crate::primitive::fill::entry_ranges;
use crate::primitive::lines::Lines;
use crate::simd::{Isa, Vectorize, fetch};
use sparse_core::error::checked_product;
use sparse_core::{DenseView, DenseViewMut, Error, HostCsr, Index, Result, Scalar};
use std::ops::Range;

/// The most ranges of C: each reads all columns of A that lie anywhere.
const RANGES: usize = 8;

/// Elements of work that count as one where columns are scattered: every thread reads all of them then. f64 on two
/// quiet cores, µs of one thread and of two: 50 000 rows of 2 in random columns, K = 2, 233 and 400, 40 000 rows of 5,
/// K = 8, 525 and 716, 4000 rows of 60 352 and 356; but a grid of 140² 139 and 90, where a range has its own parts.
const SCATTERED_ELEMENTS: usize = 16;

/// Columns of A by which C is cut into ranges of equal work.
const SAMPLES: usize = 1024;

/// Columns of B that stay in registers for a row of A.
const WIDE: usize = 32;
const NARROW: usize = 8;

/// Entries of A by which rows of C are prefetched ahead.
const AHEAD: usize = 12;

/// Chunks of A's rows that have a C of their own.
const CHUNKS: usize = 8;

/// Entries of A per row of all these, from which on they take little time: 200 000 rows of 2 entries in 40 columns, K =
/// 8, f64, take a thread 2.5 ms for a range of half of the columns, and 0.9 for all of them.
const ENTRIES_PER_SUM: usize = 8;

/// The most bytes of all these, which stay in the caches.
const CHUNK_BYTES: usize = 4 << 20;

/// Bytes of the rows of C that a part of A adds to, from which on they are prefetched: half of an L2 cache.
const SPREAD: usize = 1 << 20;

impl Cpu {
    /// `C ← Aᵀ·B`, with A in CSR over the caller's arrays, and B and C of `columns` columns by rows.
    ///
    /// ```
    /// # use backend_cpu::Cpu;
    /// let (a, b, mut c) = ((&[0, 1, 3][..], &[1, 0, 1][..], &[1.0, 2.0, 3.0][..]), [1.0, 10.0], [f64::NAN; 2]);
    /// Cpu::new()?.multiply_transposed((2, 2), a, &b, 1, &mut c)?;
    /// assert_eq!(c, [20.0, 31.0]);
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`HostCsr::borrow`]; [`Error::Shape`] for a B or C of another size; [`Error::Unsupported`] for half
    /// precision, which sums would lose.
    pub fn multiply_transposed<T: Scalar, I: Index, O: Index>(
        &self,
        (rows, cols): (usize, usize),
        (offsets, indices, values): (&[O], &[I], &[T]),
        b: &[T],
        columns: usize,
        c: &mut [T],
    ) -> Result<()> {
        require_elements((b, rows), (c, cols), columns)?;
        if size_of::<T>() != size_of::<T::Acc>() {
            return Err(Error::unsupported("sums in half precision", "f32, f64, c32 and c64 have them"));
        }
        let functions: &Functions<T, I, O> = find(spmm_across_table(), "spmm", "csr")?;
        let lines = Lines { offsets, indices, values };
        if self.is_framed((rows, cols), offsets, indices, values.len())
            && (functions.across)(self, lines, cols, (b, columns), c)
        {
            return Ok(());
        }
        // SAFETY: the slices outlive the matrix, which is only checked: it finds the same fault, and says where.
        unsafe { HostCsr::borrow(rows, cols, offsets, indices, values) }.map(drop)
    }
}

/// Fails unless B and C have the numbers of elements of these rows of `columns` columns.
pub(super) fn require_elements<T>(
    (b, b_rows): (&[T], usize),
    (c, c_rows): (&[T], usize),
    columns: usize,
) -> Result<()> {
    let elements = |rows| checked_product("rows x columns", rows, columns);
    if (b.len(), c.len()) != (elements(b_rows)?, elements(c_rows)?) {
        let found = format!("B has {} elements and C {}", b.len(), c.len());
        let reason = format!("{found} where {b_rows} and {c_rows} rows of {columns} are right");
        return Err(Error::shape("spmm", reason));
    }
    Ok(())
}

/// The functions for one triple of types, which are compiled in this crate.
pub(in crate::op) struct Functions<T: Scalar, I: Index, O: Index> {
    across: Across<T, I, O>,
    pub(super) along: Along<T, I, O>,
}

/// Takes A and its columns, B and C; false if a column of A is out of range, after which C has no meaning.
type Across<T, I, O> = fn(&Cpu, Lines<'_, T, I, O>, usize, (&[T], usize), &mut [T]) -> bool;

type Along<T, I, O> = fn(&Cpu, Lines<'_, T, I, O>, DenseView<'_, T>, DenseViewMut<'_, T>) -> Result<()>;

impl<T: Scalar, I: Index, O: Index> Functions<T, I, O> {
    pub(in crate::op) const ALL: Self = Self { across: multiply, along: once::multiply };
}

/// Some rows of A, and the range of their columns.
struct Part {
    rows: Range<usize>,
    columns: Range<usize>,
}

fn multiply<T: Scalar, I: Index, O: Index>(
    cpu: &Cpu,
    a: Lines<'_, T, I, O>,
    cols: usize,
    (b, columns): (&[T], usize),
    c: &mut [T],
) -> bool {
    let Some(parts) = parts(cpu, a, cols) else { return false };
    let work = a.indices.len().saturating_mul(columns) / SpmmThresholds::CPU.products_per_element;
    if columns == 0 {
        return true;
    }
    let has_small_sums = cols.saturating_mul(CHUNKS * ENTRIES_PER_SUM) <= a.indices.len()
        && CHUNKS * size_of_val(c) <= CHUNK_BYTES;
    if has_small_sums && work >= SERIAL_LIMIT {
        add_chunks(cpu, a, &parts, (b, columns), c);
    } else {
        add_ranges(cpu, a, &parts, (b, columns), c);
    }
    true
}

/// The rows of A in parts of about equal entries; `None` if a column is out of range.
fn parts<T: Scalar, I: Index, O: Index>(cpu: &Cpu, a: Lines<'_, T, I, O>, cols: usize) -> Option<Vec<Part>> {
    let rows = rows_by_entries(a.offsets, CHUNK);
    let entries = entry_ranges(a.offsets, &rows);
    let parts = rows.into_iter().zip(entries).collect();
    let found = cpu.map(a.indices.len(), parts, |(rows, entries)| {
        let Some((least, most)) = cpu.simd().run(Extremes(&a.indices[entries])) else {
            return Some(Part { rows, columns: 0..0 });
        };
        let is_inside = least.as_i64() >= 0 && most.as_usize() < cols;
        is_inside.then(|| Part { rows, columns: least.as_usize()..most.as_usize() + 1 })
    });
    found.into_iter().collect()
}

/// Adds chunks of A's parts, each to a C of its own, and these to C.
fn add_chunks<T: Scalar, I: Index, O: Index>(
    cpu: &Cpu,
    a: Lines<'_, T, I, O>,
    parts: &[Part],
    (b, columns): (&[T], usize),
    c: &mut [T],
) {
    let work = a.indices.len().saturating_mul(columns);
    let chunks = parts.chunks(parts.len().div_ceil(CHUNKS));
    let mut sums = vec![T::ZERO; chunks.len() * c.len()];
    let tasks = chunks.zip(sums.chunks_mut(c.len())).collect();
    cpu.for_each(work, tasks, |(parts, sums): (&[Part], &mut [T])| {
        let range = 0..sums.len() / columns;
        for part in parts {
            cpu.simd().run(AddPart { a, part, b, columns, range: range.clone(), c: sums });
        }
    });
    let (first, others) = sums.split_at(c.len());
    c.copy_from_slice(first);
    for sums in others.chunks(c.len()) {
        c.iter_mut().zip(sums).for_each(|(c, &sum)| *c = T::from_acc(c.to_acc() + sum.to_acc()));
    }
}

/// Adds A to ranges of C's rows, one for each thread.
fn add_ranges<T: Scalar, I: Index, O: Index>(
    cpu: &Cpu,
    a: Lines<'_, T, I, O>,
    parts: &[Part],
    (b, columns): (&[T], usize),
    c: &mut [T],
) {
    let rows = c.len() / columns;
    let work = (a.indices.len() + rows).saturating_mul(columns) / SpmmThresholds::CPU.products_per_element;
    let most = cpu.threads().min(RANGES);
    let shared = if are_scattered(parts, rows, most) { work / SCATTERED_ELEMENTS } else { work };
    let count = if cpu.threads_for(shared).is_some() { most } else { 1 };
    let ranges = ranges_of_equal_work(a.indices, rows, count);
    let elements: Vec<_> = ranges.iter().map(|range| range.start * columns..range.end * columns).collect();
    let tasks = ranges.into_iter().zip(split_mut(c, &elements)).collect();
    cpu.for_each(work, tasks, |(range, c): (Range<usize>, &mut [T])| {
        c.fill(T::ZERO);
        for part in parts {
            if part.columns.start < range.end && range.start < part.columns.end {
                cpu.simd().run(AddPart { a, part, b, columns, range: range.clone(), c });
            }
        }
    });
}

/// True if the columns of a part reach over more than half of one of `count` ranges of C's rows, on average.
fn are_scattered(parts: &[Part], rows: usize, count: usize) -> bool {
    let reach: usize = parts.iter().map(|part| part.columns.len()).sum();
    2 * count * (reach / parts.len().max(1)) > rows
}

/// At most `count` ranges that cover `0..rows`, with about as many of the indices in each.
fn ranges_of_equal_work<I: Index>(indices: &[I], rows: usize, count: usize) -> Vec<Range<usize>> {
    let mut samples: Vec<_> = match count {
        1 => vec![],
        _ => indices.iter().step_by(indices.len() / SAMPLES + 1).collect(),
    };
    samples.sort_unstable();
    let quantile = |k: usize| samples.get(k * samples.len() / count).map_or(rows, |index| index.as_usize());
    let mut ends: Vec<_> = (1..count).map(quantile).chain([rows]).collect();
    ends.dedup();
    std::iter::once(0).chain(ends.iter().copied()).zip(&ends).map(|(start, &end)| start..end).collect()
}

/// The products of a part of A that belong to a range of rows of C.
struct AddPart<'a, T, I, O> {
    a: Lines<'a, T, I, O>,
    part: &'a Part,
    b: &'a [T],
    columns: usize,
    range: Range<usize>,
    c: &'a mut [T],
}

impl<T: Scalar, I: Index, O: Index> Vectorize for AddPart<'_, T, I, O> {
    type Out = ();

    #[inline(always)]
    fn run<S: Isa>(mut self) {
        // Rows of C in one go: in blocks of columns each of them would be waited for once a block.
        if self.columns > WIDE {
            return self.add_rows();
        }
        let mut first = 0;
        while first < self.columns {
            first += match self.columns - first {
                WIDE.. => self.add::<WIDE>(first),
                NARROW.. => self.add::<NARROW>(first),
                4.. => self.add::<4>(first),
                2.. => self.add::<2>(first),
                _ => self.add::<1>(first),
            }
        }
    }
}

impl<T: Scalar, I: Index, O: Index> AddPart<'_, T, I, O> {
    /// True if rows of C that are added to lie far apart.
    fn is_scattered(&self) -> bool {
        let rows = self.part.columns.len().min(self.range.len());
        rows.saturating_mul(self.columns * size_of::<T>()) > SPREAD
    }

    /// Prefetches `width` elements from column `first` on of the row of C to which a later entry is added.
    #[inline(always)]
    fn fetch_ahead(&self, entry: usize, first: usize, width: usize) {
        if let Some(to) = self.a.indices.get(entry + AHEAD).map(|to| to.as_usize())
            && self.range.contains(&to)
        {
            fetch(self.c, (to - self.range.start) * self.columns + first, width);
        }
    }

    /// Adds the products of all columns.
    #[inline(always)]
    fn add_rows(&mut self) {
        let (a, columns, range) = (self.a, self.columns, self.range.clone());
        let is_scattered = self.is_scattered();
        for row in self.part.rows.clone() {
            let b = &self.b[row * columns..][..columns];
            for entry in a.offsets[row].as_usize()..a.offsets[row + 1].as_usize() {
                if is_scattered {
                    self.fetch_ahead(entry, 0, columns);
                }
                let to = a.indices[entry].as_usize();
                if range.contains(&to) {
                    let c = &mut self.c[(to - range.start) * columns..][..columns];
                    add_product(c, a.values[entry].to_acc(), b);
                }
            }
        }
    }

    /// Adds the products of `W` columns from `first` on; returns `W`.
    #[inline(always)]
    fn add<const W: usize>(&mut self, first: usize) -> usize {
        let (a, columns, range) = (self.a, self.columns, self.range.clone());
        let is_scattered = self.is_scattered();
        let block = |row: usize| row * columns + first..row * columns + first + W;
        for row in self.part.rows.clone() {
            let Some(&b) = self.b[block(row)].first_chunk::<W>() else { continue };
            let entries = a.offsets[row].as_usize()..a.offsets[row + 1].as_usize();
            let (indices, values) = (&a.indices[entries.clone()], &a.values[entries.clone()]);
            for ((entry, index), value) in entries.zip(indices).zip(values) {
                if is_scattered {
                    self.fetch_ahead(entry, first, W);
                }
                let to = index.as_usize();
                if range.contains(&to) {
                    add_product(&mut self.c[block(to - range.start)], value.to_acc(), &b);
                }
            }
        }
        W
    }
}

/// `c ← c + value·b`.
#[inline(always)]
fn add_product<T: Scalar>(c: &mut [T], value: T::Acc, b: &[T]) {
    for (c, b) in c.iter_mut().zip(b) {
        *c = T::from_acc(c.to_acc() + value * b.to_acc());
    }
}
