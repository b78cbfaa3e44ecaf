//! Milliseconds of y = A·x, of C = A·B with eight columns and of an iteration of CG in f64 on GPUs that each have some
//! of A's rows, by their number and the path on which they exchange elements of x: for a stencil on a square grid, by
//! default with 10⁸ entries. Up to there also y = A·x for as many entries in random columns, ten in a row.
//!
//! `cargo run --release -p backend-cuda --example product_rates [GPUS [SIDE_OF_THE_GRID [FEWEST_GPUS]]]`

#![allow(clippy::print_stdout, reason = "an example prints")]

use backend_cuda::{CUDA, PeerPath, connect};
use sparse_core::backend::SpaceOf;
use sparse_core::op::Op;
use sparse_core::{Backend, Csr, DenseView, DenseViewMut, Order, PlanOptions, Result, Space};
use sparse_device::Device;
use sparse_distrib::{
    DistributedBackend, DistributedCg, DistributedMatrix, DistributedSpmmPlan, DistributedSpmvPlan,
    DistributedVector, Local, Ownership, Transport,
};
use sparse_generate::{stencil_5, uniform};
use sparse_solvers::{Identity, SolverOptions};
use std::ops::{ControlFlow, Range};
use std::sync::Arc;
use std::thread::{available_parallelism, scope};
use std::time::Instant;

/// Products that are enqueued before the time is taken, and how often that is done; the median counts.
const PRODUCTS: usize = 20;
const ROUNDS: usize = 7;
/// Columns of B, each half of the one before.
const COLUMNS: usize = 8;
const ITERATIONS: usize = 50;
const DEFAULT_SIDE: usize = 4472;

type Rank = DistributedBackend<Local, Device>;
type OnRank = DistributedMatrix<f64, SpaceOf<Device>>;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1).map_while(|argument| argument.parse().ok());
    let (gpus, side) = (arguments.next().unwrap_or(1), arguments.next().unwrap_or(DEFAULT_SIDE));
    let devices: Vec<_> = (0..gpus).map(|index| CUDA.open(index)).collect::<Result<_>>()?;
    let fewest = arguments.next().unwrap_or(1);
    compare("stencil_5", (&devices, fewest), &stencil_5(side, side)?, &[spmv, spmm, cg])?;
    if side > DEFAULT_SIDE {
        return Ok(());
    }
    let rows = side * side / 2;
    compare("uniform_10", (&devices, fewest), &uniform(rows, rows, 10, 1)?, &[spmv])
}

/// Times an operation on a rank, with its rows of a matrix and its elements of x.
type Measure = fn(&Rank, &OnRank, &[f64]) -> Result<Measured>;

/// Milliseconds of an operation, and the rank's rows of its result.
struct Measured {
    name: &'static str,
    milliseconds: f64,
    result: Rows,
}

enum Rows {
    /// Those of a product, with this number of columns.
    Product(usize, Vec<f64>),
    /// Those of the last iterate of a solver.
    Iterate(Vec<f64>),
}

impl Rows {
    fn append(&mut self, others: Self) {
        match (self, others) {
            (
                Self::Product(_, all) | Self::Iterate(all),
                Self::Product(_, others) | Self::Iterate(others),
            ) => {
                all.extend(others);
            }
        }
    }
}

/// Prints the times of operations with a matrix on one device, or the fewest, and more.
fn compare(
    name: &str,
    (devices, fewest): (&[Device], usize),
    a: &Csr<f64>,
    measures: &[Measure],
) -> Result<()> {
    println!("{name}: {} entries", a.nnz());
    let x: Vec<f64> = (0..a.ncols()).map(|k| (k % 1000) as f64 / 1000.0 - 0.5).collect();
    let mut iterates: Option<Vec<f64>> = None;
    let numbers = (0..).map(|power| 1 << power).take_while(|&number| number <= devices.len());
    for number in numbers.filter(|&number| number >= fewest) {
        for path in [None, Some(PeerPath::Copies), Some(PeerPath::Nccl)] {
            if number == 1 && path.is_some() {
                continue;
            }
            let way = path.map_or("through the host".to_owned(), |path| path.to_string());
            let (divided, measured) = match on_devices(&devices[..number], a, &x, path, measures) {
                Ok(measured) => measured,
                Err(error) => {
                    println!("{name}  {number} x  {way}: {error}");
                    continue;
                }
            };
            for Measured { name: operation, milliseconds, result } in measured {
                match result {
                    Rows::Product(columns, rows) => check(a, &x, columns, &rows),
                    Rows::Iterate(rows) => {
                        check_iterates(iterates.get_or_insert_with(|| rows.clone()), &rows)
                    }
                }
                println!(
                    "{name}  {number} x  {way:<16} {operation:<4} {milliseconds:8.3} ms, divided in {divided:.2} s"
                );
            }
        }
    }
    Ok(())
}

/// The seconds until the devices have the matrix, and what is measured on them.
fn on_devices(
    devices: &[Device],
    a: &Csr<f64>,
    x: &[f64],
    path: Option<PeerPath>,
    measures: &[Measure],
) -> Result<(f64, Vec<Measured>)> {
    let peers = path.map(|path| connect(devices, path)).transpose()?;
    let peers: Vec<_> = peers.into_iter().flatten().map(Arc::new).collect();
    let started = Instant::now();
    let division = Ownership::by_nnz(a.row_ptr(), devices.len())?;
    let of_ranks = Local::run(devices.len(), |end| {
        let device = devices[end.rank()].clone();
        let rank = DistributedBackend::new(end, device);
        let range = division.range(rank.rank());
        let mut own = DistributedMatrix::from_rows(&rank, &rows(a, range.clone())?, None)?;
        let divided = started.elapsed().as_secs_f64();
        if let Some(peer) = peers.get(rank.rank()) {
            own = own.with_peers(peer.clone());
        }
        let x = &x[own.col_ownership().range(rank.rank())];
        let measured = measures.iter().map(|measure| measure(&rank, &own, x)).collect::<Result<Vec<_>>>()?;
        Ok((divided, measured))
    });
    let mut of_ranks = of_ranks.into_iter();
    let (divided, mut all) = of_ranks.next().expect("there is a rank 0")?;
    for others in of_ranks {
        for (all, others) in all.iter_mut().zip(others?.1) {
            all.result.append(others.result);
        }
    }
    Ok((divided, all))
}

/// The median of rounds of products.
fn median(rank: &Rank, mut product: impl FnMut() -> Result<()>) -> Result<f64> {
    let mut times = vec![];
    for _ in 0..=ROUNDS {
        rank.transport().barrier()?;
        let started = Instant::now();
        (0..PRODUCTS).try_for_each(|_| product())?;
        rank.local().synchronize()?;
        rank.transport().barrier()?;
        times.push(1e3 * started.elapsed().as_secs_f64() / PRODUCTS as f64);
    }
    times.remove(0);
    times.sort_by(f64::total_cmp);
    Ok(times[ROUNDS / 2])
}

fn spmv(rank: &Rank, a: &OnRank, x: &[f64]) -> Result<Measured> {
    let x = DistributedVector::from_local(rank, a.col_ownership(), x)?;
    let mut y = DistributedVector::zeros(rank, a.row_ownership())?;
    let mut plan = DistributedSpmvPlan::new(rank, a, Op::None, &PlanOptions::often())?;
    let milliseconds = median(rank, || plan.run(1.0, a, &x, 0.0, &mut y))?;
    let mut rows = vec![0.0; a.row_ownership().range(rank.rank()).len()];
    rank.local().download_into(y.local(), &mut rows)?;
    Ok(Measured { name: "spmv", milliseconds, result: Rows::Product(1, rows) })
}

fn spmm(rank: &Rank, a: &OnRank, x: &[f64]) -> Result<Measured> {
    let row = |x: &f64| -> [f64; COLUMNS] { std::array::from_fn(|column| x / f64::from(1 << column)) };
    let b = rank.local().upload(x.iter().map(row).collect::<Vec<_>>().as_flattened())?;
    let own_rows = a.row_ownership().range(rank.rank()).len();
    let mut c = rank.local().zeros(own_rows * COLUMNS)?;
    let mut plan = DistributedSpmmPlan::new(rank, a, Op::None, COLUMNS, &PlanOptions::often())?;
    let milliseconds = median(rank, || {
        let b = DenseView::new(SpaceOf::<Device>::view(&b), x.len(), COLUMNS, COLUMNS, Order::RowMajor)?;
        let c = DenseViewMut::new(
            SpaceOf::<Device>::view_mut(&mut c),
            own_rows,
            COLUMNS,
            COLUMNS,
            Order::RowMajor,
        )?;
        plan.run(1.0, a, b, 0.0, c)
    })?;
    let result = Rows::Product(COLUMNS, rank.local().download(&c)?);
    Ok(Measured { name: "spmm", milliseconds, result })
}

/// Iterations of CG from zero, with their stopping test, which never holds.
fn cg(rank: &Rank, a: &OnRank, b: &[f64]) -> Result<Measured> {
    let b = DistributedVector::from_local(rank, a.row_ownership(), b)?;
    let options = SolverOptions {
        tolerance: 0.0,
        max_iterations: Some(ITERATIONS),
        plan: PlanOptions::often(),
        ..SolverOptions::default()
    };
    let mut solver = DistributedCg::new(rank, a, Identity, &options)?;
    let mut milliseconds = f64::INFINITY;
    let mut rows = vec![0.0; a.col_ownership().range(rank.rank()).len()];
    for _ in 0..3 {
        let mut x = DistributedVector::zeros(rank, a.col_ownership())?;
        rank.transport().barrier()?;
        let started = Instant::now();
        solver.solve(a, &b, &mut x, |_| ControlFlow::Continue(()))?;
        rank.transport().barrier()?;
        milliseconds = milliseconds.min(1e3 * started.elapsed().as_secs_f64() / ITERATIONS as f64);
        rank.local().download_into(x.local(), &mut rows)?;
    }
    Ok(Measured { name: "cg", milliseconds, result: Rows::Iterate(rows) })
}

/// A copy of some rows.
fn rows(a: &Csr<f64>, rows: Range<usize>) -> Result<Csr<f64>> {
    let ends = &a.row_ptr()[rows.start..=rows.end];
    let entries = ends[0] as usize..ends[rows.len()] as usize;
    let offsets = ends.iter().map(|end| end - ends[0]).collect();
    let (columns, values) = (a.col_idx()[entries.clone()].to_vec(), a.values()[entries].to_vec());
    Csr::new_unsorted(rows.len(), a.ncols(), offsets, columns, values)
}

/// Compares every element with a serial product, within the bound of rounding.
fn check(a: &Csr<f64>, x: &[f64], columns: usize, c: &[f64]) {
    assert_eq!(c.len(), a.nrows() * columns);
    let threads = available_parallelism().map_or(1, usize::from);
    let rows = a.nrows().div_ceil(threads).max(1);
    scope(|scope| {
        for (thread, c) in c.chunks(rows * columns).enumerate() {
            scope.spawn(move || {
                for (k, found) in c.chunks(columns).enumerate() {
                    check_row(a, x, thread * rows + k, found);
                }
            });
        }
    });
}

fn check_row(a: &Csr<f64>, x: &[f64], row: usize, found: &[f64]) {
    let (mut sum, mut magnitude, mut terms) = (0.0, 0.0, 0.0);
    for (column, value) in a.major_entries(row) {
        sum += value * x[column];
        magnitude += (value * x[column]).abs();
        terms += 1.0;
    }
    let bound = 2.0 * (terms + 1.0) * f64::EPSILON * magnitude;
    for (column, found) in found.iter().enumerate() {
        let found = found * f64::from(1 << column);
        assert!((found - sum).abs() <= bound, "row {row}, column {column}: {found} where {sum} is right");
    }
}

/// Compares the iterates of CG with those of one device: their sums are added in another order.
fn check_iterates(expected: &[f64], found: &[f64]) {
    assert_eq!(expected.len(), found.len());
    let norm = |values: &mut dyn Iterator<Item = f64>| values.map(|value| value * value).sum::<f64>().sqrt();
    let error = norm(&mut expected.iter().zip(found).map(|(expected, found)| expected - found));
    let size = norm(&mut expected.iter().copied());
    assert!(error <= 1e-10 * size, "the iterates differ by {error} where they have the norm {size}");
}
