//! A caller that is generic in the backend, as the command is.

use crate::common::{check, right_hand_side};
use sparse_core::backend::SpaceOf;
use sparse_core::op::FullBackend;
use sparse_core::reference::Reference;
use sparse_core::{Accumulator, Csr, Result, Space, SparseFormat};
use sparse_generate::stencil_5;
use sparse_solvers::{BiCgStab, Cg, Jacobi, Solution, SolverOptions};
use std::ops::ControlFlow;

/// Solves by two methods; the second starts from the result of the first, on the device.
fn solve_twice<B, T>(
    backend: &B,
    a: &Csr<T>,
    b: &[T],
    options: &SolverOptions,
) -> Result<([Solution; 2], Vec<T>)>
where
    B: FullBackend<T, i32, i32>,
    T: Accumulator,
{
    let jacobi = Some(Jacobi::new(backend, a)?);
    let a = a.to_device(backend)?;
    let (b, mut x) = (backend.upload(b)?, backend.zeros::<T>(b.len())?);
    let go_on = |_| ControlFlow::Continue(());
    let mut cg = Cg::new(backend, &a, jacobi, options)?;
    let first = cg.solve(&a, SpaceOf::<B>::view(&b), SpaceOf::<B>::view_mut(&mut x), go_on)?;
    let mut bicgstab = BiCgStab::new(backend, &a, None::<Jacobi<B, T>>, options)?;
    let second = bicgstab.solve(&a, SpaceOf::<B>::view(&b), SpaceOf::<B>::view_mut(&mut x), go_on)?;
    Ok(([first, second], backend.download(&x)?))
}

#[test]
fn traits_are_enough() {
    let a = stencil_5::<f64>(8, 8).unwrap();
    let b = right_hand_side(a.nrows());
    let ([first, second], x) = solve_twice(&Reference, &a, &b, &SolverOptions::default()).unwrap();
    assert!(first.converged() && first.iterations > 0, "{first}");
    assert!(second.converged() && second.iterations == 0, "{second}");
    check(&a, &b, &x, &second, SolverOptions::default().tolerance);
}
