//! Algorithm `repeated_rows`: neighbouring rows with the same columns, each one column further than in the row before,
//! as in stencils and bands. The plan has the columns of the first of them as runs of neighbours, so that a product
//! reads no columns and gathers nothing. After Kourtis, Karakasis, Goumas, Koziris: CSX, PPoPP 2011.

use super::Product;
use super::members::Members;
use super::thresholds::SpmvThresholds;
use crate::Cpu;
use crate::parallel::{CHUNK, rows_by_entries, split_mut};
use crate::primitive::lines::Lines;
use crate::primitive::shifted_rows::shifted_columns;
use crate::primitive::update::Update;
use crate::simd::{Isa, Simd, Vectorize};
use sparse_core::op::Op;
use sparse_core::{Index, Scalar};
use std::collections::{HashMap, VecDeque};
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

/// The number of groups that begin in a range of rows.
type BeginningGroups<'f, T, I, O> = dyn Fn(&Lines<'_, T, I, O>, Range<usize>) -> usize + Sync + 'f;

/// True if at most `most` groups begin in all rows.
pub(super) fn has_at_most<M: Members>(
    a: &M,
    cpu: &Cpu,
    most: usize,
    beginning: &BeginningGroups<'_, M::Scalar, M::Index, M::Offset>,
) -> bool {
    let count = AtomicUsize::new(0);
    cpu.for_each(a.nnz(), chunks_of_rows(a, COUNTED), |(member, rows): (usize, Range<usize>)| {
        // Once there are more, the rows that are left change nothing.
        if count.load(Ordering::Relaxed) <= most {
            count.fetch_add(beginning(&a.lines(member), rows), Ordering::Relaxed);
        }
    });
    count.into_inner() <= most
}

/// Ranges of rows with about `entries` entries each, and the member of each range.
pub(super) fn chunks_of_rows<M: Members>(a: &M, entries: usize) -> Vec<(usize, Range<usize>)> {
    let of_member = |k| rows_by_entries(a.lines(k).offsets, entries).into_iter().map(move |rows| (k, rows));
    (0..a.members()).flat_map(of_member).collect()
}

/// Groups of neighbouring rows whose columns are each one further than in the row before.
fn groups<I: Index, O: Index>(
    offsets: &[O],
    indices: &[I],
    mut rows: Range<usize>,
) -> impl Iterator<Item = Range<usize>> {
    std::iter::from_fn(move || {
        let start = (!rows.is_empty()).then_some(rows.start)?;
        rows.start = group_end(offsets, indices, rows.clone());
        Some(start..rows.start)
    })
}

/// The end of the group that the first of some rows begins.
///
/// Rows are compared many at once, all columns of one length in a row: a 5-point stencil takes 1 to 2 ns a row in
/// place of 10. First few, since most groups of other matrices have one row.
fn group_end<I: Index, O: Index>(offsets: &[O], indices: &[I], rows: Range<usize>) -> usize {
    let start = |row: usize| offsets[row].as_usize();
    let length = start(rows.start + 1) - start(rows.start);
    let (mut end, mut compared) = (rows.start + 1, 8);
    loop {
        let to = rows.end.min(end + compared);
        let alike = end + (end..to).take_while(|&row| start(row + 1) - start(row) == length).count();
        let shifted = shifted_columns(&indices[start(end - 1)..start(alike)], length);
        end = shifted.checked_div(length).map_or(alike, |rows| end + rows);
        if end < to || to == rows.end {
            return end;
        }
        compared *= 2;
    }
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
struct DistinctRuns<'a, I> {
    /// The most columns of a run.
    longest: usize,
    runs: Vec<Run>,
    places: HashMap<Vec<Run>, Range<usize>>,
    /// The rows that came last, of unlike runs: along the lines of a grid the same few come again and again.
    recent: VecDeque<RecentRow<'a, I>>,
}

/// A row and the positions of its runs.
struct RecentRow<'a, I> {
    row: usize,
    columns: &'a [I],
    place: Range<usize>,
}

impl<I: Index> RecentRow<'_, I> {
    /// True for a row with the same runs.
    fn is_like(&self, row: usize, columns: &[I]) -> bool {
        let distance = |column: &I, row: usize| column.as_usize().wrapping_sub(row);
        let is_same = |(before, own): (&I, &I)| distance(before, self.row) == distance(own, row);
        self.columns.len() == columns.len() && self.columns.iter().zip(columns).all(is_same)
    }
}

impl<'a, I: Index> DistinctRuns<'a, I> {
    /// The most rows that a row is compared with.
    const RECENT: usize = 4;

    fn new(longest: usize) -> Self {
        Self { longest, runs: vec![], places: HashMap::new(), recent: VecDeque::new() }
    }

    /// The positions of the runs of a row.
    fn place(&mut self, row: usize, columns: &'a [I]) -> Range<usize> {
        if let Some(like) = self.recent.iter().find(|recent| recent.is_like(row, columns)) {
            return like.place.clone();
        }
        let Self { longest, runs, places, recent } = self;
        let place = places.entry(runs_of(row, columns, *longest)).or_insert_with_key(|own| {
            runs.extend_from_slice(own);
            runs.len() - own.len()..runs.len()
        });
        recent.truncate(Self::RECENT - 1);
        recent.push_front(RecentRow { row, columns, place: place.clone() });
        place.clone()
    }
}

impl Repeated {
    /// True if there are so few groups of rows, `filled` of which have entries, that their runs are worth a plan.
    pub(super) fn pays_off<M: Members>(a: &M, filled: usize, cpu: &Cpu) -> bool {
        let SpmvThresholds { rows_of_group, entries_of_repeated_group, .. } = SpmvThresholds::CPU;
        let most = (filled / rows_of_group).min(a.nnz() / entries_of_repeated_group);
        has_at_most(a, cpu, most, &|Lines { offsets, indices, .. }, rows| {
            let goes_on =
                rows.start > 0 && group_end(offsets, indices, rows.start - 1..rows.start + 1) > rows.start;
            groups(offsets, indices, rows).count() - usize::from(goes_on)
        })
    }

    pub(super) fn new<M: Members>(a: &M, cpu: &Cpu) -> Self {
        let longest = longest_run(cpu.simd(), size_of::<M::Scalar>());
        let groups_of = |(member, rows): (usize, Range<usize>)| {
            let Lines { offsets, indices, .. } = a.lines(member);
            (member, rows.clone(), groups(offsets, indices, rows).collect::<Vec<_>>())
        };
        let groups = cpu.map(a.nnz(), chunks_of_rows(a, CHUNK), groups_of);
        let mut distinct = DistinctRuns::new(longest);
        let tasks = groups.into_iter().map(|(member, rows, groups)| {
            let Lines { offsets, indices, .. } = a.lines(member);
            let group = |rows: Range<usize>| {
                let runs = distinct.place(rows.start, columns(offsets, indices, rows.start));
                Group { rows, runs }
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
            if unsafe { super::repeated_rows_x86::sums::<S, T>(runs, rows.start, values, x, y, update) } {
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
