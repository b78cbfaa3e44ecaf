//! Milliseconds of y = A·x in f64 on GPUs that each have some of A's rows, by their number and the path on which they
//! exchange elements of x. A has 10⁸ entries: a stencil, or ten in random columns of each row.
//!
//! `cargo run --release -p backend-cuda --example product_rates [GPUS]`

#![allow(clippy::print_stdout, reason = "an example prints")]

use backend_cuda::{CUDA, PeerPath, connect};
use sparse_core::op::Op;
use sparse_core::{Backend, Csr, PlanOptions, Result};
use sparse_device::Device;
use sparse_distrib::{
    DistributedBackend, DistributedMatrix, DistributedSpmvPlan, DistributedVector, Local, Ownership,
    Transport,
};
use sparse_generate::{stencil_5, uniform};
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

/// Products that are enqueued before the time is taken, and how often that is done; the median counts.
const PRODUCTS: usize = 20;
const ROUNDS: usize = 7;

/// Makes a matrix.
type Build = fn() -> Result<Csr<f64>>;

fn main() -> Result<()> {
    let gpus = std::env::args().nth(1).and_then(|gpus| gpus.parse().ok()).unwrap_or(1);
    let devices: Vec<_> = (0..gpus).map(|index| CUDA.open(index)).collect::<Result<_>>()?;
    let matrices: [(&str, Build); 2] =
        [("stencil_5", || stencil_5(4472, 4472)), ("uniform_10", || uniform(10_000_000, 10_000_000, 10, 1))];
    for (name, build) in matrices {
        let started = Instant::now();
        let a = build()?;
        println!("{name}: {} entries, made in {:.1} s", a.nnz(), started.elapsed().as_secs_f64());
        let x: Vec<f64> = (0..a.ncols()).map(|k| (k % 1000) as f64 / 1000.0 - 0.5).collect();
        for number in 1..=gpus {
            for path in [None, Some(PeerPath::Copies), Some(PeerPath::Nccl)] {
                if number == 1 && path.is_some() {
                    continue;
                }
                let way = path.map_or("through the host".to_owned(), |path| path.to_string());
                match product(&devices[..number], &a, &x, path) {
                    Ok((divided, milliseconds, y)) => {
                        check(&a, &x, &y);
                        println!(
                            "{name}  {number} x  {way:<16} {milliseconds:8.3} ms, divided in {divided:.2} s"
                        );
                    }
                    Err(error) => println!("{name}  {number} x  {way}: {error}"),
                }
            }
        }
    }
    Ok(())
}

/// The seconds until the devices have the matrix, the milliseconds of a product, and the product.
fn product(
    devices: &[Device],
    a: &Csr<f64>,
    x: &[f64],
    path: Option<PeerPath>,
) -> Result<(f64, f64, Vec<f64>)> {
    let peers = path.map(|path| connect(devices, path)).transpose()?;
    let peers: Vec<_> = peers.into_iter().flatten().map(Arc::new).collect();
    let started = Instant::now();
    let division = Ownership::by_nnz(a.row_ptr(), devices.len())?;
    let results = Local::run(devices.len(), |end| {
        let device = devices[end.rank()].clone();
        let rank = DistributedBackend::new(end, device);
        let own = rows(a, division.range(rank.rank()))?;
        let mut own = DistributedMatrix::from_rows(&rank, &own, None)?;
        let divided = started.elapsed().as_secs_f64();
        if let Some(peer) = peers.get(rank.rank()) {
            own = own.with_peers(peer.clone());
        }
        let x = DistributedVector::scatter(&rank, 0, own.col_ownership(), Some(x))?;
        let mut y = DistributedVector::zeros(&rank, own.row_ownership())?;
        let options = PlanOptions { expected_calls: 1000, ..PlanOptions::default() };
        let mut plan = DistributedSpmvPlan::new(&rank, &own, Op::None, &options)?;
        let mut times = vec![];
        for _ in 0..=ROUNDS {
            rank.transport().barrier()?;
            let started = Instant::now();
            (0..PRODUCTS).try_for_each(|_| plan.run(1.0, &own, &x, 0.0, &mut y))?;
            rank.local().synchronize()?;
            rank.transport().barrier()?;
            times.push(1e3 * started.elapsed().as_secs_f64() / PRODUCTS as f64);
        }
        times.remove(0);
        times.sort_by(f64::total_cmp);
        Ok((divided, times[ROUNDS / 2], y.gather(&rank, 0)?.unwrap_or_default()))
    });
    results.into_iter().next().expect("there is a rank 0")
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
fn check(a: &Csr<f64>, x: &[f64], y: &[f64]) {
    assert_eq!(y.len(), a.nrows());
    for (row, &found) in y.iter().enumerate() {
        let (mut sum, mut magnitude, mut terms) = (0.0, 0.0, 0.0);
        for (column, value) in a.major_entries(row) {
            sum += value * x[column];
            magnitude += (value * x[column]).abs();
            terms += 1.0;
        }
        let bound = 2.0 * (terms + 1.0) * f64::EPSILON * magnitude;
        assert!((found - sum).abs() <= bound, "row {row}: {found} where {sum} is right");
    }
}
