//! Sorting: each row of a compressed matrix by itself, COO as a whole.

use super::fill::{entry_ranges, zeroed};
use super::row_sort::SortRows;
use super::{SEQUENTIAL, is_sequential};
use crate::Cpu;
use crate::parallel::{CHUNK, rows_by_entries, split_mut};
use rayon::prelude::*;
use sparse_core::op::SortKernel;
use sparse_core::reference::Reference;
use sparse_core::{
    Algorithm, Axis, Choice, Compressed, Coo, Host, Index, IndexOrder, PlanOptions, Result, Scalar,
    SparseFormat,
};

const BY_ROW: [Algorithm; 2] = [
    Algorithm::new(
        "row_sort",
        "always: stable, by ranks in short rows, by insertion in nearly sorted ones, else by merging",
    ),
    SEQUENTIAL,
];

const MERGE: [Algorithm; 2] = [Algorithm::new("merge_sort", "always: stable, in parallel"), SEQUENTIAL];

impl<A: Axis, T: Scalar, I: Index, O: Index> SortKernel<Compressed<A, T, Host, I, O>> for Cpu {
    type Plan = Choice;

    fn sort_algorithms(&self) -> &'static [Algorithm] {
        &BY_ROW
    }

    fn plan_sort(&self, _: &Compressed<A, T, Host, I, O>, options: &PlanOptions) -> Result<Choice> {
        options.choose("sort", &BY_ROW, BY_ROW[0].name, BY_ROW[0].chosen)
    }

    unsafe fn sort(
        &self,
        plan: &mut Choice,
        a: &Compressed<A, T, Host, I, O>,
    ) -> Result<Compressed<A, T, Host, I, O>> {
        if is_sequential(plan) {
            // SAFETY: the caller makes the reference's promises of the plan and the operands.
            return unsafe { Reference.sort(plan, a) };
        }
        let offsets = a.offsets();
        let (mut indices, mut values) = (zeroed::<I>(a.nnz()), zeroed::<T>(a.nnz()));
        let parts = rows_by_entries(offsets, CHUNK);
        let entries = entry_ranges(offsets, &parts);
        let outputs = split_mut(&mut indices, &entries).into_iter().zip(split_mut(&mut values, &entries));
        let work = parts.into_iter().zip(entries.iter().cloned().zip(outputs)).collect();
        self.for_each(a.nnz(), work, |(rows, (entries, (indices, values)))| {
            indices.copy_from_slice(&a.indices()[entries.clone()]);
            values.copy_from_slice(&a.values()[entries.clone()]);
            let lengths = rows.map(|row| a.pattern().range(row).len());
            self.simd().run(SortRows { indices, values, lengths });
        });
        let order = IndexOrder { sorted: true, ..a.order() };
        // SAFETY: the offsets are those of `a`; each row has its indices, sorted.
        Ok(unsafe {
            Compressed::new_unchecked(a.rows(), a.cols(), self.copy_of(offsets), indices, values, order)
        })
    }
}

impl<T: Scalar, I: Index> SortKernel<Coo<T, Host, I>> for Cpu {
    type Plan = Choice;

    fn sort_algorithms(&self) -> &'static [Algorithm] {
        &MERGE
    }

    fn plan_sort(&self, _: &Coo<T, Host, I>, options: &PlanOptions) -> Result<Choice> {
        options.choose("sort", &MERGE, MERGE[0].name, MERGE[0].chosen)
    }

    unsafe fn sort(&self, plan: &mut Choice, a: &Coo<T, Host, I>) -> Result<Coo<T, Host, I>> {
        if is_sequential(plan) {
            // SAFETY: the caller makes the reference's promises of the plan and the operands.
            return unsafe { Reference.sort(plan, a) };
        }
        let entries = sorted(self, a.row_idx(), a.col_idx());
        let row_idx = entries.iter().map(|entry| entry.0).collect();
        let col_idx = entries.iter().map(|entry| entry.1).collect();
        let values = entries.iter().map(|entry| a.values()[entry.2]).collect();
        let order = IndexOrder { major_sorted: true, sorted: true, unique: a.order().unique };
        // SAFETY: the coordinates are those of `a`, now in order.
        Ok(unsafe { Coo::new_unchecked(a.rows(), a.cols(), row_idx, col_idx, values, order) })
    }
}

/// Rows, columns and positions of entries sorted by the first two. Values are left out, so that sorting is compiled
/// once for all of their types.
fn sorted<I: Index>(cpu: &Cpu, rows: &[I], cols: &[I]) -> Vec<(I, I, usize)> {
    let coordinates = rows.iter().zip(cols).enumerate();
    let mut entries: Vec<_> = coordinates.map(|(position, (&row, &col))| (row, col, position)).collect();
    cpu.install(rows.len(), || entries.par_sort_by_key(|&(row, col, _)| (row, col)));
    entries
}
