//! Selection: counts the entries of each row of the result, then copies them.

use super::SEQUENTIAL;
use super::compiled::{find, select_table};
use super::plan::CpuPlan;
use crate::Cpu;
use crate::primitive::fill::{Arrays, try_zeroed};
use sparse_core::op::SelectKernel;
use sparse_core::reference::{Reference, SelectChoice};
use sparse_core::{
    Algorithm, AlgorithmSet, Axis, Compressed, Host, Index, IndexOrder, Places, PlanOptions, Result, Scalar,
    Selection, SparseFormat, algorithms,
};

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
    let takes_all = *minors == Selection::Range(0..a.pattern().minor());
    let Arrays { offsets, indices, values } =
        if takes_all { whole_lines(cpu, a, majors)? } else { parts_of_lines(cpu, a, majors, minors)? };
    if a.order() == IndexOrder::CANONICAL && ascends(minors) {
        // SAFETY: the offsets are the sums of the counts. The indices of a line are places in `minors` of such of a line
        // of `a`, and ascend as these do.
        return Ok(unsafe { Compressed::new_unchecked(rows, cols, offsets, indices, values, a.order()) });
    }
    Compressed::new_unsorted(rows, cols, offsets, indices, values)
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
    minors: &Selection<'_>,
) -> Result<Arrays<T, I, O>> {
    let places = Places::new(minors, a.pattern().minor())?;
    let mut lengths = try_zeroed(majors.len())?;
    cpu.for_chunks(&mut lengths, COUNTED_ROWS, |first, lengths| {
        for (k, length) in (first..).zip(lengths) {
            let indices = &a.indices()[a.pattern().range(majors.at(k))];
            *length = indices.iter().map(|index| places.of(index.as_usize()).count()).sum();
        }
    });
    cpu.fill_rows(&lengths, |lines, indices, values| {
        let mut at = 0;
        for k in lines {
            for (index, value) in a.major_entries(majors.at(k)) {
                for place in places.of(index) {
                    (indices[at], values[at]) = (I::cast(place), value);
                    at += 1;
                }
            }
        }
    })
}
