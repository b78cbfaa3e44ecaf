//! The operands of a solve, and the values of X by levels.

use super::levels::{LANES, LevelSchedule, Task};
use crate::Cpu;
use crate::primitive::update::Disjoint;
use crate::simd::{Isa, Vectorize};
use num_traits::One;
use sparse_core::op::{Diagonal, Op, Triangular, quotient};
use sparse_core::{DenseView, DenseViewMut, Index, Order, Result, Scalar};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The operands of a solve.
pub(super) struct Substitution<'a, 'b, T: Scalar> {
    pub(super) system: Triangular,
    pub(super) values: &'a [T],
    pub(super) b: DenseView<'b, T>,
}

/// The least row whose diagonal is zero.
pub(super) struct ZeroDiagonal(AtomicUsize);

impl ZeroDiagonal {
    const NONE: usize = usize::MAX;

    pub(super) fn new() -> Self {
        Self(AtomicUsize::new(Self::NONE))
    }

    pub(super) fn found(&self, row: usize) {
        self.0.fetch_min(row, Ordering::Relaxed);
    }

    pub(super) fn check(self) -> Result<()> {
        match self.0.into_inner() {
            Self::NONE => Ok(()),
            row => Err(Triangular::zero_diagonal(row)),
        }
    }
}

impl<T: Scalar> Substitution<'_, '_, T> {
    /// Solves for all columns of B, level by level, by all threads: a task begins when those that it needs are done.
    /// `solved` is workspace: the rows of X in the order of the schedule.
    ///
    /// # Errors
    /// [`Singular`](sparse_core::Error::Singular) with the first row whose diagonal is zero.
    pub(super) fn by_level<I: Index, O: Index>(
        &self,
        cpu: &Cpu,
        schedule: &LevelSchedule<I, O>,
        solved: &mut Vec<T::Acc>,
        mut x: DenseViewMut<'_, T>,
    ) -> Result<()> {
        let n = schedule.rows.order();
        solved.resize(n * self.b.ncols(), T::Acc::ZERO);
        let steps = steps(&x);
        let zero = ZeroDiagonal::new();
        let slabs = Slabs {
            substitution: self,
            schedule,
            solved: Disjoint::new(solved),
            x: Disjoint::new(x.data_mut()),
            steps,
            zero: &zero,
        };
        let done = AtomicUsize::new(0);
        let entries = schedule.rows.columns.len() + n;
        cpu.for_each_index(entries.saturating_mul(self.b.ncols()), schedule.tasks.len(), &|task| {
            let task = &schedule.tasks[task];
            wait_until(|| done.load(Ordering::Acquire) >= task.needs);
            let _done = Done(&done);
            cpu.simd().run(SlabsOfTask { slabs: &slabs, task });
        });
        zero.check()
    }

    /// An element of X.
    #[inline(always)]
    pub(super) fn element(sum: T::Acc, diagonal: T::Acc) -> T {
        T::from_acc(quotient(sum, diagonal))
    }

    /// The diagonal, before entries are added.
    #[inline(always)]
    pub(super) fn initial_diagonal(&self) -> T::Acc {
        if self.system.diagonal == Diagonal::Unit { T::Acc::one() } else { T::Acc::ZERO }
    }

    /// An entry of op(A).
    #[inline(always)]
    pub(super) fn value(&self, value: T) -> T::Acc {
        if self.system.op == Op::ConjugateTranspose { value.conj() } else { value }.to_acc()
    }
}

/// Elements from one row, and from one column, to the next.
pub(super) fn steps<T: Scalar>(x: &DenseViewMut<'_, T>) -> (usize, usize) {
    match x.order() {
        Order::RowMajor => (x.leading_dimension(), 1),
        Order::ColMajor => (1, x.leading_dimension()),
    }
}

/// Counts a task as done at its end, also where it panics: others wait for it.
struct Done<'a>(&'a AtomicUsize);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Release);
    }
}

/// Looks for a condition that other threads are about to fulfil.
fn wait_until(is_fulfilled: impl Fn() -> bool) {
    /// Looks, some microseconds, before other threads get the processor.
    const LOOKS: usize = 1000;
    let mut looks = 0;
    while !is_fulfilled() {
        looks += 1;
        if looks < LOOKS { std::hint::spin_loop() } else { std::thread::yield_now() }
    }
}

/// The matrix, the schedule and the solution of a solve by levels, which all of its tasks read and write.
struct Slabs<'a, 'b, T: Scalar, I, O> {
    substitution: &'a Substitution<'a, 'b, T>,
    schedule: &'a LevelSchedule<I, O>,
    /// The rows of X at their positions.
    solved: Disjoint<T::Acc>,
    x: Disjoint<T>,
    /// Elements of `x` from one row, and from one column, to the next.
    steps: (usize, usize),
    zero: &'a ZeroDiagonal,
}

/// The slabs of one task.
struct SlabsOfTask<'a, 'b, T: Scalar, I, O> {
    slabs: &'a Slabs<'a, 'b, T, I, O>,
    task: &'a Task,
}

impl<T: Scalar, I: Index, O: Index> Vectorize for SlabsOfTask<'_, '_, T, I, O> {
    type Out = ();

    #[inline(always)]
    fn run<S: Isa>(self) {
        let Self { slabs, task } = self;
        for slab in task.slabs.clone() {
            let positions = slabs.schedule.slab(slab);
            if slabs.substitution.b.ncols() == 1 {
                slabs.solve_vector(positions);
            } else {
                slabs.solve_matrix(positions);
            }
        }
    }
}

impl<T: Scalar, I: Index, O: Index> Slabs<'_, '_, T, I, O> {
    /// The entries of each step: columns and places of the lanes that have one.
    #[inline(always)]
    fn steps_of(&self, positions: Range<usize>) -> impl Iterator<Item = (&[I], &[O])> {
        let rows = &self.schedule.rows;
        let (mut at, mut lanes) = (rows.range(positions.start).start, positions.len());
        (0..rows.range(positions.start).len()).map(move |k| {
            while rows.range(positions.start + lanes - 1).len() <= k {
                lanes -= 1;
            }
            let step = at..at + lanes;
            at = step.end;
            (&rows.columns[step.clone()], &rows.places[step])
        })
    }

    /// Solves a slab for one column of B, with the sums of its rows in registers.
    #[inline(always)]
    fn solve_vector(&self, positions: Range<usize>) {
        let (system, first) = (self.substitution, positions.start);
        let rows = &self.schedule.rows.rows[positions.clone()];
        let mut sums = [T::Acc::ZERO; LANES];
        let mut diagonals = [system.initial_diagonal(); LANES];
        for (sum, row) in sums.iter_mut().zip(rows) {
            *sum = system.b.at(row.as_usize(), 0).to_acc();
        }
        for (columns, places) in self.steps_of(positions) {
            let mut subtract =
                |lanes| self.subtract(first, lanes, (columns, places), &mut sums, &mut diagonals);
            // In loops of constant lengths, which become vectors.
            let (count, mut lane) = (columns.len(), 0);
            if count == LANES {
                subtract(0..LANES);
                continue;
            }
            if count & 8 != 0 {
                subtract(0..8);
                lane += 8;
            }
            if count & 4 != 0 {
                subtract(lane..lane + 4);
                lane += 4;
            }
            subtract(lane..count);
        }
        let mut elements = [T::ZERO; LANES];
        for lane in 0..LANES {
            elements[lane] = Substitution::<T>::element(sums[lane], diagonals[lane]);
        }
        // SAFETY: the rows of this task are no other's.
        let solved = unsafe { self.solved.slice(first, rows.len()) };
        for (lane, (row, solved)) in rows.iter().zip(solved).enumerate() {
            *solved = elements[lane].to_acc();
            self.store(row.as_usize(), 0, elements[lane], diagonals[lane]);
        }
    }

    /// Subtracts the products of some lanes of a step from their sums, and adds entries on the diagonal to `diagonals`.
    #[inline(always)]
    fn subtract(
        &self,
        first: usize,
        lanes: Range<usize>,
        (columns, places): (&[I], &[O]),
        sums: &mut [T::Acc; LANES],
        diagonals: &mut [T::Acc; LANES],
    ) {
        for lane in lanes {
            let column = columns[lane].as_usize();
            // SAFETY: the schedule has positions of rows, and places of values in the pattern of A. No other task
            // writes rows that this one needs; those on the diagonal are rows of its own, and not used.
            let (value, done) = unsafe {
                let value = *self.substitution.values.get_unchecked(places[lane].as_usize());
                (self.substitution.value(value), *self.solved.start().add(column))
            };
            let is_diagonal = column == first + lane;
            diagonals[lane] += if is_diagonal { value } else { T::Acc::ZERO };
            sums[lane] = if is_diagonal { sums[lane] } else { sums[lane] - value * done };
        }
    }

    /// Solves a slab for several columns of B, with the sums of its rows where they are stored.
    #[inline(always)]
    fn solve_matrix(&self, positions: Range<usize>) {
        let (system, first, columns) = (self.substitution, positions.start, self.substitution.b.ncols());
        let rows = &self.schedule.rows.rows[positions.clone()];
        // SAFETY: the rows of this task are no other's.
        let sums = unsafe { self.solved.slice(first * columns, rows.len() * columns) };
        for (sums, row) in sums.chunks_exact_mut(columns).zip(rows) {
            sums.iter_mut().enumerate().for_each(|(j, sum)| *sum = system.b.at(row.as_usize(), j).to_acc());
        }
        let mut diagonals = [system.initial_diagonal(); LANES];
        for (step, places) in self.steps_of(positions) {
            for (lane, (column, place)) in step.iter().zip(places).enumerate() {
                let value = system.value(system.values[place.as_usize()]);
                if column.as_usize() == first + lane {
                    diagonals[lane] += value;
                    continue;
                }
                let start = self.solved.start().wrapping_add(column.as_usize() * columns);
                // SAFETY: a row of another level, which is done, so that no task writes it.
                let done = unsafe { std::slice::from_raw_parts(start, columns) };
                let sums = &mut sums[lane * columns..][..columns];
                sums.iter_mut().zip(done).for_each(|(sum, &done)| *sum -= value * done);
            }
        }
        for (lane, (row, sums)) in rows.iter().zip(sums.chunks_exact_mut(columns)).enumerate() {
            for (j, sum) in sums.iter_mut().enumerate() {
                let element = Substitution::<T>::element(*sum, diagonals[lane]);
                *sum = element.to_acc();
                self.store(row.as_usize(), j, element, diagonals[lane]);
            }
        }
    }

    /// Stores an element of X, which was divided by this diagonal.
    #[inline(always)]
    fn store(&self, row: usize, column: usize, element: T, diagonal: T::Acc) {
        if diagonal.is_zero() {
            self.zero.found(row);
        }
        // SAFETY: each row is solved by one task.
        unsafe { *self.x.at(row * self.steps.0 + column * self.steps.1) = element };
    }
}
