//! Distributed products against sums in double precision, for any number of ranks.

use crate::common::{Draws, nearly_empty};
use crate::host_peers::HostPeers;
use num_traits::Float;
use sparse_core::op::{Op, Operations, RealOf};
use sparse_core::reference::Reference;
use sparse_core::{Accumulator, Csr, DenseView, DenseViewMut, Error, Host, Order, PlanOptions, Scalar, c64};
use sparse_distrib::{
    DistributedBackend, DistributedMatrix, DistributedSpmmPlan, DistributedSpmvPlan, DistributedVector,
    Local, Ownership, Part,
};

type Rank = DistributedBackend<Local, Reference>;

/// Columns of B and C in SpMM.
const WIDTH: usize = 3;

/// Shapes, and how many entries of a row of three quarters of the rows: few, or all.
const MATRICES: [(usize, usize, usize); 8] =
    [(0, 0, 0), (4, 0, 0), (0, 4, 0), (1, 1, 1), (3, 7, 2), (9, 4, 3), (12, 12, 12), (40, 40, 3)];

/// alpha, x by columns, beta and y by columns of `y ← alpha·op(A)·x + beta·y`.
struct Operands<T> {
    alpha: T,
    beta: T,
    x: Vec<T>,
    y: Vec<T>,
}

impl<T: Accumulator> Operands<T> {
    fn new(a: &Csr<T>, op: Op, draws: &mut Draws) -> Self {
        let (rows, cols) = op.shape(a);
        let (alpha, beta) = (draws.value(), draws.value());
        Self { alpha, beta, x: draws.values(WIDTH * cols), y: draws.values(WIDTH * rows) }
    }

    /// Column 0 by SpMV, run twice, then all by SpMM, gathered at rank 0.
    fn distributed(&self, rank: &Rank, a: &DistributedMatrix<T>, op: Op) -> Option<(Vec<T>, Vec<T>)> {
        let (rows, cols) = match op.transposes() {
            false => (a.row_ownership(), a.col_ownership()),
            true => (a.col_ownership(), a.row_ownership()),
        };
        let scatter = |elements: &[T], by| DistributedVector::scatter(rank, 0, by, Some(elements)).unwrap();
        let x = scatter(&self.x[..cols.len()], cols);
        let mut plan = DistributedSpmvPlan::new(rank, a, op, &PlanOptions::default()).unwrap();
        let [once, again] = [(); 2].map(|()| {
            let mut y = scatter(&self.y[..rows.len()], rows);
            plan.run(self.alpha, a, &x, self.beta, &mut y).unwrap();
            y.gather(rank, 0).unwrap()
        });
        assert!(once == again, "the same bits on every run");
        let product = self.multi_column(rank, a, op, (rows, cols));
        once.map(|once| (once, product.unwrap()))
    }

    fn multi_column(
        &self,
        rank: &Rank,
        a: &DistributedMatrix<T>,
        op: Op,
        (rows, cols): (&Ownership, &Ownership),
    ) -> Option<Vec<T>> {
        let (own_rows, own_cols) = (rows.range(rank.rank()), cols.range(rank.rank()));
        // B by columns within the whole; C by rows of this rank.
        let b = DenseView::<T>::new(
            self.x.get(own_cols.start..).unwrap_or_default(),
            own_cols.len(),
            WIDTH,
            cols.len().max(1),
            Order::ColMajor,
        )
        .unwrap();
        let at = |row: usize, column: usize| self.y[column * rows.len() + row];
        let mut c: Vec<T> =
            own_rows.clone().flat_map(|row| (0..WIDTH).map(move |column| at(row, column))).collect();
        let mut plan = DistributedSpmmPlan::new(rank, a, op, WIDTH, &PlanOptions::default()).unwrap();
        let view = DenseViewMut::row_major(&mut c, own_rows.len(), WIDTH).unwrap();
        plan.run(self.alpha, a, b, self.beta, view).unwrap();
        let by_elements = Ownership::from_lengths((0..rank.ranks()).map(|r| WIDTH * rows.range(r).len()));
        DistributedVector::from_local(rank, &by_elements.unwrap(), &c).unwrap().gather(rank, 0).unwrap()
    }

    /// Each element of the result, column by column, and how far rule A1 of the semantics lets a product be from it.
    fn expected(&self, a: &Csr<T>, op: Op) -> Vec<(c64, f64)> {
        let (rows, cols) = op.shape(a);
        let (alpha, beta) = (self.alpha.to_c64(), self.beta.to_c64());
        let mut sums = vec![(c64::ZERO, 0.0, 0.0); WIDTH * rows];
        for column in 0..WIDTH {
            for (i, j, value) in a.triplets() {
                let (i, j) = if op.transposes() { (j, i) } else { (i, j) };
                let product = op.apply(value).to_c64() * self.x[column * cols + j].to_c64();
                let (sum, magnitude, entries) = &mut sums[column * rows + i];
                (*sum, *magnitude, *entries) = (*sum + product, *magnitude + product.norm(), *entries + 1.0);
            }
        }
        let roundoff = RealOf::<T>::epsilon().to_c64().re / 2.0;
        let element = |((sum, magnitude, entries), y): ((c64, f64, f64), &T)| {
            let value = alpha * sum + beta * y.to_c64();
            let magnitude = alpha.norm() * magnitude + beta.norm() * y.to_c64().norm();
            let steps = (entries + if T::COMPLEX { 6.0 } else { 2.0 }) * roundoff;
            (value, 2.0 * steps / (1.0 - steps) * magnitude + roundoff * value.norm())
        };
        sums.into_iter().zip(&self.y).map(element).collect()
    }
}

fn check<T: Accumulator>(case: &str, found: T, (value, bound): (c64, f64)) {
    let error = (found.to_c64() - value).norm();
    assert!(error <= bound, "{case}: {found} is {error:e} from {value}, more than {bound:e}");
}

fn products_stay_within_the_bound<T: Accumulator>() {
    for (seed, (rows, cols, entries)) in (1..).zip(MATRICES) {
        let mut draws = Draws::new(seed);
        let a = nearly_empty::<T>(rows, cols, entries, &mut draws);
        let operands = Op::ALL.map(|op| (op, Operands::new(&a, op, &mut draws)));
        let expected = operands.each_ref().map(|(op, operands)| operands.expected(&a, *op));
        for ranks in 1..=8 {
            let peers = HostPeers::group(ranks);
            let mut results = Local::run(ranks, |rank| {
                let rank = DistributedBackend::new(rank, Reference);
                let input = (rank.rank() == 0).then_some(&a);
                let distributed = DistributedMatrix::from_root(&rank, 0, input, None).unwrap();
                assert_eq!((distributed.shape(), distributed.nnz()), (a.shape(), a.nnz()));
                let products = |a: &DistributedMatrix<T>| {
                    [0, 1, 2].map(|k| operands[k].1.distributed(&rank, a, operands[k].0))
                };
                let through_the_host = products(&distributed);
                let by_peers = products(&distributed.with_peers(peers[rank.rank()].clone()));
                assert!(through_the_host == by_peers, "the same bits on every path");
                by_peers
            });
            for (op, (expected, found)) in Op::ALL.iter().zip(expected.iter().zip(results.swap_remove(0))) {
                let (vector, matrix) = found.unwrap();
                let lines = op.shape(&a).0;
                assert_eq!((vector.len(), matrix.len()), (lines, WIDTH * lines));
                let case = format!("{op} of {:?} on {ranks} ranks", a.shape());
                for row in 0..lines {
                    check(&case, vector[row], expected[row]);
                    (0..WIDTH).for_each(|k| check(&case, matrix[row * WIDTH + k], expected[k * lines + row]));
                }
            }
        }
    }
}

#[test]
fn real_products_stay_within_the_bound() {
    products_stay_within_the_bound::<f64>();
    products_stay_within_the_bound::<f32>();
}

#[test]
fn complex_products_stay_within_the_bound() {
    products_stay_within_the_bound::<c64>();
}

/// Runs `work` on each of `ranks` ranks with their part of `a`.
fn on_ranks<R: Send>(
    ranks: usize,
    a: &Csr<f64>,
    work: impl Fn(&Rank, DistributedMatrix<f64>) -> R + Sync,
) -> Vec<R> {
    Local::run(ranks, |rank| {
        let rank = DistributedBackend::new(rank, Reference);
        let input = (rank.rank() == 0).then_some(a);
        let distributed = DistributedMatrix::from_root(&rank, 0, input, None).unwrap();
        work(&rank, distributed)
    })
}

#[test]
fn neighbours_exchange_the_edges_of_a_grid() {
    let grid = sparse_generate::stencil_5::<f64>(10, 40).unwrap();
    let plans = on_ranks(4, &grid, |_, a| {
        let plan = a.exchange_plan();
        assert!(!plan.is_all_gather());
        assert!(a.off_diagonal_blocks().all(|(_, block)| block.ncols() == plan.ghosts()));
        assert!(plan.sends().eq(plan.receives())); // the matrix is symmetric
        plan.sends().map(|(rank, _)| rank).collect::<Vec<_>>()
    });
    assert_eq!(plans, [vec![1], vec![0, 2], vec![1, 3], vec![2]]);
}

#[test]
fn a_full_matrix_gathers_all_of_x() {
    let full = nearly_empty::<f64>(16, 16, 16, &mut Draws::new(1));
    for (ranks, plans) in [2, 4].map(|ranks| {
        (ranks, on_ranks(ranks, &full, |rank, a| (rank.rank(), a.exchange_plan().is_all_gather(), a)))
    }) {
        for (rank, is_all_gather, a) in plans {
            assert!(is_all_gather);
            let own = a.col_ownership().range(rank).len();
            assert!(a.exchange_plan().sends().all(|(_, count)| count == own));
            assert_eq!(
                (a.exchange_plan().ghosts(), a.exchange_plan().sends().count()),
                (16 - own, ranks - 1)
            );
        }
    }
}

/// A rank whose first and last rows alone have neighbours on others: its off-diagonal block has two spans. All numbers
/// are small integers, so that every order of sums gives the same.
#[test]
fn spans_of_rows_add_to_their_place() {
    let strip = sparse_generate::stencil_5::<f64>(2, 3000).unwrap();
    let a = Csr::from_triplets(6000, 6000, strip.triplets().map(|(i, j, v)| (i, j, v + (i % 3) as f64)));
    let a = a.unwrap();
    let x: Vec<f64> = (0..12_000).map(|k| f64::from(k % 7)).collect();
    for (op, order) in [(Op::None, Order::RowMajor), (Op::Transpose, Order::ColMajor)] {
        let ld = if order == Order::RowMajor { 2 } else { 6000 };
        let b = DenseView::new(&x[..], 6000, 2, ld, order).unwrap();
        let (mut y, mut c) = (vec![1.0; 6000], vec![1.0; 12_000]);
        Reference.spmv(op, 2.0, &a, &x[..6000], -1.0, &mut y).unwrap();
        let whole = DenseViewMut::new(&mut c[..], 6000, 2, ld, order).unwrap();
        Reference.spmm(op, 2.0, &a, b, -1.0, whole).unwrap();
        on_ranks(3, &a, |rank, a| {
            let own = a.row_ownership().range(rank.rank());
            let spans: Vec<_> = a.off_diagonal_blocks().map(|(rows, _)| rows.len()).collect();
            assert_eq!(spans, if rank.rank() == 1 { vec![2, 2] } else { vec![2] });
            let part = DistributedVector::from_local(rank, a.col_ownership(), &x[own.clone()]).unwrap();
            let mut found =
                DistributedVector::from_local(rank, a.row_ownership(), &vec![1.0; own.len()]).unwrap();
            let mut plan = DistributedSpmvPlan::new(rank, &a, op, &PlanOptions::default()).unwrap();
            plan.run(2.0, &a, &part, -1.0, &mut found).unwrap();
            assert!(found.local() == &y[own.clone()]);

            let part = Part { rows: own.clone(), cols: 0..2 };
            let mut found = vec![1.0; 12_000];
            let mut plan = DistributedSpmmPlan::new(rank, &a, op, 2, &PlanOptions::default()).unwrap();
            let view = DenseViewMut::new(&mut found[..], own.len(), 2, ld, order).unwrap();
            plan.run(2.0, &a, part.view(b).unwrap(), -1.0, view).unwrap();
            let expected = part.view(DenseView::new(&c[..], 6000, 2, ld, order).unwrap()).unwrap();
            let found = DenseView::new(&found[..], own.len(), 2, ld, order).unwrap();
            let same = |k: usize| found.at(k / 2, k % 2) == expected.at(k / 2, k % 2);
            assert!((0..2 * own.len()).all(same));
        });
    }
}

/// Rows that are made where they stay, with indices of 64 bits and columns that are not divided as the rows.
#[test]
fn rows_of_each_rank_and_a_matrix_of_the_root_give_the_same_bits() {
    let mut draws = Draws::new(7);
    let a = nearly_empty::<f64>(21, 15, 4, &mut draws);
    let x = draws.values::<f64>(15);
    let product = |rank: &Rank, a: DistributedMatrix<f64, Host, i64>| {
        let x = DistributedVector::scatter(rank, 0, a.col_ownership(), Some(&x)).unwrap();
        let mut y = DistributedVector::zeros(rank, a.row_ownership()).unwrap();
        let mut plan = DistributedSpmvPlan::new(rank, &a, Op::None, &PlanOptions::default()).unwrap();
        plan.run(1.0, &a, &x, 0.0, &mut y).unwrap();
        y.gather(rank, 0).unwrap()
    };
    let columns = Ownership::from_lengths([3, 0, 12]).unwrap();
    let results = Local::run(3, |rank| {
        let rank = DistributedBackend::new(rank, Reference);
        let wide = |rows: std::ops::Range<usize>| {
            let (first, last) = (a.row_ptr()[rows.start], a.row_ptr()[rows.end]);
            let offsets = a.row_ptr()[rows.start..=rows.end].iter().map(|&end| i64::from(end - first));
            let entries = first as usize..last as usize;
            let indices = a.col_idx()[entries.clone()].iter().map(|&column| i64::from(column));
            let values = a.values()[entries].to_vec();
            Csr::<f64, Host, i64, i64>::new(rows.len(), 15, offsets.collect(), indices.collect(), values)
                .unwrap()
        };
        let root = (rank.rank() == 0).then(|| wide(0..21));
        let whole = DistributedMatrix::from_root(&rank, 0, root.as_ref(), None).unwrap();
        let own = wide(whole.row_ownership().range(rank.rank()));
        let rows = DistributedMatrix::from_rows(&rank, &own, None).unwrap();
        assert_eq!(rows.row_ownership(), whole.row_ownership());
        let divided = DistributedMatrix::from_rows(&rank, &own, Some(&columns)).unwrap();
        assert_eq!(divided.col_ownership(), &columns);
        let divided = product(&rank, divided);
        (product(&rank, whole), product(&rank, rows), divided)
    });
    let (whole, rows, divided) = &results[0];
    assert!(whole.is_some() && whole == rows);
    let close = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-14 * a.abs().max(1.0);
    assert!(whole.as_ref().unwrap().iter().zip(divided.as_ref().unwrap()).all(close));
}

#[test]
fn disagreement_is_an_error_on_all_ranks() {
    let reported = Local::run(3, |rank| {
        let rank = DistributedBackend::new(rank, Reference);
        let row = |cols| Csr::<f64>::new(1, cols, vec![0, 1], vec![0], vec![1.0]).unwrap();
        let error = |made: Result<DistributedMatrix<f64>, Error>| made.unwrap_err().to_string();
        let (two, three) = (Ownership::even(3, 2).unwrap(), Ownership::even(3, 3).unwrap());
        let unsorted = Csr::<f64>::new_unsorted(1, 2, vec![0, 2], vec![1, 0], vec![1.0; 2]).unwrap();
        [
            error(DistributedMatrix::from_rows(&rank, &row(3 + rank.rank() / 2), None)),
            error(DistributedMatrix::from_rows(&rank, &row(3), Some(&two))),
            error(DistributedMatrix::from_root::<_, _, i32>(&rank, 1, None, None)),
            error(DistributedMatrix::from_root(&rank, 0, Some(&unsorted), None)),
            error(DistributedMatrix::from_root(&rank, 0, Some(&row(3)), Some(&[1.0]))),
            error(DistributedMatrix::from_root_rows(&rank, 0, Ok(Some((two, 3))), |_| Ok(row(3)))),
            // The root has no rows for the last rank.
            error(DistributedMatrix::from_root_rows(&rank, 0, Ok(Some((three, 3))), |rows| {
                if rows.start == 2 { Err(Error::format("row", "it is lost")) } else { Ok(row(3)) }
            })),
        ]
    });
    let reasons = [
        "rank 2 has other columns or types than rank 0",
        "3 columns are divided among 2 ranks where 3 ranks have 3",
        "the root has no matrix",
        "sort the matrix first",
        "1 weights where 3 ranks need as many",
        "2 ranges of rows where 3 ranks need as many",
    ];
    assert!(reported[..2].iter().all(|reported| reported[6].contains("row: it is lost")), "{reported:?}");
    for reported in reported {
        for (reported, reason) in reported.iter().zip(reasons) {
            assert!(reported.contains(reason), "{reported}");
        }
    }
}

#[test]
fn a_vector_that_is_divided_otherwise_is_an_error() {
    let a = sparse_generate::stencil_5::<f64>(4, 4).unwrap();
    let reported = on_ranks(2, &a, |rank, a| {
        let other = Ownership::from_lengths([1, 15]).unwrap();
        let x = DistributedVector::zeros(rank, &other).unwrap();
        let mut y = DistributedVector::zeros(rank, a.row_ownership()).unwrap();
        let mut plan = DistributedSpmvPlan::new(rank, &a, Op::None, &PlanOptions::default()).unwrap();
        plan.run(1.0, &a, &x, 0.0, &mut y).unwrap_err().to_string()
    });
    assert!(
        reported.iter().all(|reported| reported.starts_with("spmv: x is divided at [0, 1, 16] where")),
        "{reported:?}"
    );
}

#[test]
fn rows_are_divided_by_entries_for_any_number_of_ranks() {
    for (row_ptr, ranks, starts) in [
        (&[0, 2, 4, 6, 8][..], 4, &[0, 1, 2, 3, 4][..]),
        (&[0, 0, 0, 4], 2, &[0, 3, 3]),
        (&[0, 3], 3, &[0, 1, 1, 1]),
        (&[0, 0, 0, 0], 2, &[0, 2, 3]),
        (&[0], 2, &[0, 0, 0]),
    ] {
        assert_eq!(Ownership::by_nnz(row_ptr, ranks).unwrap().starts(), starts);
    }
    assert_eq!(Ownership::by_weight(&[0, 2, 4, 6, 8], &[0.0, 1.0, 1.0]).unwrap().starts(), [0, 0, 2, 4]);
    for weights in [&[][..], &[0.0], &[1.0, -1.0], &[f64::NAN]] {
        assert!(matches!(Ownership::by_weight(&[0, 1], weights), Err(Error::Shape { .. })));
    }
}

/// Small integers, so that every order of sums gives the same dot product; and numbers whose squares overflow.
#[test]
fn dots_and_norms_are_those_of_the_whole() {
    let x = [(1.0, 2.0), (3.0, -1.0), (0.0, 4.0), (2.0, 0.0), (-5.0, 0.0)].map(|(re, im)| c64::new(re, im));
    let y = [(2.0, 0.0), (1.0, 1.0), (1.0, -1.0), (0.0, 3.0), (1.0, 0.0)].map(|(re, im)| c64::new(re, im));
    let dot = x.iter().zip(&y).fold(c64::default(), |sum, (x, y)| sum + x.conj() * y);
    for ranks in [1, 2, 3, 7] {
        let found = Local::run(ranks, |rank| {
            let rank = DistributedBackend::new(rank, Reference);
            let ownership = Ownership::even(5, ranks).unwrap();
            let own = ownership.range(rank.rank());
            let part = |x: &[c64]| DistributedVector::from_local(&rank, &ownership, &x[own.clone()]).unwrap();
            let (mut x, y, huge) = (part(&x), part(&y), part(&x.map(|x| x * 1e200)));
            let (dot, norms) =
                (x.dot(&rank, &y).unwrap(), [x.nrm2(&rank), huge.nrm2(&rank)].map(Result::unwrap));
            x.axpby(&rank, c64::new(0.0, 2.0), &y, c64::new(-1.0, 0.0)).unwrap();
            (dot, norms, x.gather(&rank, 0).unwrap())
        });
        for (rank, (found_dot, [norm, huge], sum)) in found.into_iter().enumerate() {
            assert_eq!(found_dot, dot);
            assert!((norm - 60_f64.sqrt()).abs() < 1e-14 && (huge / 1e200 - norm).abs() < 1e-14);
            let expected = x.iter().zip(&y).map(|(x, y)| c64::new(0.0, 2.0) * y - x).collect::<Vec<_>>();
            assert_eq!(sum, (rank == 0).then_some(expected));
        }
    }
}
