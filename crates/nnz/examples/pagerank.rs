//! PageRank of a graph: a Matrix Market file, or a random graph where none is given.
//!
//! `cargo run --release -p nnz --example pagerank -- graph.mtx`
#![allow(clippy::print_stdout, reason = "an example prints")]

use nnz::op::vector::{axpby, dot, nrm2};
use nnz::prelude::*;

const DAMPING: f64 = 0.85;

/// The graph; an entry (i, j) is a link from page i to page j.
pub(crate) struct PageRank(pub(crate) Csr<f64>);

impl WithBackend for PageRank {
    type Out = Result<Vec<f64>>;

    fn call<B: AllTypes>(self, backend: &B) -> Self::Out {
        let n = self.0.rows();
        let a = share_out(self.0)?.to_device(backend)?;
        let ones = backend.upload(&vec![1.0; n])?;
        let mut rank = backend.upload(&vec![1.0 / n as f64; n])?;
        let mut next = backend.zeros(n)?;

        let mut plan = SpmvPlan::new(backend, &a, Op::Transpose, &PlanOptions::default())?;
        for _ in 0..200 {
            plan.run(DAMPING, &a, B::Space::view(&rank), 0.0, B::Space::view_mut(&mut next))?;
            // What damping takes, and what pages without links keep to themselves, goes to all pages alike.
            let left = dot::<B, f64>(backend, B::Space::view(&ones), B::Space::view(&next))?;
            let share = (1.0 - left) / n as f64;
            axpby::<B, f64>(backend, share, B::Space::view(&ones), 1.0, B::Space::view_mut(&mut next))?;

            axpby::<B, f64>(backend, -1.0, B::Space::view(&next), 1.0, B::Space::view_mut(&mut rank))?;
            let change = nrm2::<B, f64>(backend, B::Space::view(&rank))?;
            std::mem::swap(&mut rank, &mut next);
            if change < 1e-12 {
                break;
            }
        }
        backend.download(&rank)
    }
}

/// The links of every page with equal weights whose sum is 1.
fn share_out(graph: Csr<f64>) -> Result<Csr<f64>> {
    let lengths = graph.row_lengths().into_iter();
    graph.with_values(lengths.flat_map(|links| vec![1.0 / links as f64; links]).collect())
}

fn main() -> Result<()> {
    let graph = match std::env::args().nth(1) {
        Some(path) => nnz::io::read_csr(path)?,
        None => nnz::generate::rmat(14, 16, nnz::generate::GRAPH500, 42)?,
    };
    let ranks = Device::best()?.with(PageRank(graph))?;
    let mut pages: Vec<_> = ranks.into_iter().enumerate().collect();
    pages.sort_by(|a, b| b.1.total_cmp(&a.1));
    pages.iter().take(5).for_each(|(page, rank)| println!("{rank:.6} page {page}"));
    Ok(())
}
