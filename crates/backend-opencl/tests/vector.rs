//! Vector operations against the reference, on every OpenCL device that is here; without one the tests pass with a note.

mod common;

use backend_opencl::OpenCl;
use common::{close, each_device, values};
use sparse_core::op::vector::{axpby, dot, nrm2, scal};
use sparse_core::reference::Reference;
use sparse_core::{Backend, Scalar, Space, bf16, c32, c64, f16};

fn check<T: Scalar>(backend: &OpenCl) {
    for n in [0, 1, 31, 33, 257, 5000] {
        let (x, y) = (values::<T>(n, 1), values::<T>(n, 2));
        let (alpha, beta) =
            (T::from_c64(c64::new(2.0, 1.0)).to_acc(), T::from_c64(c64::new(-1.0, 0.5)).to_acc());
        let (dx, mut dy) = (backend.upload(&x).unwrap(), backend.upload(&y).unwrap());
        let mut expected = y.clone();
        axpby(&Reference, alpha, &x, beta, &mut expected).unwrap();
        axpby(backend, alpha, OpenCl::view(&dx), beta, OpenCl::view_mut(&mut dy)).unwrap();
        assert_eq!(backend.download(&dy).unwrap(), expected, "axpby of {n} {}", T::DTYPE);

        let (found, wanted) =
            (dot(backend, OpenCl::view(&dx), OpenCl::view(&dy)), dot(&Reference, &x, &expected[..]));
        close(found.unwrap().to_c64(), wanted.unwrap().to_c64(), T::Acc::PRECISION, n, "dot");
        let (found, wanted) = (nrm2(backend, OpenCl::view(&dx)), nrm2(&Reference, &x[..]));
        close(found.unwrap().to_c64(), wanted.unwrap().to_c64(), T::Acc::PRECISION, n, "nrm2");

        scal(backend, T::Acc::ZERO, OpenCl::view_mut(&mut dy)).unwrap();
        assert_eq!(backend.download(&dy).unwrap(), vec![T::ZERO; n], "scal by 0");
    }
}

#[test]
fn all_types_agree_with_the_reference() {
    each_device(|backend| {
        check::<f16>(backend);
        check::<bf16>(backend);
        check::<f32>(backend);
        check::<c32>(backend);
        if backend.caps().f64 {
            check::<f64>(backend);
            check::<c64>(backend);
        }
    });
}

#[test]
fn norms_neither_overflow_nor_underflow() {
    each_device(|backend| {
        for (x, expected) in [
            (vec![3e38_f32, 3e38, 3e38, 3e38], f32::INFINITY),
            (vec![3e30, 4e30], 5e30),
            (vec![3e-30, 4e-30, 0.0], 5e-30),
            (vec![0.0, -0.0], 0.0),
            (vec![1.0, f32::INFINITY], f32::INFINITY),
        ] {
            let device = backend.upload(&x).unwrap();
            let norm = nrm2(backend, OpenCl::view(&device)).unwrap();
            assert!(
                norm == expected || (norm / expected - 1.0).abs() < 1e-6,
                "{x:?}: {norm}, not {expected}"
            );
        }
        let device = backend.upload(&[1.0, f32::NAN, 0.0]).unwrap();
        assert!(nrm2(backend, OpenCl::view(&device)).unwrap().is_nan());
    });
}
