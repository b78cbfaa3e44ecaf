//! PageRank of a graph: a Matrix Market file, or a random graph where none is given.
//!
//! `cargo run --release -p nnz --example pagerank -- graph.mtx`
#![allow(clippy::print_stdout, reason = "an example prints")]

use nnz::prelude::*;

const DAMPING: f64 = 0.85;

/// The ranks of the pages; an entry (i, j) is a link from page i to page j.
pub(crate) fn rank(device: &Device, graph: Csr<f64>) -> Result<Vec<f64>> {
    let n = graph.nrows();
    let a = Matrix::from_typed(device, with_equal_weights(graph)?)?;
    let ones = Vector::from_vec(device, vec![1.0; n])?;
    let mut rank = Vector::from_vec(device, vec![1.0 / n as f64; n])?;
    let mut next = Vector::zeros(device, DType::F64, n)?;
    for _ in 0..200 {
        a.spmv(Op::Transpose, DAMPING, &rank, 0.0, &mut next)?;
        // The rank lost by damping and by pages without links is divided equally among all pages.
        let left = ones.dot(&next)?.re;
        next.axpby((1.0 - left) / n as f64, &ones, 1.0)?;

        rank.axpby(-1.0, &next, 1.0)?;
        let change = rank.nrm2()?;
        std::mem::swap(&mut rank, &mut next);
        if change < 1e-12 {
            break;
        }
    }
    rank.to_vec()
}

/// The links of every page with equal weights whose sum is 1.
fn with_equal_weights(graph: Csr<f64>) -> Result<Csr<f64>> {
    let lengths = graph.row_lengths().into_iter();
    graph.with_values(lengths.flat_map(|links| vec![1.0 / links as f64; links]).collect())
}

fn main() -> Result<()> {
    let graph = match std::env::args().nth(1) {
        Some(path) => nnz::io::read_csr(path)?,
        None => nnz::generate::rmat(14, 16, nnz::generate::GRAPH500, 42)?,
    };
    let ranks = rank(&Device::best()?, graph)?;
    let mut pages: Vec<_> = ranks.into_iter().enumerate().collect();
    pages.sort_by(|a, b| b.1.total_cmp(&a.1));
    pages.iter().take(5).for_each(|(page, rank)| println!("{rank:.6} page {page}"));
    Ok(())
}
