//! `C ← A·B` of arrays in the caller's memory, for one product: without a plan, without copies, in one pass.
//!
//! A plan finds the pattern of C before its values, writes the columns twice since their number is not known before,
//! and reads the factors again for the values. Here rows are found and summed one by one, into buffers that stay in the
//! cache, from where they are moved to C.

use super::factors::{Factors, Pattern};
use super::numeric::{self, Operands, SumRows, zeros};
use super::pool::Pool;
use super::symbolic::{self, PartPattern, Search, repeat};
use super::thresholds::SpgemmThresholds;
use super::{PART, bound};
use crate::Cpu;
use crate::borrow::UNKNOWN;
use crate::op::compiled::{find, spgemm_once_table};
use crate::parallel::rows_by_entries;
use crate::primitive::fill::Arrays;
use crate::primitive::row_sort::order_of;
use crate::simd::{Isa, Vectorize};
use sparse_core::{Axis, Compressed, Csr, Error, Host, HostCsr, Index, IndexOrder, Result, Scalar};
use std::ops::Range;

/// Parts of a wave on one thread: with [`PART`] products each they stay in the cache until they are moved to C.
const WAVE: usize = 8;

/// Parts of a wave on several threads, which wait for each other three times a wave.
const SHARED_WAVE: usize = 64;

/// Entries for which C reserves memory as soon as its first rows are known: pages that are not written are not taken, and
/// moving the rows that are there to larger arrays takes longer than half of the product of a stencil.
const RESERVED: usize = 1 << 27;

/// Offsets, indices and values of a matrix in CSR.
type Slices<'a, T, I> = (&'a [I], &'a [I], &'a [T]);

impl Cpu {
    /// A·B of the shapes and arrays of two matrices in CSR, in any order, with sorted rows.
    ///
    /// ```
    /// # use backend_cpu::Cpu;
    /// let (shape, arrays) = ((2, 2), (&[0, 2, 3][..], &[1, 0, 1][..], &[1.0, 2.0, 3.0][..]));
    /// let square = Cpu::new()?.multiply_csr(shape, arrays, shape, arrays)?;
    /// assert_eq!((&square.indices()[..], &square.values()[..]), (&[0, 1, 1][..], &[4.0, 5.0, 9.0][..]));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Csr::new_unsorted`](sparse_core::Compressed::new_unsorted) for each of them; [`Error::Shape`] if B has
    /// not as many rows as A has columns; [`Error::IndexOverflow`] if `I` does not count the entries of C.
    pub fn multiply_csr<T: Scalar, I: Index>(
        &self,
        a_shape: (usize, usize),
        a: Slices<'_, T, I>,
        b_shape: (usize, usize),
        b: Slices<'_, T, I>,
    ) -> Result<Csr<T, Host, I, I>> {
        if a_shape.1 != b_shape.0 {
            let reason = format!("A has {} columns and B has {} rows", a_shape.1, b_shape.0);
            return Err(Error::shape("spgemm", reason));
        }
        for (shape, (offsets, indices, values)) in [(a_shape, a), (b_shape, b)] {
            // SAFETY: the slices outlive the matrix, which is only checked.
            unsafe { self.borrow_csr(shape, offsets, indices, values) }.map(drop::<HostCsr<T, I, I>>)?;
        }
        let left = Pattern { offsets: a.0, indices: a.1, minor: a_shape.1, order: UNKNOWN };
        let order = order_of(self, b.0, b.1);
        let right = Pattern { offsets: b.0, indices: b.1, minor: b_shape.1, order };
        let operands = Operands { factors: Factors { left, right }, left: a.2, right: b.2 };
        product(self, operands)
    }
}

/// The product of two factors, row by row of the left one.
pub(super) fn product<A: Axis, T: Scalar, I: Index, O: Index>(
    cpu: &Cpu,
    operands: Operands<'_, T, I, O>,
) -> Result<Compressed<A, T, Host, I, O>> {
    let Factors { left, right } = operands.factors;
    let functions: &Functions<T, I, O> = find(spgemm_once_table(), "spgemm", A::FORMAT)?;
    let Arrays { offsets, indices, values } = (functions.multiply)(cpu, operands)?;
    let (rows, cols) = A::swap(left.major(), right.minor);
    // SAFETY: `multiply` returns the sums of the lengths of rows, each of which has columns of B in order and once.
    Ok(unsafe { Compressed::new_unchecked(rows, cols, offsets, indices, values, IndexOrder::CANONICAL) })
}

/// The functions for one triple of types, which are compiled in this crate.
pub(in crate::op) struct Functions<T: Scalar, I: Index, O: Index> {
    multiply: Multiply<T, I, O>,
}

type Multiply<T, I, O> = fn(&Cpu, Operands<'_, T, I, O>) -> Result<Arrays<T, I, O>>;

impl<T: Scalar, I: Index, O: Index> Functions<T, I, O> {
    pub(in crate::op) const ALL: Self = Self { multiply: multiply_all };
}

fn multiply_all<T: Scalar, I: Index, O: Index>(
    cpu: &Cpu,
    operands: Operands<'_, T, I, O>,
) -> Result<Arrays<T, I, O>> {
    let factors = operands.factors;
    let products = factors.product_offsets(cpu)?;
    let parts = rows_by_entries(&products, PART);
    let most = bound::<T, I, O>(&products, factors.right.minor);
    let search = Search::new(cpu, factors, &products, None);
    search.check(cpu, &parts, most.nnz)?;

    let workspaces = Pool::<Workspace<T::Acc, I>>::default();
    let multiply_part = |(rows, part): (&Range<usize>, &mut PartProduct<T, I>)| {
        workspaces.lend(|workspace| {
            let (rows, search) = (rows.clone(), &search);
            cpu.simd().run(MultiplyRows { operands, search, rows, workspace, part });
        });
    };
    let in_wave = if cpu.threads() > 1 { SHARED_WAVE } else { WAVE };
    let mut wave: Vec<_> = (0..parts.len().min(in_wave)).map(|_| PartProduct::default()).collect();
    let mut c = GrowingProduct::default();
    for rows in parts.chunks(in_wave) {
        let wave = &mut wave[..rows.len()];
        let (before, after) = (products[rows[0].start], products[rows[rows.len() - 1].end]);
        cpu.for_each((after - before) as usize, rows.iter().zip(&mut *wave).collect(), multiply_part);
        c.append(cpu, wave, after as f64 / most.products.max(1) as f64)?;
    }
    c.finish(cpu)
}

/// Some rows of C.
struct PartProduct<T, I> {
    pattern: PartPattern<I>,
    values: Vec<T>,
}

impl<T, I> Default for PartProduct<T, I> {
    fn default() -> Self {
        Self { pattern: PartPattern::default(), values: vec![] }
    }
}

/// The data that a thread needs to find and sum rows.
struct Workspace<Acc, I> {
    search: symbolic::Workspace<I>,
    sums: numeric::Workspace<Acc, I>,
    /// The position in its row of C of each product, of rows that repeat the row before.
    slots: Vec<u32>,
    /// The position in a row of C of each column of its window that it has.
    positions: Vec<u32>,
}

impl<Acc, I> Default for Workspace<Acc, I> {
    fn default() -> Self {
        Self { search: Default::default(), sums: Default::default(), slots: vec![], positions: vec![] }
    }
}

/// The products of some rows, which replace those of a part.
struct MultiplyRows<'a, 'b, T: Scalar, I: Index, O: Index> {
    operands: Operands<'a, T, I, O>,
    search: &'a Search<'b, I, O>,
    rows: Range<usize>,
    workspace: &'a mut Workspace<T::Acc, I>,
    part: &'a mut PartProduct<T, I>,
}

impl<T: Scalar, I: Index, O: Index> Vectorize for MultiplyRows<'_, '_, T, I, O> {
    type Out = ();

    #[inline(always)]
    fn run<S: Isa>(self) {
        let Self { operands, search, rows, workspace, part: PartProduct { pattern, values } } = self;
        let PartPattern { lengths, columns } = pattern;
        lengths.clear();
        columns.clear();
        values.clear();
        let mut slots_are_known = false;
        for row in rows {
            let start = columns.len();
            if let Some(length) = search.repeats(row, lengths) {
                repeat(columns, length);
                if !std::mem::replace(&mut slots_are_known, true) {
                    find_slots(operands.factors, row, &columns[start..], workspace);
                }
                if workspace.slots.is_empty() || size_of::<T>() != size_of::<T::Acc>() {
                    sum::<S, T, I, O>(operands, row, &columns[start..], values, &mut workspace.sums);
                } else {
                    sum_into_slots(operands, row, length, values, &workspace.slots);
                }
            } else {
                slots_are_known = false;
                multiply::<S, T, I, O>(operands, search, row, columns, values, workspace);
            }
            lengths.push(columns.len() - start);
        }
    }
}

/// Appends a row of C that does not repeat the row before.
#[inline(always)]
fn multiply<S: Isa, T: Scalar, I: Index, O: Index>(
    operands: Operands<'_, T, I, O>,
    search: &Search<'_, I, O>,
    row: usize,
    columns: &mut Vec<I>,
    values: &mut Vec<T>,
    workspace: &mut Workspace<T::Acc, I>,
) {
    let (start, factors, products) = (columns.len(), operands.factors, search.products(row));
    if let Some(only) = factors.only_row(row) {
        let (x, _, factors) = operands.factor(factors.left.range(row).start);
        columns.extend_from_slice(only);
        // A sum of −0 alone is 0.
        return values.extend(factors.iter().map(|y| T::from_acc(T::Acc::ZERO + x * y.to_acc())));
    }
    if products == 0 {
        return;
    }
    let window = factors.window(row);
    if SpgemmThresholds::CPU.sums_while_it_finds(products, window.len(), size_of::<T::Acc>()) {
        return multiply_dense(operands, row, (window, products), columns, values, workspace);
    }
    search.unite(row, window, &mut workspace.search, columns);
    sum::<S, T, I, O>(operands, row, &columns[start..], values, &mut workspace.sums);
}

/// Appends the values of a row of C, whose columns are known.
#[inline(always)]
fn sum<S: Isa, T: Scalar, I: Index, O: Index>(
    operands: Operands<'_, T, I, O>,
    row: usize,
    columns: &[I],
    values: &mut Vec<T>,
    workspace: &mut numeric::Workspace<T::Acc, I>,
) {
    let (start, rows, offsets) = (values.len(), row..row + 1, &[O::cast(0), O::cast(columns.len())]);
    values.resize(start + columns.len(), T::ZERO);
    let values = &mut values[start..];
    // Compiled once, for plans.
    S::SIMD.run(SumRows { operands, rows, offsets, columns, values, method: None, workspace });
}

/// Appends a row of C, by a bitmap of the window of its columns and a sum for each of these.
#[inline(always)]
fn multiply_dense<T: Scalar, I: Index, O: Index>(
    operands: Operands<'_, T, I, O>,
    row: usize,
    (window, products): (Range<usize>, usize),
    columns: &mut Vec<I>,
    values: &mut Vec<T>,
    workspace: &mut Workspace<T::Acc, I>,
) {
    let (start, first) = (columns.len(), window.start);
    let sums = zeros(&mut workspace.sums.sums, window.len());
    let bitmap = &mut workspace.search.bitmap;
    bitmap.begin(&window);
    let is_canonical = operands.factors.right.is_canonical();
    for entry in operands.factors.left.range(row) {
        let (x, columns, factors) = operands.factor(entry);
        if is_canonical && is_vector(columns) {
            let least = columns[0].as_usize();
            for (sum, y) in sums[least - first..].iter_mut().zip(factors) {
                *sum += x * y.to_acc();
            }
            bitmap.insert_range(least..least + columns.len());
            continue;
        }
        for (column, y) in columns.iter().zip(factors) {
            sums[column.as_usize() - first] += x * y.to_acc();
            bitmap.insert(column.as_usize());
        }
    }
    bitmap.drain(&window, products, columns);
    let take = |column: &I| std::mem::replace(&mut sums[column.as_usize() - first], T::Acc::ZERO);
    values.extend(columns[start..].iter().map(take).map(T::from_acc));
}

/// Entries of a row of the right factor from which on it is added as a vector, if it has no gaps.
const VECTOR: usize = 8;

/// True if these columns, which ascend, are so many neighbours that they are added as a vector.
#[inline(always)]
fn is_vector<I: Index>(columns: &[I]) -> bool {
    columns.len() >= VECTOR && columns[columns.len() - 1].as_usize() - columns[0].as_usize() < columns.len()
}

/// The longest window of columns whose positions are looked up.
const LONGEST_WINDOW: usize = 1 << 18;

/// The position among `columns`, those of a row of C, of each of its products; none where rows of the right factor are
/// better added as vectors, or the columns lie far apart.
fn find_slots<Acc, I: Index, O: Index>(
    factors: Factors<'_, I, O>,
    row: usize,
    columns: &[I],
    Workspace { slots, positions, .. }: &mut Workspace<Acc, I>,
) {
    slots.clear();
    let ([first, ..], [.., last]) = (columns, columns) else { return };
    let (first, window) = (first.as_usize(), last.as_usize() + 1 - first.as_usize());
    if window > LONGEST_WINDOW {
        return;
    }
    if positions.len() < window {
        positions.resize(window, 0);
    }
    for (position, column) in (0..).zip(columns) {
        positions[column.as_usize() - first] = position;
    }
    for factor in factors.right_rows(row) {
        if factors.right.is_canonical() && is_vector(factor) {
            return slots.clear();
        }
        slots.extend(factor.iter().map(|column| positions[column.as_usize() - first]));
    }
}

/// Appends the values of a row of C of this length, to which each product is added at its slot; of types that are their
/// own accumulators.
#[inline(always)]
fn sum_into_slots<T: Scalar, I: Index, O: Index>(
    operands: Operands<'_, T, I, O>,
    row: usize,
    length: usize,
    values: &mut Vec<T>,
    slots: &[u32],
) {
    let start = values.len();
    values.resize(start + length, T::ZERO);
    let sums = &mut values[start..];
    let mut slots = slots.iter();
    for entry in operands.factors.left.range(row) {
        let (x, _, factors) = operands.cached_factor(entry);
        for (y, &slot) in factors.iter().zip(&mut slots) {
            let sum = &mut sums[slot as usize];
            *sum = T::from_acc(sum.to_acc() + x * y.to_acc());
        }
    }
}

/// The first rows of C.
struct GrowingProduct<T, I> {
    lengths: Vec<usize>,
    indices: Vec<I>,
    values: Vec<T>,
}

impl<T, I> Default for GrowingProduct<T, I> {
    fn default() -> Self {
        Self { lengths: vec![], indices: vec![], values: vec![] }
    }
}

impl<T: Scalar, I: Index> GrowingProduct<T, I> {
    /// Appends the rows of some parts, with which this `share` of all products is done.
    fn append(&mut self, cpu: &Cpu, parts: &[PartProduct<T, I>], share: f64) -> Result<()> {
        let nnz = self.values.len() + parts.iter().map(|part| part.values.len()).sum::<usize>();
        // An eighth more than the rest needs, if it is like what is done; and of large results no more than eight times
        // what is done, in case it is not.
        let expected = (nnz as f64 / share * (1.0 + (1.0 - share) / 8.0)) as usize;
        let expected = expected.min((8 * nnz).max(RESERVED));
        let columns: Vec<_> = parts.iter().map(|part| &part.pattern.columns[..]).collect();
        cpu.append(&mut self.indices, &columns, expected)?;
        let values: Vec<_> = parts.iter().map(|part| &part.values[..]).collect();
        cpu.append(&mut self.values, &values, expected)?;
        parts.iter().for_each(|part| self.lengths.extend_from_slice(&part.pattern.lengths));
        Ok(())
    }

    fn finish<O: Index>(mut self, cpu: &Cpu) -> Result<Arrays<T, I, O>> {
        self.indices.shrink_to_fit();
        self.values.shrink_to_fit();
        let offsets = cpu.offsets(&self.lengths)?;
        Ok(Arrays { offsets, indices: self.indices, values: self.values })
    }
}
