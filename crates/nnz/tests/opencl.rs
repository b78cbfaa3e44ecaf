//! The facade and the solvers on every OpenCL device that is here, by its own queue and by SYCL's; without one the tests pass and have nothing to show.
#![cfg(feature = "opencl")]

use nnz::prelude::*;
use nnz::solvers::{BiCgStab, Cg, Jacobi, Options, inverse_diagonal};
use nnz::{BackendKind, generate};
use std::ops::ControlFlow;

/// The largest error of a solution by each of two methods; the system's solution is all ones.
struct Solve;

impl WithBackend for Solve {
    type Out = Result<[f64; 2]>;

    fn call<B: AllTypes>(self, backend: &B) -> Self::Out {
        let host: Csr<f64> = generate::stencil_5(20, 15)?;
        let a = host.to_device(backend)?;
        let ones = backend.upload(&vec![1.0; a.cols()])?;
        let mut b = backend.zeros(a.rows())?;
        let mut plan = SpmvPlan::new(backend, &a, Op::None, &PlanOptions::once())?;
        plan.run(1.0, &a, B::Space::view(&ones), 0.0, B::Space::view_mut(&mut b))?;
        let options = Options::default();
        let go_on = |_| ControlFlow::Continue(());
        let mut x = [backend.zeros(a.cols())?, backend.zeros(a.cols())?];
        let [first, second] = &mut x;
        let (b, first, second) = (B::Space::view(&b), B::Space::view_mut(first), B::Space::view_mut(second));
        let jacobi = Jacobi::new(backend, inverse_diagonal(&host)?)?;
        let cg = Cg::new(backend, &a, jacobi, &options)?.solve(&a, b, first, go_on)?;
        let jacobi = Jacobi::new(backend, inverse_diagonal(&host)?)?;
        let bicgstab = BiCgStab::new(backend, &a, jacobi, &options)?.solve(&a, b, second, go_on)?;
        assert!(cg.converged() && bicgstab.converged(), "{cg:?} {bicgstab:?}");
        let error = |x: Vec<f64>| x.iter().map(|x| (x - 1.0).abs()).fold(0.0, f64::max);
        Ok([error(backend.download(&x[0])?), error(backend.download(&x[1])?)])
    }
}

#[test]
fn solvers_converge_on_every_device() {
    for kind in [BackendKind::OpenCl, BackendKind::Sycl] {
        for (index, caps) in kind.probe().devices.into_iter().enumerate().filter(|(_, caps)| caps.f64) {
            let device: Device = format!("{kind}:{index}").parse().unwrap();
            assert_eq!(device.caps(), &caps);
            let errors = device.with(Solve).unwrap();
            assert!(errors.iter().all(|&error| error < 1e-6), "{}: {errors:?}", caps.device);
        }
    }
}
