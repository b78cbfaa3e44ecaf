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
use std::sync::atomic::{AtomicUsize, Ordering};

/// Entries of the rows that are looked at together.
const COUNTED: usize = 64 * 1024;

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

/// True if there are so few groups of rows, `filled` of which have entries, that their runs are worth a plan.
pub(super) fn repeats<M: Members>(a: &M, filled: usize, cpu: &Cpu) -> bool {
    let most = filled / SpmvThresholds::CPU.rows_of_group;
    has_at_most(a, cpu, most, &|Lines { offsets, indices, .. }, row| !follows(offsets, indices, row))
}

/// True for a row that begins a group.
type BeginsGroup<'f, T, I, O> = dyn Fn(&Lines<'_, T, I, O>, usize) -> bool + Sync + 'f;

/// True if at most `most` rows begin a group, as the first one of each member does.
pub(super) fn has_at_most<M: Members>(
    a: &M,
    cpu: &Cpu,
    most: usize,
    begins: &BeginsGroup<'_, M::Scalar, M::Index, M::Offset>,
) -> bool {
    let count = AtomicUsize::new(0);
    cpu.for_each(a.nnz(), chunks_of_rows(a, COUNTED), |(member, rows): (usize, Range<usize>)| {
        // Once there are more, the rows that are left change nothing.
        if count.load(Ordering::Relaxed) <= most {
            let lines = a.lines(member);
            let own = rows.filter(|&row| row == 0 || begins(&lines, row)).count();
            count.fetch_add(own, Ordering::Relaxed);
        }
    });
    count.into_inner() <= most
}

/// Ranges of rows with about `entries` entries each, and the member of each range.
pub(super) fn chunks_of_rows<M: Members>(a: &M, entries: usize) -> Vec<(usize, Range<usize>)> {
    let of_member = |k| rows_by_entries(a.lines(k).offsets, entries).into_iter().map(move |rows| (k, rows));
    (0..a.members()).flat_map(of_member).collect()
}

/// True if a row has the columns of the row before, each one further.
fn follows<I: Index, O: Index>(offsets: &[O], indices: &[I], row: usize) -> bool {
    let [before, own, end] = [row - 1, row, row + 1].map(|row| offsets[row].as_usize());
    own - before == end - own && (own == end || is_second_half_shifted::<Portable, I>(&indices[before..end]))
}

/// Groups of neighbouring rows whose columns are each one further than in the row before.
fn groups<I: Index, O: Index>(offsets: &[O], indices: &[I], rows: Range<usize>) -> Vec<Range<usize>> {
    let mut groups: Vec<Range<usize>> = vec![];
    for row in rows {
        match groups.last_mut() {
            Some(group) if follows(offsets, indices, row) => group.end = row + 1,
            _ => groups.push(row..row + 1),
        }
    }
    groups
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
    pub(super) fn new<M: Members>(a: &M, cpu: &Cpu) -> Self {
        let longest = longest_run(cpu.simd(), size_of::<M::Scalar>());
        let groups_of = |(member, rows): (usize, Range<usize>)| {
            let Lines { offsets, indices, .. } = a.lines(member);
            (member, rows.clone(), groups(offsets, indices, rows))
        };
        let groups = cpu.map(a.nnz(), chunks_of_rows(a, CHUNK), groups_of);
        let mut distinct = DistinctRuns::default();
        let tasks = groups.into_iter().map(|(member, rows, groups)| {
            let Lines { offsets, indices, .. } = a.lines(member);
            let group = |rows: Range<usize>| {
                let own = runs_of(rows.start, columns(offsets, indices, rows.start), longest);
                Group { rows, runs: distinct.place(own) }
            };
            RowTask { member, rows, groups: groups.into_iter().map(group).collect() }
        });
        let parts = tasks.collect();
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
