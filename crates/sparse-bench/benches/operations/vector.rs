//! Operations on vectors of n elements whose scalars stay on the device. Bytes: 12·n for `axpby` (x and y read, y
//! written), 8·n for `dot` and `scal`, 4·n for `nrm2`.

use crate::bench::Bench;
use crate::workload::{WORD, size};
use sparse_core::op::AllTypes;
use sparse_core::op::vector::VectorPlan;
use sparse_core::{Space, SpaceOf};

pub(crate) fn run<B: AllTypes>(bench: &mut Bench<'_, B>) {
    let (backend, n) = (bench.backend, size(1 << 22, 1 << 10));
    let view = SpaceOf::<B>::view::<f32>;
    let view_mut = SpaceOf::<B>::view_mut::<f32>;
    let x = backend.upload(&vec![1.0_f32; n]).expect("x");
    let mut y = backend.upload(&vec![1.0_f32; n]).expect("y");
    let mut result = backend.zeros::<f32>(1).expect("the result");
    let mut plan = VectorPlan::<B, f32>::new(backend, n).expect("a plan");
    bench.time(&format!("vector/axpby/f32/{n}"), 3 * WORD * n, || {
        plan.axpby(1.0.into(), view(&x), 0.5.into(), view_mut(&mut y))
    });
    bench.time(&format!("vector/scal/f32/{n}"), 2 * WORD * n, || plan.scal((-1.0).into(), view_mut(&mut y)));
    bench.time(&format!("vector/dot/f32/{n}"), 2 * WORD * n, || {
        plan.dot(view(&x), view(&y), view_mut(&mut result))
    });
    bench.time(&format!("vector/nrm2/f32/{n}"), WORD * n, || plan.nrm2(view(&x), view_mut(&mut result)));
}
