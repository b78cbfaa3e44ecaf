//! Algorithm `repeated_rows`: neighbouring rows with the same columns, each one column further than in the row before,
//! as in stencils and bands. The plan has the columns of the first of them as runs of neighbours, so that a product
//! reads no columns and gathers nothing. After Kourtis, Karakasis, Goumas, Koziris: CSX, PPoPP 2011.

use super::Product;
use super::members::Members;
use super::thresholds::SpmvThresholds;
use crate::Cpu;
use crate::parallel::{CHUNK, rows_by_entries, split_mut};
use crate::primitive::lines::Lines;
use crate::primitive::update::Update;
use crate::simd::{Isa, Vectorize};
use sparse_core::op::Op;
use sparse_core::{Index, Scalar};
use std::collections::HashMap;
use std::ops::Range;

/// Neighbouring columns, at most a vector of 64 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Run {
    /// The first column minus the row.
    pub(super) distance: isize,
    pub(super) len: usize,
}

/// Neighbouring rows with the same runs.
struct Group {
    rows: Range<usize>,
    /// Positions in [`Repeated::runs`].
    runs: Range<usize>,
}

/// The rows of a member that one task sums.
struct RowTask {
    member: usize,
    rows: Range<usize>,
    groups: Vec<Group>,
}

/// The groups of all rows.
pub struct Repeated {
    parts: Vec<RowTask>,
    runs: Vec<Run>,
    entries: usize,
}

/// True if there are so few groups of rows that their runs are worth a plan.
pub(super) fn repeats<M: Members>(a: &M) -> bool {
    let rows = |k| 0..a.lines(k).offsets.len() - 1;
    let most = (0..a.members()).map(|k| rows(k).len()).sum::<usize>() / SpmvThresholds::CPU.rows_of_group;
    (0..a.members()).flat_map(|k| groups(a.lines(k), rows(k))).take(most + 1).count() <= most
}

/// Groups of neighbouring rows whose columns are each one further than in the row before.
fn groups<'a, T: Scalar, I: Index, O: Index>(
    lines: Lines<'a, T, I, O>,
    rows: Range<usize>,
) -> impl Iterator<Item = Range<usize>> + 'a {
    let follows = move |row: &usize| {
        let (before, own) = (columns(lines, row - 1), columns(lines, *row));
        before.len() == own.len() && before.iter().zip(own).all(|(b, o)| b.as_usize() + 1 == o.as_usize())
    };
    let mut first = rows.start;
    std::iter::from_fn(move || {
        let start = (first < rows.end).then_some(first)?;
        first = (start + 1..rows.end).find(|row| !follows(row)).unwrap_or(rows.end);
        Some(start..first)
    })
}

fn columns<'a, T: Scalar, I: Index, O: Index>(lines: Lines<'a, T, I, O>, row: usize) -> &'a [I] {
    &lines.indices[lines.offsets[row].as_usize()..lines.offsets[row + 1].as_usize()]
}

/// The runs of a row.
fn runs_of<T, I: Index>(row: usize, columns: &[I]) -> Vec<Run> {
    let mut runs: Vec<Run> = vec![];
    for column in columns {
        let distance = column.as_usize() as isize - row as isize;
        match runs.last_mut() {
            Some(run) if run.distance + run.len as isize == distance && run.len < 64 / size_of::<T>() => {
                run.len += 1;
            }
            _ => runs.push(Run { distance, len: 1 }),
        }
    }
    runs
}

impl Repeated {
    pub(super) fn new<M: Members>(a: &M) -> Self {
        let (mut parts, mut runs, mut found) = (vec![], vec![], HashMap::new());
        for member in 0..a.members() {
            let lines = a.lines(member);
            for rows in rows_by_entries(lines.offsets, CHUNK) {
                let group = |rows: Range<usize>| {
                    let own = runs_of::<M::Scalar, _>(rows.start, columns(lines, rows.start));
                    let stored = found.entry(own).or_insert_with_key(|own| {
                        runs.extend_from_slice(own);
                        runs.len() - own.len()..runs.len()
                    });
                    Group { rows, runs: stored.clone() }
                };
                let groups = groups(lines, rows.clone()).map(group).collect();
                parts.push(RowTask { member, rows, groups });
            }
        }
        Self { parts, runs, entries: a.nnz() }
    }

    pub(super) fn bytes(&self) -> usize {
        let groups: usize = self.parts.iter().map(|part| size_of_val(part.groups.as_slice())).sum();
        groups + size_of_val(self.parts.as_slice()) + size_of_val(self.runs.as_slice())
    }

    pub(super) fn multiply<M: Members>(&self, a: &M, cpu: &Cpu, product: Product<'_, M::Scalar>) {
        let Product { x, y, update, op } = product;
        let cols = x.len() / a.members().max(1);
        let rows: Vec<_> = self.parts.iter().map(|part| part.rows.clone()).collect();
        let tasks = self.parts.iter().zip(split_mut(y, &rows)).collect();
        cpu.for_each(self.entries, tasks, |(part, y)| {
            let lines = a.lines(part.member);
            let x = &x[part.member * cols..][..cols];
            cpu.simd().run(PartSums { part, runs: &self.runs, lines, x, y, update, op });
        });
    }
}

/// The sums of one part.
struct PartSums<'a, T: Scalar, I, O> {
    part: &'a RowTask,
    runs: &'a [Run],
    lines: Lines<'a, T, I, O>,
    x: &'a [T],
    y: &'a mut [T],
    update: Update<T::Acc>,
    op: Op,
}

impl<T: Scalar, I: Index, O: Index> Vectorize for PartSums<'_, T, I, O> {
    type Out = ();

    #[inline(always)]
    fn run<S: Isa>(self) {
        let Self { part, runs, lines, x, y, update, op } = self;
        for Group { rows, runs: own } in &part.groups {
            let runs = &runs[own.clone()];
            let values =
                &lines.values[lines.offsets[rows.start].as_usize()..lines.offsets[rows.end].as_usize()];
            let y = &mut y[rows.start - part.rows.start..][..rows.len()];
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `S` is only run where the processor has it; the runs are those of the rows of a matrix, whose
            // columns are below the length of `x`.
            if unsafe { super::repeated_avx512::sums::<S, T>(runs, rows.start, values, x, y, update) } {
                continue;
            }
            let mut values = values.iter();
            for (row, y) in rows.clone().zip(y) {
                let columns = runs.iter().map(|run| &x[row.wrapping_add_signed(run.distance)..][..run.len]);
                let products = columns.flatten().zip(values.by_ref());
                let product = |(&x, &value): (&T, &T)| op.apply(value).to_acc() * x.to_acc();
                update.write(y, products.map(product).fold(T::Acc::ZERO, |sum, product| sum + product));
            }
        }
    }
}
