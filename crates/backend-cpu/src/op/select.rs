//! Selection: counts the entries of each row of the result, then copies them.

use super::SEQUENTIAL;
use super::compiled::{find, select_table};
use super::plan::CpuPlan;
use crate::Cpu;
use crate::primitive::fill::{Arrays, try_zeroed};
use crate::primitive::row_sort::order_of;
use sparse_core::backend::vec_with_capacity;
use sparse_core::op::SelectKernel;
use sparse_core::reference::{Reference, SelectChoice};
use sparse_core::{
    Algorithm, AlgorithmSet, Axis, Compressed, Host, Index, IndexOrder, Places, PlanOptions, Result, Scalar,
    Selection, SparseFormat, algorithms,
};
use std::mem::replace;
use std::ops::Range;

algorithms! {
    /// The algorithms of CSR and CSC.
    pub enum SelectAlgorithm {
        CountFill = Algorithm::new("count_fill", "always");
        Sequential = SEQUENTIAL;
    }
}

/// Rows whose entries are counted together.
const COUNTED_ROWS: usize = 1024;

/// The functions of one format, which are compiled in this crate.
pub(super) struct Functions<M> {
    count_fill: fn(&Cpu, &M, &SelectChoice) -> Result<M>,
}

impl<A: Axis, T: Scalar, I: Index, O: Index> Functions<Compressed<A, T, Host, I, O>> {
    pub(super) const ALL: Self = Self { count_fill };
}

impl<A: Axis, T: Scalar, I: Index, O: Index> SelectKernel<Compressed<A, T, Host, I, O>> for Cpu {
    type Plan = CpuPlan<SelectAlgorithm, SelectChoice>;

    fn select_algorithms(&self) -> &'static [Algorithm] {
        SelectAlgorithm::table(&|_| true)
    }

    fn plan_select(
        &self,
        _: &Compressed<A, T, Host, I, O>,
        rows: &Selection<'_>,
        cols: &Selection<'_>,
        options: &PlanOptions,
    ) -> Result<Self::Plan> {
        let reason = "the entries of each row are counted, then copied";
        let (automatic, table) = (SelectAlgorithm::CountFill, SelectAlgorithm::table(&|_| true));
        let (algorithm, choice) = options.choose_among("select", table, automatic, reason)?;
        let reference =
            SelectChoice { choice, rows: rows.clone().into_owned(), cols: cols.clone().into_owned() };
        Ok(CpuPlan { algorithm, reference })
    }

    unsafe fn run_select(
        &self,
        plan: &mut Self::Plan,
        a: &Compressed<A, T, Host, I, O>,
    ) -> Result<Compressed<A, T, Host, I, O>> {
        match plan.algorithm {
            SelectAlgorithm::CountFill => {
                let functions: &Functions<Compressed<A, T, Host, I, O>> =
                    find(select_table(), "select", Compressed::<A, T, Host, I, O>::FORMAT)?;
                (functions.count_fill)(self, a, &plan.reference)
            }
            SelectAlgorithm::Sequential => {
                // SAFETY: the caller makes the reference's promises of the plan and the operand.
                unsafe { Reference.run_select(&mut plan.reference, a) }
            }
        }
    }
}

fn count_fill<A: Axis, T: Scalar, I: Index, O: Index>(
    cpu: &Cpu,
    a: &Compressed<A, T, Host, I, O>,
    chosen: &SelectChoice,
) -> Result<Compressed<A, T, Host, I, O>> {
    let (majors, minors) = A::swap(&chosen.rows, &chosen.cols);
    let (rows, cols) = (chosen.rows.len(), chosen.cols.len());
    I::try_new("rows", rows)?;
    I::try_new("columns", cols)?;
    let extent = a.pattern().minor();
    let Arrays { offsets, indices, values } = match minors {
        Selection::Range(range) if *range == (0..extent) => whole_lines(cpu, a, majors)?,
        Selection::Range(range) => parts_of_lines(cpu, a, majors, range)?,
        Selection::List(list) => match OnePlace::new(list, extent)? {
            Some(places) => parts_of_lines(cpu, a, majors, &places)?,
            None => parts_of_lines(cpu, a, majors, &Places::new(minors, extent)?)?,
        },
    };
    let order = match a.order() {
        IndexOrder::CANONICAL if ascends(minors) => IndexOrder::CANONICAL,
        _ => order_of(cpu, &offsets, &indices),
    };
    // SAFETY: the offsets are the sums of the counts. The indices of a line are places in `minors`, whose number fits;
    // they are as ascending as they were found to be, or where `minors` ascends, as those of `a`.
    Ok(unsafe { Compressed::new_unchecked(rows, cols, offsets, indices, values, order) })
}

/// The places of the indices of a line among those that are chosen.
trait ChosenPlaces<I: Index>: Sync {
    /// The number of places of an index.
    fn count(&self, index: I) -> usize;

    /// The places of an index, ascending.
    fn of(&self, index: I) -> impl Iterator<Item = I>;
}

impl<I: Index> ChosenPlaces<I> for Range<usize> {
    #[inline(always)]
    fn count(&self, index: I) -> usize {
        usize::from(self.contains(&index.as_usize()))
    }

    #[inline(always)]
    fn of(&self, index: I) -> impl Iterator<Item = I> {
        let index = index.as_usize();
        self.contains(&index).then(|| I::cast(index - self.start)).into_iter()
    }
}

impl<I: Index> ChosenPlaces<I> for Places<'_> {
    #[inline(always)]
    fn count(&self, index: I) -> usize {
        Places::of(self, index.as_usize()).count()
    }

    #[inline(always)]
    fn of(&self, index: I) -> impl Iterator<Item = I> {
        Places::of(self, index.as_usize()).map(I::cast)
    }
}

/// The place of each index of a list without repeats, in as few bytes as the indices have.
struct OnePlace<I> {
    /// Those that are not in the list have [`none`](Self::none).
    places: Vec<I>,
    none: I,
    /// True if the list has every index.
    is_complete: bool,
}

impl<I: Index> OnePlace<I> {
    /// The places, unless an index is repeated or the list is much shorter than the extent.
    fn new(list: &[usize], extent: usize) -> Result<Option<Self>> {
        if list.len() < extent / Places::SEARCHED_BELOW {
            return Ok(None);
        }
        let none = I::cast(list.len());
        let mut places = vec_with_capacity(extent)?;
        places.resize(extent, none);
        for (place, &index) in list.iter().enumerate() {
            if replace(&mut places[index], I::cast(place)) != none {
                return Ok(None);
            }
        }
        Ok(Some(Self { places, none, is_complete: list.len() == extent }))
    }
}

impl<I: Index> ChosenPlaces<I> for OnePlace<I> {
    #[inline(always)]
    fn count(&self, index: I) -> usize {
        usize::from(self.is_complete || self.places[index.as_usize()] != self.none)
    }

    #[inline(always)]
    fn of(&self, index: I) -> impl Iterator<Item = I> {
        let place = self.places[index.as_usize()];
        (place != self.none).then_some(place).into_iter()
    }
}

/// True if no place comes before one of a smaller index, and none is repeated.
fn ascends(chosen: &Selection<'_>) -> bool {
    match chosen {
        Selection::Range(_) => true,
        Selection::List(list) => list.is_sorted_by(|index, next| index < next),
    }
}

/// The arrays of these rows of CSR, or columns of CSC.
fn whole_lines<A: Axis, T: Scalar, I: Index, O: Index>(
    cpu: &Cpu,
    a: &Compressed<A, T, Host, I, O>,
    majors: &Selection<'_>,
) -> Result<Arrays<T, I, O>> {
    let mut lengths = try_zeroed(majors.len())?;
    cpu.for_chunks(&mut lengths, COUNTED_ROWS, |first, lengths| {
        for (k, length) in (first..).zip(lengths) {
            *length = a.pattern().range(majors.at(k)).len();
        }
    });
    cpu.fill_rows(&lengths, |lines, indices, values| {
        let mut at = 0;
        for k in lines {
            let entries = a.pattern().range(majors.at(k));
            let to = at..at + entries.len();
            at = to.end;
            indices[to.clone()].copy_from_slice(&a.indices()[entries.clone()]);
            values[to].copy_from_slice(&a.values()[entries]);
        }
    })
}

/// The arrays of these rows of CSR with some of the columns, or of columns of CSC with some of the rows.
fn parts_of_lines<A: Axis, T: Scalar, I: Index, O: Index>(
    cpu: &Cpu,
    a: &Compressed<A, T, Host, I, O>,
    majors: &Selection<'_>,
    places: &impl ChosenPlaces<I>,
) -> Result<Arrays<T, I, O>> {
    let mut lengths = try_zeroed(majors.len())?;
    cpu.for_chunks(&mut lengths, COUNTED_ROWS, |first, lengths| {
        for (k, length) in (first..).zip(lengths) {
            let indices = &a.indices()[a.pattern().range(majors.at(k))];
            *length = indices.iter().map(|&index| places.count(index)).sum();
        }
    });
    cpu.fill_rows(&lengths, |lines, indices, values| {
        let mut at = 0;
        for k in lines {
            let entries = a.pattern().range(majors.at(k));
            for (&index, &value) in a.indices()[entries.clone()].iter().zip(&a.values()[entries]) {
                for place in places.of(index) {
                    (indices[at], values[at]) = (place, value);
                    at += 1;
                }
            }
        }
    })
}
