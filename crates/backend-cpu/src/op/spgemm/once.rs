//! `C ← A·B` of arrays in the caller's memory, for one product: without a plan, without copies, in one pass.
//!
//! A plan finds the pattern of C before its values, writes the columns twice since their number is not known before,
//! and reads the factors again for the values. Here rows are found and summed one by one, into buffers of a part that
//! stay in the cache. A thread that has finished a part copies it to C, where those before it are finished, too, and
//! what waited for it. No part waits for another one to be multiplied.

use super::diagonal;
#[cfg(target_arch = "x86_64")]
use super::expand_sort_avx512;
use super::factors::{Count, Factors, Pattern};
use super::growing::{GrowingProduct, PartProduct};
use super::near_rows::are_near;
use super::numeric::Operands;
use super::pool::Pool;
use super::row_product::{Workspace, multiply, sum};
use super::selection;
use super::slots::{find_slots, rows_at_once, sum_into_slots};
use super::symbolic::{PartPattern, Search, repeat};
use crate::Cpu;
use crate::borrow::UNKNOWN;
use crate::op::compiled::{find, spgemm_once_table};
use crate::primitive::fill::Arrays;
use crate::primitive::filled_rows::{FilledRows, are_often_empty};
use crate::primitive::row_sort::order_of;
use crate::simd::{Isa, Vectorize};
use sparse_core::{Axis, Compressed, Csr, Error, Host, HostCsr, Index, IndexOrder, Result, Scalar};
use std::iter::repeat_n;
use std::ops::Range;

/// The most entries for which C reserves memory before it is known how many there are: pages that are not written are
/// not taken, and moving rows to larger arrays takes longer than half of the product of a stencil.
const RESERVED: usize = 1 << 27;

/// Offsets, indices and values of a matrix in CSR.
pub(super) type Slices<'a, T, I, O = I> = (&'a [O], &'a [I], &'a [T]);

/// The shape and the arrays of a matrix in CSR.
pub(super) type Borrowed<'a, T, I, O> = ((usize, usize), Slices<'a, T, I, O>);

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
        let functions: &Functions<T, I, I> = find(spgemm_once_table(), "spgemm", "csr")?;
        (functions.multiply_borrowed)(self, (a_shape, a), (b_shape, b))
    }
}

fn multiply_borrowed<T: Scalar, I: Index, O: Index>(
    cpu: &Cpu,
    (a_shape, a): Borrowed<'_, T, I, O>,
    (b_shape, b): Borrowed<'_, T, I, O>,
) -> Result<Csr<T, Host, I, O>> {
    for (shape, (offsets, indices, values)) in [(a_shape, a), (b_shape, b)] {
        // SAFETY: the slices outlive the matrix, which is only checked.
        unsafe { cpu.borrow_csr(shape, offsets, indices, values) }.map(drop::<HostCsr<T, I, O>>)?;
    }
    if let Some(product) = diagonal::multiply(cpu, (a_shape, a), (b_shape, b))? {
        return Ok(product);
    }
    let left = Pattern { offsets: a.0, indices: a.1, minor: a_shape.1, order: UNKNOWN };
    let right = Pattern { offsets: b.0, indices: b.1, minor: b_shape.1, order: order_of(cpu, b.0, b.1) };
    let operands = Operands { factors: Factors::new(left, right), left: a.2, right: b.2 };
    let arrays = multiply_all(cpu, operands)?;
    // SAFETY: these are the arrays of the product.
    Ok(unsafe { product_of(operands, arrays) })
}

/// The product of two factors, row by row of the left one.
pub(super) fn product<A: Axis, T: Scalar, I: Index, O: Index>(
    cpu: &Cpu,
    operands: Operands<'_, T, I, O>,
) -> Result<Compressed<A, T, Host, I, O>> {
    let functions: &Functions<T, I, O> = find(spgemm_once_table(), "spgemm", A::FORMAT)?;
    let arrays = (functions.multiply)(cpu, operands)?;
    // SAFETY: `multiply` is `multiply_all`, which returns the arrays of the product.
    Ok(unsafe { product_of(operands, arrays) })
}

/// The product, given its arrays.
///
/// # Safety
/// The arrays are those that [`multiply_all`] returns for the operands.
unsafe fn product_of<A: Axis, T: Scalar, I: Index, O: Index>(
    operands: Operands<'_, T, I, O>,
    Arrays { offsets, indices, values }: Arrays<T, I, O>,
) -> Compressed<A, T, Host, I, O> {
    let (rows, cols) = A::swap(operands.factors.left.major(), operands.factors.right.minor);
    // SAFETY: the offsets are sums of the lengths of rows, each of which has columns of B in order and once.
    unsafe { Compressed::new_unchecked(rows, cols, offsets, indices, values, IndexOrder::CANONICAL) }
}

/// The functions for one triple of types, which are compiled in this crate.
pub(in crate::op) struct Functions<T: Scalar, I: Index, O: Index> {
    multiply: Multiply<T, I, O>,
    multiply_borrowed: MultiplyBorrowed<T, I, O>,
}

type Multiply<T, I, O> = fn(&Cpu, Operands<'_, T, I, O>) -> Result<Arrays<T, I, O>>;

/// As [`Cpu::multiply_csr`], for a shape that fits.
type MultiplyBorrowed<T, I, O> =
    fn(&Cpu, Borrowed<'_, T, I, O>, Borrowed<'_, T, I, O>) -> Result<Csr<T, Host, I, O>>;

impl<T: Scalar, I: Index, O: Index> Functions<T, I, O> {
    pub(in crate::op) const ALL: Self = Self { multiply: multiply_all, multiply_borrowed };
}

/// The arrays of the product: by selected rows where these are all, else row by row.
fn multiply_all<T: Scalar, I: Index, O: Index>(
    cpu: &Cpu,
    operands: Operands<'_, T, I, O>,
) -> Result<Arrays<T, I, O>> {
    match selection::multiply(cpu, operands)? {
        Some(product) => Ok(product),
        None => multiply_reserving(cpu, operands, RESERVED),
    }
}

/// The product, whose memory is reserved `reserved` entries at a time.
fn multiply_reserving<T: Scalar, I: Index, O: Index>(
    cpu: &Cpu,
    operands: Operands<'_, T, I, O>,
    reserved: usize,
) -> Result<Arrays<T, I, O>> {
    let factors = operands.factors.with_right_length(cpu);
    let operands = Operands { factors, ..operands };
    let parts = factors.parts(cpu);
    let search = Search::new(cpu, factors, None);
    search.check(cpu, &parts)?;
    let workspaces = Pool::<Workspace<T::Acc, I>>::default();
    let multiply_rows = |number: usize, part: &mut PartProduct<T, I>| {
        let (rows, count) = (parts.rows[number].clone(), parts.counts[number]);
        workspaces.lend(|workspace| {
            cpu.simd().run(MultiplyRows { operands, search: &search, rows, count, workspace, part });
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

/// The products of some rows, which replace those of a part.
struct MultiplyRows<'a, 'b, T: Scalar, I: Index, O: Index> {
    operands: Operands<'a, T, I, O>,
    search: &'a Search<'b, I, O>,
    rows: Range<usize>,
    count: Count,
    workspace: &'a mut Workspace<T::Acc, I>,
    part: &'a mut PartProduct<T, I>,
}

impl<T: Scalar, I: Index, O: Index> Vectorize for MultiplyRows<'_, '_, T, I, O> {
    type Out = ();

    #[inline(always)]
    fn run<S: Isa>(self) {
        let Self { operands, search, rows, count, workspace, part: PartProduct { pattern, values } } = self;
        let PartPattern { lengths, columns } = pattern;
        lengths.clear();
        columns.clear();
        values.clear();
        let left = operands.factors.left;
        let offsets = &left.offsets[rows.start..=rows.end];
        let mut filled =
            are_often_empty(rows.len(), left.range_of(&rows).len()).then(|| FilledRows::new(offsets));
        let (mut slots_are_known, mut row) = (false, rows.start);
        let (mut is_short, mut is_near, mut is_merged, mut short) = (true, false, false, SHORT);
        // Vectors take one row at once where the next one may repeat it, or have no entries.
        let rows_of_vectors = if search.has_repetitions() || filled.is_some() { 1 } else { rows.len() };
        // Products of a row up to which it is tried by expansion.
        let mut expanded =
            if count.products <= EXPANDED_PRODUCTS * count.rows { EXPANDED_PRODUCTS } else { 0 };
        // A row that has too many products for it, and need not be tried again behind those before it.
        let mut too_long = None;
        while row < rows.end {
            if let Some(filled) = &mut filled {
                let next = filled.find(|next| rows.start + next >= row);
                row = rows.start + next.unwrap_or(rows.len());
                lengths.resize(row - rows.start, 0);
                if next.is_none() {
                    break;
                }
            } else if left.range(row).is_empty() {
                lengths.push(0);
                row += 1;
                continue;
            }
            let start = columns.len();
            if let Some(length) = search.repeats(row, lengths) {
                if !std::mem::replace(&mut slots_are_known, true) {
                    let Workspace { slots, positions, .. } = &mut *workspace;
                    find_slots(operands.factors, row - 1, &columns[start - length..], slots, positions);
                }
                let has_slots = !workspace.slots.is_empty() && size_of::<T>() == size_of::<T::Acc>();
                let most = if has_slots { rows_at_once::<T>(length) } else { 1 };
                let repeated = search.repeated_rows(row, rows.end, most);
                row = repeated.end;
                repeat(columns, length, repeated.len());
                lengths.extend(repeat_n(length, repeated.len()));
                if has_slots {
                    sum_into_slots(operands, repeated, length, values, &workspace.slots);
                } else {
                    let columns = &columns[start..];
                    sum::<S, T, I, O>(operands, repeated.start, columns, values, &mut workspace.sums);
                }
                continue;
            }
            slots_are_known = false;
            if expanded > 0 && too_long != Some(row) {
                let end = rows.end.min(row + rows_of_vectors);
                let (done, products) = multiply_few::<S, T, I, O>(
                    operands,
                    row..end,
                    expanded,
                    workspace,
                    lengths,
                    columns,
                    values,
                );
                if products > UNMERGED_PRODUCTS * done && products > MERGED_PRODUCTS * (columns.len() - start)
                {
                    expanded = UNMERGED_PRODUCTS;
                }
                row += done;
                let has_memory = products + EXPANDED_PRODUCTS <= EXPANDED;
                too_long = (row < end && has_memory).then_some(row);
                if done > 0 {
                    continue;
                }
            }
            if is_short && !is_near && !is_merged {
                let (products, window) = operands.factors.span(row, |_| ());
                is_near = are_near(products, window.len());
            }
            if is_short && !is_near {
                let end = rows.end.min(row + rows_of_vectors);
                let done = multiply_short::<S, T, I, O>(operands, row..end, lengths, columns, values);
                short = if done > 0 { 2 * SHORT } else { SHORT };
                if done > 0 {
                    row += done;
                    is_short = row == end;
                    continue;
                }
            }
            let found = multiply::<S, T, I, O>(operands, search, row, columns, values, workspace);
            let length = columns.len() - start;
            lengths.push(length);
            is_short = length <= short;
            is_merged = length <= SHORT && found.products >= MERGED_PRODUCTS * length;
            is_near = found.is_near && !is_merged;
            row += 1;
        }
    }
}

/// Entries of a row after which the next one may be short enough for vectors; twice as many where the last ones were.
const SHORT: usize = 16;

/// Products for each entry of a short row from which on vectors are faster than sums of near columns: a product whose
/// column is there is added without a branch. The 27-point stencil times an aggregation has 3.4, MKL's time over ours
/// 0.90 and 0.67; the square of the 5-point stencil has 1.9 and is faster by sums.
const MERGED_PRODUCTS: usize = 3;

/// Products of a row, and of the rows of a part on average, up to which rows are tried by expansion: those of the four
/// vectors that are sorted.
const EXPANDED_PRODUCTS: usize = 64;

/// Products that are expanded before they are sorted: what is stored need not be read at once, by loads of another
/// size.
pub(super) const EXPANDED: usize = 1024;

/// The most products of a row that are expanded and sorted where rows before have [`MERGED_PRODUCTS`] for each entry: a
/// vector of them has the columns of a row, and a product whose column is there is added. R·(A·P) of the 5-point stencil
/// and an interpolation, 56 products in 9 columns, takes 1.8 times as long by expansion; A·P of the 27-point stencil and
/// an aggregation, 27 in 8, 0.8 times as long.
const UNMERGED_PRODUCTS: usize = 32;

/// Appends rows of C by expansion, up to one of more than `most` products, with their lengths; returns the number of
/// rows and that of their products.
#[inline(always)]
#[cfg_attr(not(target_arch = "x86_64"), expect(unused_variables, reason = "there are no kernels"))]
fn multiply_few<S: Isa, T: Scalar, I: Index, O: Index>(
    operands: Operands<'_, T, I, O>,
    rows: Range<usize>,
    most: usize,
    workspace: &mut Workspace<T::Acc, I>,
    lengths: &mut Vec<usize>,
    columns: &mut Vec<I>,
    values: &mut Vec<T>,
) -> (usize, usize) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: `S` is only run where the processor has it.
    return unsafe {
        let output = expand_sort_avx512::Output { lengths, columns, values };
        expand_sort_avx512::multiply::<S, T, I, O>(operands, rows, most, &mut workspace.expanded, output)
    };
    #[cfg(not(target_arch = "x86_64"))]
    (0, 0)
}

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
