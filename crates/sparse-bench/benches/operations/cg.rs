//! Conjugate gradients on the 5-point Laplacian from x = 0, with their stopping test, up to a limit of iterations.
//! Bytes of one: A (8·nnz + 4·(n + 1)) and vectors of 4·n each: 14 for `Cg`, 12 for `EnqueuedCg`, of which 2 are the
//! product's and 10 those of `gradient_step` (p and q read; q and r read, r written; p, x and r read, p, x written).

use crate::bench::Bench;
use crate::workload::{WORD, csr_bytes, size};
use sparse_core::op::AllTypes;
use sparse_core::{Csr, Space, SpaceOf, SparseFormat};
use sparse_generate::stencil_5;
use sparse_solvers::{Cg, EnqueuedCg, Identity, Outcome, SolverOptions};
use std::ops::ControlFlow;

/// Too few to converge.
const ITERATIONS: usize = 20;

pub(crate) fn run<B: AllTypes>(bench: &mut Bench<'_, B>) {
    let (backend, side) = (bench.backend, size(500, 50));
    let host: Csr<f32> = stencil_5(side, side).expect("a stencil");
    let bytes = |vectors: usize| ITERATIONS * (csr_bytes(&host) + vectors * WORD * host.nrows());
    let a = host.to_device(backend).expect("a matrix");
    let b = backend.upload(&vec![1.0_f32; a.nrows()]).expect("b");
    let zero = backend.zeros::<f32>(a.nrows()).expect("zeros");
    let mut x = backend.zeros::<f32>(a.nrows()).expect("x");
    let view = SpaceOf::<B>::view::<f32>;
    let view_mut = SpaceOf::<B>::view_mut::<f32>;

    let options =
        SolverOptions { tolerance: 0.0, max_iterations: Some(ITERATIONS), ..SolverOptions::default() };
    let mut solver = Cg::new(backend, &a, Identity, &options).expect("a solver");
    bench.time("cg/csr/f32/stencil_5", bytes(14), || {
        backend.copy(view(&zero), view_mut(&mut x))?;
        let solution = solver.solve(&a, view(&b), view_mut(&mut x), |_| ControlFlow::Continue(()))?;
        assert_eq!(solution.outcome, Outcome::IterationLimit);
        Ok(())
    });

    let mut solver = EnqueuedCg::new(backend, &a, Identity, &options).expect("a solver");
    bench.time("enqueued_cg/csr/f32/stencil_5", bytes(12), || {
        backend.copy(view(&zero), view_mut(&mut x))?;
        let solution = solver.solve(&a, view(&b), view_mut(&mut x), |_| ControlFlow::Continue(()))?;
        assert_eq!(solution.outcome, Outcome::IterationLimit);
        Ok(())
    });
}
