//! A row of C of a product in one pass, found and summed by the method that suits its products.

use super::column_set::ColumnSet;
#[cfg(target_arch = "x86_64")]
use super::expand_sort_avx512::Expanded;
use super::near_rows::{NearSums, are_near};
use super::numeric::{self, Operands, SumRows, zeros};
use super::ranked::RANKED;
use super::symbolic::{self, Search};
use super::thresholds::SpgemmThresholds;
use crate::simd::{Isa, fetch_line};
use sparse_core::{Index, Scalar};
use std::ops::Range;

/// The data that a thread needs to find and sum rows.
pub(super) struct Workspace<Acc, I> {
    search: symbolic::Workspace<I>,
    pub(super) sums: numeric::Workspace<Acc, I>,
    near: NearSums<Acc>,
    #[cfg(target_arch = "x86_64")]
    pub(super) expanded: Expanded<Acc>,
    /// The products of a row, for sums of those of one column.
    products: Vec<Acc>,
    /// The position in its row of C of each product, of rows that repeat the row before.
    pub(super) slots: Vec<u32>,
    /// The position in a row of C of each column of its window that it has.
    pub(super) positions: Vec<u32>,
}

impl<Acc, I> Default for Workspace<Acc, I> {
    fn default() -> Self {
        Self {
            search: Default::default(),
            sums: Default::default(),
            near: Default::default(),
            #[cfg(target_arch = "x86_64")]
            expanded: Default::default(),
            products: vec![],
            slots: vec![],
            positions: vec![],
        }
    }
}

/// The products of a row.
pub(super) struct Found {
    pub(super) products: usize,
    /// True if they are near each other.
    pub(super) is_near: bool,
}

/// Appends a row of C that does not repeat the row before.
#[inline(always)]
pub(super) fn multiply<S: Isa, T: Scalar, I: Index, O: Index>(
    operands: Operands<'_, T, I, O>,
    search: &Search<'_, I, O>,
    row: usize,
    columns: &mut Vec<I>,
    values: &mut Vec<T>,
    workspace: &mut Workspace<T::Acc, I>,
) -> Found {
    let (start, factors) = (columns.len(), operands.factors);
    if let Some(only) = factors.only_row(row) {
        let (x, _, factors) = operands.factor(factors.left.range(row).start);
        columns.extend_from_slice(only);
        // A sum of −0 alone is 0.
        values.extend(factors.iter().map(|y| T::from_acc(T::Acc::ZERO + x * y.to_acc())));
        return Found { products: only.len(), is_near: true };
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
    Found { products, is_near }
}

/// Appends the values of a row of C, whose columns are known.
#[inline(always)]
pub(super) fn sum<S: Isa, T: Scalar, I: Index, O: Index>(
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
