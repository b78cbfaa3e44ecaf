//! `C ← A·B` of arrays in the caller's memory, for one product: without a plan, without copies, in one pass.
//!
//! A plan finds the pattern of C before its values, writes the columns twice since their number is not known before,
//! and reads the factors again for the values. Here rows are found and summed one by one, into buffers of a part that
//! stay in the cache. A thread that has finished a part copies it to C, where those before it are finished, too, and
//! what waited for it. No part waits for another one to be multiplied.

use super::column_set::ColumnSet;
use super::diagonal;
use super::factors::{Factors, Pattern};
use super::growing::{GrowingProduct, PartProduct};
use super::near_rows::{NearSums, are_near};
use super::numeric::{self, Operands, SumRows, zeros};
use super::pool::Pool;
use super::ranked::RANKED;
use super::slots::{find_slots, sum_into_slots};
use super::symbolic::{self, PartPattern, Search, repeat};
use super::thresholds::SpgemmThresholds;
use crate::Cpu;
use crate::borrow::UNKNOWN;
use crate::op::compiled::{find, spgemm_once_table};
use crate::primitive::fill::Arrays;
use crate::primitive::row_sort::order_of;
use crate::simd::{Isa, Vectorize, fetch_line};
use sparse_core::{Axis, Compressed, Csr, Error, Host, HostCsr, Index, IndexOrder, Result, Scalar};
use std::ops::Range;

/// The most entries for which C reserves memory before it is known how many there are: pages that are not written are
/// not taken, and moving rows to larger arrays takes longer than half of the product of a stencil.
const RESERVED: usize = 1 << 27;

/// Offsets, indices and values of a matrix in CSR.
pub(super) type Slices<'a, T, I> = (&'a [I], &'a [I], &'a [T]);

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
    /// Those of [`Csr::new_unsorted`](sparse_core::Compressed::new_unsorted) for each of them; [`Error::Shape`] if B
    /// has not as many rows as A has columns; [`Error::IndexOverflow`] if `I` does not count the entries of C.
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
        if let Some(product) = diagonal::multiply(self, (a_shape, a), (b_shape, b))? {
            return Ok(product);
        }
        let left = Pattern { offsets: a.0, indices: a.1, minor: a_shape.1, order: UNKNOWN };
        let order = order_of(self, b.0, b.1);
        let right = Pattern { offsets: b.0, indices: b.1, minor: b_shape.1, order };
        let operands = Operands { factors: Factors::new(left, right), left: a.2, right: b.2 };
        product(self, operands)
    }
}

/// The product of two factors, row by row of the left one.
pub(super) fn product<A: Axis, T: Scalar, I: Index, O: Index>(
    cpu: &Cpu,
    operands: Operands<'_, T, I, O>,
) -> Result<Compressed<A, T, Host, I, O>> {
    let Factors { left, right, .. } = operands.factors;
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
    multiply_reserving(cpu, operands, RESERVED)
}

/// The product, whose memory is reserved `reserved` entries at a time.
fn multiply_reserving<T: Scalar, I: Index, O: Index>(
    cpu: &Cpu,
    operands: Operands<'_, T, I, O>,
    reserved: usize,
) -> Result<Arrays<T, I, O>> {
    let factors = operands.factors;
    let parts = factors.parts(cpu);
    let search = Search::new(cpu, factors, None);
    search.check(cpu, &parts)?;
    let workspaces = Pool::<Workspace<T::Acc, I>>::default();
    let multiply_rows = |rows: Range<usize>, part: &mut PartProduct<T, I>| {
        workspaces.lend(|workspace| {
            cpu.simd().run(MultiplyRows { operands, search: &search, rows, workspace, part });
        });
    };
    let mut c = GrowingProduct::new(parts.all.rows)?;
    let mut done = 0;
    while done < parts.rows.len() {
        let round = c.reserve(cpu, &parts, done, reserved)?;
        done = round.end;
        c.append(cpu, &parts, round, &multiply_rows);
    }
    Ok(c.finish())
}

/// The data that a thread needs to find and sum rows.
struct Workspace<Acc, I> {
    search: symbolic::Workspace<I>,
    sums: numeric::Workspace<Acc, I>,
    near: NearSums<Acc>,
    /// The products of a row, for sums of those of one column.
    products: Vec<Acc>,
    /// The position in its row of C of each product, of rows that repeat the row before.
    slots: Vec<u32>,
    /// The position in a row of C of each column of its window that it has.
    positions: Vec<u32>,
}

impl<Acc, I> Default for Workspace<Acc, I> {
    fn default() -> Self {
        Self {
            search: Default::default(),
            sums: Default::default(),
            near: Default::default(),
            products: vec![],
            slots: vec![],
            positions: vec![],
        }
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
        let (mut slots_are_known, mut row) = (false, rows.start);
        let (mut is_short, mut is_near, mut short) = (true, false, SHORT);
        while row < rows.end {
            if operands.factors.left.range(row).is_empty() {
                lengths.push(0);
                row += 1;
                continue;
            }
            if is_short && !is_near {
                let (products, window) = operands.factors.span(row, |_| ());
                is_near = are_near(products, window.len());
            }
            if is_short && !is_near {
                let done = multiply_short::<S, T, I, O>(operands, row..rows.end, lengths, columns, values);
                row += done;
                (slots_are_known, is_short) = (false, false);
                short = if done > 0 { 2 * SHORT } else { SHORT };
                continue;
            }
            let start = columns.len();
            if let Some(length) = search.repeats(row, lengths) {
                repeat(columns, length);
                if !std::mem::replace(&mut slots_are_known, true) {
                    let Workspace { slots, positions, .. } = &mut *workspace;
                    find_slots(operands.factors, row, &columns[start..], slots, positions);
                }
                if workspace.slots.is_empty() || size_of::<T>() != size_of::<T::Acc>() {
                    sum::<S, T, I, O>(operands, row, &columns[start..], values, &mut workspace.sums);
                } else {
                    sum_into_slots(operands, row, length, values, &workspace.slots);
                }
            } else {
                slots_are_known = false;
                is_near = multiply::<S, T, I, O>(operands, search, row, columns, values, workspace);
            }
            lengths.push(columns.len() - start);
            is_short = columns.len() - start <= short;
            row += 1;
        }
    }
}

/// Entries of a row after which the next one may be short enough for vectors; twice as many where the last ones were.
const SHORT: usize = 16;

/// Appends rows of C up to one that does not fit vectors, with their lengths; returns their number.
#[inline(always)]
#[cfg_attr(not(target_arch = "x86_64"), expect(unused_variables, reason = "there are no kernels"))]
fn multiply_short<S: Isa, T: Scalar, I: Index, O: Index>(
    operands: Operands<'_, T, I, O>,
    rows: Range<usize>,
    lengths: &mut Vec<usize>,
    columns: &mut Vec<I>,
    values: &mut Vec<T>,
) -> usize {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: `S` is only run where the processor has it.
    return unsafe {
        super::short_rows_avx512::multiply::<S, T, I, O>(operands, rows, lengths, columns, values)
    };
    #[cfg(not(target_arch = "x86_64"))]
    0
}

/// Appends a row of C that does not repeat the row before; returns true if its products are near each other.
#[inline(always)]
fn multiply<S: Isa, T: Scalar, I: Index, O: Index>(
    operands: Operands<'_, T, I, O>,
    search: &Search<'_, I, O>,
    row: usize,
    columns: &mut Vec<I>,
    values: &mut Vec<T>,
    workspace: &mut Workspace<T::Acc, I>,
) -> bool {
    let (start, factors) = (columns.len(), operands.factors);
    if let Some(only) = factors.only_row(row) {
        let (x, _, factors) = operands.factor(factors.left.range(row).start);
        columns.extend_from_slice(only);
        // A sum of −0 alone is 0.
        values.extend(factors.iter().map(|y| T::from_acc(T::Acc::ZERO + x * y.to_acc())));
        return true;
    }
    let span = factors.span(row, |start| {
        fetch_line(factors.right.indices, start);
        fetch_line(operands.right, start);
    });
    let (products, window) = (span.0, span.1.len());
    let is_near = are_near(products, window);
    if products == 0 {
    } else if is_near {
        workspace.near.multiply::<S, T, I, O>(operands, row, span, columns, values);
    } else if SpgemmThresholds::CPU.ranks(S::SIMD, products, window) {
        multiply_ranked::<S, T, I, O>(operands, row, span, columns, values, workspace);
    } else if SpgemmThresholds::CPU.sums_while_it_finds(products, window, size_of::<T::Acc>()) {
        multiply_dense::<S, T, I, O>(operands, row, span, columns, values, workspace);
    } else {
        search.unite::<S>(row, span, &mut workspace.search, columns);
        sum::<S, T, I, O>(operands, row, &columns[start..], values, &mut workspace.sums);
    }
    is_near
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

/// Appends a row of C, by the ranks of its products' columns.
#[inline(always)]
fn multiply_ranked<S: Isa, T: Scalar, I: Index, O: Index>(
    operands: Operands<'_, T, I, O>,
    row: usize,
    (count, window): (usize, Range<usize>),
    columns: &mut Vec<I>,
    values: &mut Vec<T>,
    workspace: &mut Workspace<T::Acc, I>,
) {
    let (ranked, products) = (&mut workspace.search.ranked, zeros(&mut workspace.products, RANKED));
    ranked.begin(window.start, count);
    let mut rest = products;
    for entry in operands.factors.left.range(row) {
        let (x, columns, factors) = operands.cached_factor(entry);
        ranked.push::<S, I>(columns);
        let (own, behind) = rest.split_at_mut(factors.len());
        for (product, y) in own.iter_mut().zip(factors) {
            *product = x * y.to_acc();
        }
        rest = behind;
    }
    ranked.append::<S, T, I>(&workspace.products, columns, values);
}

/// Appends a row of C, by a flag and a sum for each column of its window.
#[inline(always)]
fn multiply_dense<S: Isa, T: Scalar, I: Index, O: Index>(
    operands: Operands<'_, T, I, O>,
    row: usize,
    (products, window): (usize, Range<usize>),
    columns: &mut Vec<I>,
    values: &mut Vec<T>,
    workspace: &mut Workspace<T::Acc, I>,
) {
    let (start, first) = (columns.len(), window.start);
    let sums = zeros(&mut workspace.sums.sums, window.len());
    let set = &mut workspace.search.columns;
    set.begin(&window, products);
    if set.skips_blocks() {
        add_products::<true, T, I, O>(operands, row, first, sums, set);
    } else {
        add_products::<false, T, I, O>(operands, row, first, sums, set);
    }
    set.drain::<S, I>(products, columns);
    let take = |column: &I| std::mem::replace(&mut sums[column.as_usize() - first], T::Acc::ZERO);
    values.extend(columns[start..].iter().map(take).map(T::from_acc));
}

/// Adds all products of a row to the sums of their columns, of which that of `first` is the first, and these to a set.
#[inline(always)]
fn add_products<const SKIPS_BLOCKS: bool, T: Scalar, I: Index, O: Index>(
    operands: Operands<'_, T, I, O>,
    row: usize,
    first: usize,
    sums: &mut [T::Acc],
    set: &mut ColumnSet,
) {
    let is_canonical = operands.factors.right.is_canonical();
    for entry in operands.factors.left.range(row) {
        let (x, columns, factors) = operands.cached_factor(entry);
        if is_canonical && is_vector(columns) {
            let least = columns[0].as_usize();
            for (sum, y) in sums[least - first..].iter_mut().zip(factors) {
                *sum += x * y.to_acc();
            }
            set.insert_range::<SKIPS_BLOCKS>(least..least + columns.len());
            continue;
        }
        for (column, y) in columns.iter().zip(factors) {
            sums[column.as_usize() - first] += x * y.to_acc();
            set.insert::<SKIPS_BLOCKS>(column.as_usize());
        }
    }
}

/// Entries of a row of the right factor from which on it is added as a vector, if it has no gaps.
const VECTOR: usize = 8;

/// True if these ascending columns are consecutive and enough to be added as a vector.
#[inline(always)]
pub(super) fn is_vector<I: Index>(columns: &[I]) -> bool {
    columns.len() >= VECTOR && columns[columns.len() - 1].as_usize() - columns[0].as_usize() < columns.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparse_generate::uniform;

    #[test]
    fn a_product_grows_with_the_parts_that_are_done() {
        let a = uniform::<f64>(9000, 9000, 12, 1).unwrap();
        let pattern = Pattern::from(&**a.pattern());
        let operands =
            Operands { factors: Factors::new(pattern, pattern), left: a.values(), right: a.values() };
        let cpu = Cpu::with(3, crate::Simd::detect()).unwrap();
        let whole: Arrays<f64, i32, i32> = multiply_all(&cpu, operands).unwrap();
        for reserved in [0, 100_000, 400_000] {
            let grown: Arrays<f64, i32, i32> = multiply_reserving(&cpu, operands, reserved).unwrap();
            assert_eq!(grown.offsets, whole.offsets);
            assert!(grown.indices == whole.indices && grown.values == whole.values);
        }
    }
}
