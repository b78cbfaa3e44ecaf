//! Vector operations against the reference.

use crate::{each_device, values};
use sparse_core::op::vector::{axpby, dot, nrm2, scal};
use sparse_core::reference::Reference;
use sparse_core::{Backend, Scalar, Space, bf16, c32, c64, f16};
use sparse_device::{Device, Driver};

/// Whether two sums of `n` terms agree but for the rounding of a type of so many bits.
fn close(found: c64, expected: c64, precision: u32, n: usize, what: &str) {
    let bound = (n as f64 + 4.0) * 0.5_f64.powi(precision as i32) * (expected.norm() + n as f64 * 64.0);
    assert!((found - expected).norm() <= bound, "{what} of {n}: {found}, not {expected}");
}

fn check<D: Driver, T: Scalar>(backend: &Device<D>) {
    for n in [0, 1, 31, 33, 257, 5000] {
        let (x, y) = (values::<T>(n, 1), values::<T>(n, 2));
        let (alpha, beta) =
            (T::from_c64(c64::new(2.0, 1.0)).to_acc(), T::from_c64(c64::new(-1.0, 0.5)).to_acc());
        let (dx, mut dy) = (backend.upload(&x).unwrap(), backend.upload(&y).unwrap());
        let mut expected = y.clone();
        axpby(&Reference, alpha, &x, beta, &mut expected).unwrap();
        axpby(backend, alpha, Device::<D>::view(&dx), beta, Device::<D>::view_mut(&mut dy)).unwrap();
        assert_eq!(backend.download(&dy).unwrap(), expected, "axpby of {n} {}", T::DTYPE);

        let (found, wanted) = (
            dot(backend, Device::<D>::view(&dx), Device::<D>::view(&dy)),
            dot(&Reference, &x, &expected[..]),
        );
        close(found.unwrap().to_c64(), wanted.unwrap().to_c64(), T::Acc::PRECISION, n, "dot");
        let (found, wanted) = (nrm2(backend, Device::<D>::view(&dx)), nrm2(&Reference, &x[..]));
        close(found.unwrap().to_c64(), wanted.unwrap().to_c64(), T::Acc::PRECISION, n, "nrm2");

        scal(backend, T::Acc::ZERO, Device::<D>::view_mut(&mut dy)).unwrap();
        assert_eq!(backend.download(&dy).unwrap(), vec![T::ZERO; n], "scal by 0");
    }
}

/// Sums, scalings, products and norms in every type.
pub fn all_types_agree_with_the_reference<D: Driver>() {
    each_device::<D>(|backend| {
        check::<D, f16>(backend);
        check::<D, bf16>(backend);
        check::<D, f32>(backend);
        check::<D, c32>(backend);
        if backend.caps().f64 {
            check::<D, f64>(backend);
            check::<D, c64>(backend);
        }
    });
}

/// Norms at the ends of the range of f32.
pub fn norms_neither_overflow_nor_underflow<D: Driver>() {
    each_device::<D>(|backend| {
        for (x, expected) in [
            (vec![3e38_f32, 3e38, 3e38, 3e38], f32::INFINITY),
            (vec![3e30, 4e30], 5e30),
            (vec![3e-30, 4e-30, 0.0], 5e-30),
            (vec![0.0, -0.0], 0.0),
            (vec![1.0, f32::INFINITY], f32::INFINITY),
        ] {
            let device = backend.upload(&x).unwrap();
            let norm = nrm2(backend, Device::<D>::view(&device)).unwrap();
            assert!(
                norm == expected || (norm / expected - 1.0).abs() < 1e-6,
                "{x:?}: {norm}, not {expected}"
            );
        }
        let device = backend.upload(&[1.0, f32::NAN, 0.0]).unwrap();
        assert!(nrm2(backend, Device::<D>::view(&device)).unwrap().is_nan());
    });
}
