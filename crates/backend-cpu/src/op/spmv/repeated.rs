//! Algorithm `repeated_rows`: neighbouring rows with the same columns, each one column further than in the row before,
//! as in stencils and bands. The plan has the columns of the first of them as runs of neighbours, so that a product
//! reads no columns and gathers nothing. After Kourtis, Karakasis, Goumas, Koziris: CSX, PPoPP 2011.

use super::Product;
use super::members::Members;
use super::thresholds::SpmvThresholds;
use crate::Cpu;
use crate::parallel::{CHUNK, rows_by_entries, split_mut};
use crate::primitive::lines::Lines;
use crate::primitive::shifted_rows::is_second_half_shifted;
use crate::primitive::update::Update;
use crate::simd::{Isa, Portable, Simd, Vectorize};
use sparse_core::op::Op;
use sparse_core::{Index, Scalar};
use std::collections::HashMap;
use std::ops::Range;

/// Neighbouring columns, at most a vector.
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
    let filled: usize = (0..a.members()).map(|k| filled_rows(a.lines(k).offsets)).sum();
    let most = filled / SpmvThresholds::CPU.rows_of_group;
    let mut count = 0;
    (0..a.members()).all(|k| {
        let Lines { offsets, indices, .. } = a.lines(k);
        count += count_groups(offsets, indices, most + 1 - count);
        count <= most
    })
}

/// The number of rows that have entries.
fn filled_rows<O: Index>(offsets: &[O]) -> usize {
    offsets.windows(2).filter(|ends| ends[0] != ends[1]).count()
}

/// The number of groups of all rows, counted up to `most`.
fn count_groups<I: Index, O: Index>(offsets: &[O], indices: &[I], most: usize) -> usize {
    groups(offsets, indices, 0..offsets.len() - 1).take(most).count()
}

/// Groups of neighbouring rows whose columns are each one further than in the row before.
fn groups<'a, I: Index, O: Index>(
    offsets: &'a [O],
    indices: &'a [I],
    rows: Range<usize>,
) -> impl Iterator<Item = Range<usize>> + 'a {
    let follows = move |&row: &usize| {
        let [before, own, end] = [row - 1, row, row + 1].map(|row| offsets[row].as_usize());
        own - before == end - own
            && (own == end || is_second_half_shifted::<Portable, I>(&indices[before..end]))
    };
    let mut first = rows.start;
    std::iter::from_fn(move || {
        let start = (first < rows.end).then_some(first)?;
        first = (start + 1..rows.end).find(|row| !follows(row)).unwrap_or(rows.end);
        Some(start..first)
    })
}

fn columns<'a, I, O: Index>(offsets: &[O], indices: &'a [I], row: usize) -> &'a [I] {
    &indices[offsets[row].as_usize()..offsets[row + 1].as_usize()]
}

/// The most columns of a run, for an instruction set and elements of so many bytes: those of a vector.
pub(super) fn longest_run(simd: Simd, element: usize) -> usize {
    if simd == Simd::Avx2 { 32 / element } else { 64 / element }
}

/// The runs of a row, of up to `longest` columns each.
fn runs_of<I: Index>(row: usize, columns: &[I], longest: usize) -> Vec<Run> {
    let mut runs: Vec<Run> = vec![];
    for column in columns {
        let distance = column.as_usize() as isize - row as isize;
        match runs.last_mut() {
            Some(run) if run.distance + run.len as isize == distance && run.len < longest => {
                run.len += 1;
            }
            _ => runs.push(Run { distance, len: 1 }),
        }
    }
    runs
}

/// All runs of rows, those of like rows once.
#[derive(Default)]
struct DistinctRuns {
    runs: Vec<Run>,
    places: HashMap<Vec<Run>, Range<usize>>,
}

impl DistinctRuns {
    /// The groups of some rows, with runs of up to `longest` columns.
    fn groups<I: Index, O: Index>(
        &mut self,
        offsets: &[O],
        indices: &[I],
        rows: Range<usize>,
        longest: usize,
    ) -> Vec<Group> {
        let group = |rows: Range<usize>| {
            let own = runs_of(rows.start, columns(offsets, indices, rows.start), longest);
            Group { rows, runs: self.place(own) }
        };
        groups(offsets, indices, rows).map(group).collect()
    }

    /// The positions of the runs of a row.
    fn place(&mut self, own: Vec<Run>) -> Range<usize> {
        let Self { runs, places } = self;
        let place = places.entry(own).or_insert_with_key(|own| {
            runs.extend_from_slice(own);
            runs.len() - own.len()..runs.len()
        });
        place.clone()
    }
}

impl Repeated {
    pub(super) fn new<M: Members>(a: &M, simd: Simd) -> Self {
        let longest = longest_run(simd, size_of::<M::Scalar>());
        let (mut parts, mut distinct) = (vec![], DistinctRuns::default());
        for member in 0..a.members() {
            let Lines { offsets, indices, .. } = a.lines(member);
            for rows in rows_by_entries(offsets, CHUNK) {
                let groups = distinct.groups(offsets, indices, rows.clone(), longest);
                parts.push(RowTask { member, rows, groups });
            }
        }
        Self { parts, runs: distinct.runs, entries: a.nnz() }
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
        cpu.for_each_in_runs(self.entries, tasks, |(part, y)| {
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
            if unsafe { super::repeated_x86::sums::<S, T>(runs, rows.start, values, x, y, update) } {
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
