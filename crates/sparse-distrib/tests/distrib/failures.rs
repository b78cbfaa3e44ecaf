//! A rank whose backend fails, at any of its operations: all ranks return an error, and none waits for it.

use crate::failing::Failing;
use crate::host_peers::HostPeers;
use sparse_core::op::Op;
use sparse_core::reference::Reference;
use sparse_core::{Csr, DenseView, DenseViewMut, PlanOptions, Result};
use sparse_distrib::{
    DistributedBackend, DistributedCg, DistributedMatrix, DistributedSpmmPlan, DistributedSpmvPlan,
    DistributedVector, Local, Transport,
};
use sparse_solvers::{Identity, SolverOptions};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

/// Every kind of collective call, one after the other; the first error ends it.
fn all_calls(
    rank: &DistributedBackend<Local, Failing>,
    a: &Csr<f64>,
    peers: Option<Arc<HostPeers>>,
) -> Result<()> {
    let options = PlanOptions::default();
    let a = DistributedMatrix::from_root(rank, 0, (rank.rank() == 0).then_some(a), None)?;
    let a = match peers {
        Some(peers) => a.with_peers(peers),
        None => a,
    };
    let own = a.row_ownership().range(rank.rank()).len();
    let x = DistributedVector::from_local(rank, a.col_ownership(), &vec![1.0; own])?;
    let mut y = DistributedVector::zeros(rank, a.row_ownership())?;
    for op in [Op::None, Op::Transpose] {
        DistributedSpmvPlan::new(rank, &a, op, &options)?.run(1.0, &a, &x, 0.0, &mut y)?;
        let (b, mut c) = (vec![1.0; 2 * own], vec![0.0; 2 * own]);
        let (b, c) = (DenseView::row_major(&b, own, 2)?, DenseViewMut::row_major(&mut c, own, 2)?);
        DistributedSpmmPlan::new(rank, &a, op, 2, &options)?.run(1.0, &a, b, 0.0, c)?;
    }
    y.axpby(rank, 2.0, &x, 0.0)?;
    y.dot(rank, &x)?;
    y.nrm2(rank)?;
    let mut cg = DistributedCg::new(rank, &a, Identity, &SolverOptions::default())?;
    cg.solve(&a, &x, &mut y, |_| ControlFlow::Continue(()))?;
    y.gather(rank, 0)?;
    Ok(())
}

#[test]
fn wherever_a_rank_fails_all_ranks_return_an_error_that_names_it() {
    let a = sparse_generate::stencil_5::<f64>(4, 6).unwrap();
    for (failing, by_peers) in [(0, false), (2, false), (2, true)] {
        let mut operation = 0;
        loop {
            let peers = HostPeers::group(4);
            let results = Local::run(4, |rank| {
                let left = if rank.rank() == failing { operation } else { usize::MAX };
                let backend = Failing { left: Arc::new(AtomicUsize::new(left)) };
                let peers = by_peers.then(|| peers[rank.rank()].clone());
                let calls = all_calls(&DistributedBackend::new(rank, backend), &a, peers);
                calls.map_err(|error| error.to_string())
            });
            if results.iter().all(Result::is_ok) {
                break;
            }
            let named = format!("rank {failing}: failing: the device is gone");
            for (rank, result) in results.into_iter().enumerate() {
                let reported = result.expect_err("all ranks fail");
                let is_named = reported.contains(&named) || rank == failing && named.contains(&reported);
                assert!(is_named, "operation {operation}, rank {rank}: {reported}");
            }
            operation += 1;
        }
        assert!(operation > 100, "only {operation} operations were made to fail");
    }
}

#[test]
fn a_rank_that_leaves_before_a_product_is_an_error_on_all_others() {
    let a = sparse_generate::stencil_5::<f64>(4, 6).unwrap();
    let reported = Local::run(4, |rank| {
        let rank = DistributedBackend::new(rank, Reference);
        let a = DistributedMatrix::from_root(&rank, 0, Some(&a), None).unwrap();
        let x = DistributedVector::<f64>::zeros(&rank, a.col_ownership()).unwrap();
        let mut y = DistributedVector::zeros(&rank, a.row_ownership()).unwrap();
        let options = PlanOptions::default();
        let mut plan = DistributedSpmvPlan::new(&rank, &a, Op::None, &options).unwrap();
        (rank.rank() != 2).then(|| plan.run(1.0, &a, &x, 0.0, &mut y).unwrap_err().to_string())
    });
    assert!(reported.iter().flatten().count() == 3);
    assert!(reported.iter().flatten().all(|reported| reported.contains("has ended")), "{reported:?}");
}
