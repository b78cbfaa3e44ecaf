//! The facade and the solvers on every OpenCL device present, by its own queue and by SYCL's; without one the tests
//! pass without a check.
#![cfg(feature = "opencl")]

use nnz::prelude::*;
use nnz::solvers::{BiCgStab, Cg, EnqueuedCg, Identity, Jacobi, Options, inverse_diagonal};
use nnz::{BackendKind, generate};
use std::ops::ControlFlow;

/// The largest error of a solution by each of three methods; the system's solution is all ones.
struct Solve;

impl WithBackend for Solve {
    type Out = Result<[f64; 3]>;

    fn call<B: AllTypes>(self, backend: &B) -> Self::Out {
        let host: Csr<f64> = generate::stencil_5(20, 15)?;
        let a = host.to_device(backend)?;
        let ones = backend.upload(&vec![1.0; a.cols()])?;
        let mut b = backend.zeros(a.rows())?;
        let mut plan = SpmvPlan::new(backend, &a, Op::None, &PlanOptions::once())?;
        plan.run(1.0, &a, B::Space::view(&ones), 0.0, B::Space::view_mut(&mut b))?;
        let options = Options::default();
        let go_on = |_| ControlFlow::Continue(());
        let mut x = [backend.zeros(a.cols())?, backend.zeros(a.cols())?, backend.zeros(a.cols())?];
        let (b, [first, second, third]) = (B::Space::view(&b), x.each_mut().map(B::Space::view_mut));
        let jacobi = Jacobi::new(backend, inverse_diagonal(&host)?)?;
        let cg = Cg::new(backend, &a, jacobi, &options)?.solve(&a, b, first, go_on)?;
        let jacobi = Jacobi::new(backend, inverse_diagonal(&host)?)?;
        let bicgstab = BiCgStab::new(backend, &a, jacobi, &options)?.solve(&a, b, second, go_on)?;
        let enqueued = EnqueuedCg::new(backend, &a, Identity, &options)?.solve(&a, b, third, go_on)?;
        for solution in [cg, bicgstab, enqueued] {
            assert!(solution.converged(), "{solution}");
        }
        let error = |x: &Vec<f64>| x.iter().map(|x| (x - 1.0).abs()).fold(0.0, f64::max);
        let [first, second, third] = &x;
        Ok([
            error(&backend.download(first)?),
            error(&backend.download(second)?),
            error(&backend.download(third)?),
        ])
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
