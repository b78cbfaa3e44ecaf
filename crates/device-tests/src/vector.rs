//! Vector operations against the reference.

use crate::{each_device, values};
use sparse_core::op::vector::{axpby, dot, nrm2, scal};
use sparse_core::op::{
    Coefficient, Elementwise, ElementwisePlan, GradientAdvance, GradientTurn, VectorKernel, VectorPlan,
};
use sparse_core::reference::Reference;
use sparse_core::{
    Accumulator, Backend, Csr, Error, PlanOptions, Scalar, Space, SpaceOf, SparseFormat, bf16, c32, c64, f16,
};
use sparse_device::{Device, Library};

/// The bits of complex numbers.
fn bits(values: &[c32]) -> Vec<[u32; 2]> {
    values.iter().map(|value| [value.re.to_bits(), value.im.to_bits()]).collect()
}

/// Asserts that two sums of `n` terms agree up to the rounding of a type with `precision` bits.
fn close(found: c64, expected: c64, precision: u32, n: usize, what: &str) {
    let bound = (n as f64 + 4.0) * 0.5_f64.powi(precision as i32) * (expected.norm() + n as f64 * 64.0);
    assert!((found - expected).norm() <= bound, "{what} of {n}: {found}, not {expected}");
}

fn check<T: Scalar>(backend: &Device) {
    for n in [0, 1, 31, 33, 257, 5000] {
        let (x, y) = (values::<T>(n, 1), values::<T>(n, 2));
        let (alpha, beta) =
            (T::from_c64(c64::new(2.0, 1.0)).to_acc(), T::from_c64(c64::new(-1.0, 0.5)).to_acc());
        let (dx, mut dy) = (backend.upload(&x).unwrap(), backend.upload(&y).unwrap());
        let mut expected = y.clone();
        axpby(&Reference, alpha, &x, beta, &mut expected).unwrap();
        axpby(backend, alpha, Device::view(&dx), beta, Device::view_mut(&mut dy)).unwrap();
        assert_eq!(backend.download(&dy).unwrap(), expected, "axpby of {n} {}", T::DTYPE);

        let (found, wanted) =
            (dot(backend, Device::view(&dx), Device::view(&dy)), dot(&Reference, &x, &expected[..]));
        close(found.unwrap().to_c64(), wanted.unwrap().to_c64(), T::Acc::PRECISION, n, "dot");
        let (found, wanted) = (nrm2(backend, Device::view(&dx)), nrm2(&Reference, &x[..]));
        close(found.unwrap().to_c64(), wanted.unwrap().to_c64(), T::Acc::PRECISION, n, "nrm2");

        scal(backend, T::Acc::ZERO, Device::view_mut(&mut dy)).unwrap();
        assert_eq!(backend.download(&dy).unwrap(), vec![T::ZERO; n], "scal by 0");
    }
}

/// The same numbers on the device: a reduction's result as numerator or denominator, with a factor, missing, or zero.
fn check_scalars<T: Scalar>(backend: &Device) {
    for n in [1, 257, 5000] {
        let (x, y) = (values::<T>(n, 1), values::<T>(n, 2));
        let (dx, mut dy) = (backend.upload(&x).unwrap(), backend.upload(&y).unwrap());
        let mut scalars: [_; 2] = [(); 2].map(|()| backend.zeros::<T::Acc>(1).unwrap());
        let mut plan = VectorPlan::<_, T>::new(backend, n).unwrap();
        let [product, norm] = &mut scalars;
        plan.dot(Device::view(&dx), Device::view(&dy), Device::view_mut(product)).unwrap();
        plan.nrm2(Device::view(&dx), Device::view_mut(norm)).unwrap();
        let (product, norm) = (backend.download(product).unwrap()[0], backend.download(norm).unwrap()[0]);
        let host = (
            dot::<_, T>(backend, Device::view(&dx), Device::view(&dy)),
            nrm2::<_, T>(backend, Device::view(&dx)),
        );
        assert_eq!((product, norm.to_c64()), (host.0.unwrap(), host.1.unwrap().to_c64()), "{n}");

        let [product, norm] = &scalars;
        let element = Device::view::<T::Acc>;
        let number = |re: f64| T::Acc::from_c64(c64::new(re, 0.0));
        let zero = backend.upload(&[T::Acc::ZERO]).unwrap();
        let nan = backend.upload(&vec![T::from_c64(c64::new(f64::NAN, f64::NAN)); n]).unwrap();
        // x·(−2·norm / norm) + y·(product / product), which are exact.
        let alpha = Coefficient::from(number(-2.0)).times(element(norm)).over(element(norm));
        let beta = Coefficient::from(number(1.0)).times(element(product)).over(element(product));
        plan.axpby(alpha, Device::view(&dx), beta, Device::view_mut(&mut dy)).unwrap();
        let expected = |x: T, y: T| T::from_acc(number(-2.0) * x.to_acc() + y.to_acc());
        let found = backend.download(&dy).unwrap();
        let pairs = found.iter().zip(x.iter().zip(&y).map(|(&x, &y)| expected(x, y)));
        for (k, (&found, expected)) in pairs.enumerate() {
            // A complex quotient of equal numbers is not quite 1.
            close(found.to_c64(), expected.to_c64(), T::PRECISION, 1, &format!("element {k} of axpby"));
        }
        // 0/0 is 0, and the vector that it multiplies is not read.
        let nothing = || Coefficient::from(number(3.0)).times(element(&zero)).over(element(&zero));
        let whole = Coefficient::from(number(1.0));
        plan.axpby(nothing(), Device::view(&nan), whole, Device::view_mut(&mut dy)).unwrap();
        assert_eq!(backend.download(&dy).unwrap(), found, "{n}: alpha = 0");
        let mut into = backend.upload(&backend.download(&nan).unwrap()).unwrap();
        plan.axpby(number(1.0).into(), Device::view(&dx), nothing(), Device::view_mut(&mut into)).unwrap();
        assert_eq!(backend.download(&into).unwrap(), x, "{n}: beta = 0");
        plan.scal(nothing(), Device::view_mut(&mut into)).unwrap();
        assert_eq!(backend.download(&into).unwrap(), vec![T::ZERO; n], "{n}: scal by 0");
        let refused = plan.scal(
            Coefficient::from(number(1.0)).over(Device::slice(element(&zero), 0..0)),
            Device::view_mut(&mut into),
        );
        assert!(matches!(refused, Err(Error::Shape { .. })));
    }
}

/// (3 + 4i)·u / (i·u) for u from the smallest numbers to the largest.
pub fn complex_coefficients_neither_overflow_nor_underflow(library: &Library) {
    each_device(library, |backend| {
        let plan = VectorPlan::<_, c64>::new(backend, 1).unwrap();
        for unit in [f64::from_bits(16), f64::MIN_POSITIVE, 1.0, 2.0_f64.powi(1021)] {
            let dividend = backend.upload(&[c64::new(3.0 * unit, 4.0 * unit)]).unwrap();
            let divisor = backend.upload(&[c64::new(0.0, unit)]).unwrap();
            let mut x = backend.upload(&[c64::ONE]).unwrap();
            let quotient = Coefficient::from(c64::ONE).times(Device::view(&dividend));
            plan.scal(quotient.over(Device::view(&divisor)), Device::view_mut(&mut x)).unwrap();
            assert_eq!(backend.download(&x).unwrap(), [c64::new(4.0, -3.0)], "{unit:e}");
        }
    });
}

/// A step of conjugate gradients from p, q, x and r, with K⁻¹ = 2·I or without a preconditioner: `x`, `r`, `p`, and ρ
/// and ‖r‖² after it.
fn gradient_step<B: VectorKernel<T>, T: Scalar>(
    backend: &B,
    from: &[Vec<T>; 4],
    preconditioned: bool,
) -> ([Vec<T>; 3], [T::Acc; 2]) {
    let [mut p, q, mut x, mut r] = from.each_ref().map(|vector| backend.upload(vector).unwrap());
    let [mut numbers, mut next] = [(); 2].map(|()| backend.zeros(2).unwrap());
    let mut plan = VectorPlan::<B, T>::new(backend, from[0].len()).unwrap();
    let view = SpaceOf::<B>::view::<T>;
    let two = T::Acc::from_c64(c64::from(2.0));
    let mut z = backend.zeros(from[0].len()).unwrap();
    plan.dot(view(&r), view(&r), SpaceOf::<B>::slice_mut(SpaceOf::<B>::view_mut(&mut numbers), 0..1))
        .unwrap();
    plan.gradient_advance(GradientAdvance {
        q: view(&q),
        p: view(&p),
        x: SpaceOf::<B>::view_mut(&mut x),
        r: SpaceOf::<B>::view_mut(&mut r),
        numbers: SpaceOf::<B>::view(&numbers),
    })
    .unwrap();
    plan.axpby(two.into(), view(&r), T::Acc::ZERO.into(), SpaceOf::<B>::view_mut(&mut z)).unwrap();
    plan.gradient_turn(GradientTurn {
        r: view(&r),
        z: preconditioned.then_some(view(&z)),
        p: SpaceOf::<B>::view_mut(&mut p),
        numbers: SpaceOf::<B>::view(&numbers),
        next: SpaceOf::<B>::view_mut(&mut next),
    })
    .unwrap();
    let next = backend.download(&next).unwrap();
    ([x, r, p].map(|vector| backend.download(&vector).unwrap()), [next[0], next[1]])
}

/// Fused operations give the results of single ones in double precision, and the same bits again.
fn check_gradients<T: Scalar>(backend: &Device) {
    for (n, preconditioned) in
        [0, 1, 31, 257, 5000, 300_000].into_iter().flat_map(|n| [(n, false), (n, true)])
    {
        let from = [1, 2, 3, 4].map(|seed| values::<T>(n, seed));
        let step = || gradient_step(backend, &from, preconditioned);
        let ((found, numbers), again) = (step(), step());
        assert_eq!((&found, numbers), (&again.0, again.1), "{n}");
        // The reference adds term by term, with rounding errors of its own.
        let precision = T::PRECISION.min(30);
        let double = from.map(|vector| vector.into_iter().map(T::to_c64).collect());
        let (expected, expected_numbers) = gradient_step::<_, c64>(&Reference, &double, preconditioned);
        for (number, expected) in numbers.iter().zip(expected_numbers) {
            close(number.to_c64(), expected, precision, n, "a number after a step");
        }
        for (name, (found, expected)) in ["x", "r", "p"].iter().zip(found.iter().zip(&expected)) {
            for (k, (found, &expected)) in found.iter().zip(expected).enumerate() {
                let what = format!("element {k} of {name}, with {n}, after a step");
                close(found.to_c64(), expected, precision, 1, &what);
            }
        }
    }
}

/// If pᴴ·q or ρ is not a positive normal number, the vectors stay and ρ' is −|ρ|.
fn check_no_step<B: VectorKernel<T>, T: Scalar>(backend: &B) {
    let number = |re: f64| T::from_c64(c64::from(re));
    let tiny = if T::Acc::PRECISION > 30 { 1e-160 } else { 1e-21 };
    for n in [1, 257, 5000] {
        let [p, x, r] = [1, 2, 3].map(|seed| values::<T>(n, seed));
        let negative = p.iter().map(|p| T::from_c64(-p.to_c64())).collect();
        for (q, r) in [
            (negative, r.clone()),
            (vec![T::ZERO; n], r.clone()),
            (vec![number(f64::NAN); n], r.clone()),
            (p.clone(), vec![number(tiny); n]),
            (p.clone(), vec![T::ZERO; n]),
        ] {
            let from = [p.clone(), q, x.clone(), r.clone()];
            let device = backend.upload(&r).unwrap();
            let view = SpaceOf::<B>::view::<T>;
            let rho = dot::<B, T>(backend, view(&device), view(&device)).unwrap();
            for preconditioned in [false, true] {
                let (found, next) = gradient_step(backend, &from, preconditioned);
                assert_eq!(found, [x.clone(), r.clone(), p.clone()], "{n} {}", T::DTYPE);
                assert_eq!(next, [T::Acc::from_real(-rho.re()); 2], "{n} {}", T::DTYPE);
            }
        }
    }
}

/// A step of conjugate gradients that cannot be taken changes nothing and reports it, on the device and on the
/// reference.
pub fn a_step_that_cannot_be_taken_changes_nothing(library: &Library) {
    fn both<T: Scalar>(backend: &Device) {
        check_no_step::<_, T>(&Reference);
        check_no_step::<_, T>(backend);
    }
    each_device(library, |backend| {
        both::<f16>(backend);
        both::<f32>(backend);
        both::<c32>(backend);
        if backend.caps().f64 {
            both::<f64>(backend);
            both::<c64>(backend);
        }
    });
}

/// Sums, scalings, products, norms and steps of conjugate gradients in every type, with scalars of the host and of the
/// device.
pub fn all_types_agree_with_the_reference(library: &Library) {
    fn both<T: Scalar>(backend: &Device) {
        check::<T>(backend);
        check_scalars::<T>(backend);
        check_gradients::<T>(backend);
    }
    each_device(library, |backend| {
        both::<f16>(backend);
        both::<bf16>(backend);
        both::<f32>(backend);
        both::<c32>(backend);
        if backend.caps().f64 {
            both::<f64>(backend);
            both::<c64>(backend);
        }
    });
}

/// Real factors multiply both parts of complex infinities, of vectors and of elements of matrices.
pub fn real_factors_leave_complex_infinities_infinite(library: &Library) {
    let infinity = c32::new(f32::INFINITY, 0.0);
    let x = [c32::new(f32::INFINITY, 1.0), c32::new(2.0, f32::NEG_INFINITY), infinity];
    let a = Csr::<c32>::new(3, 3, vec![0, 1, 2, 3], vec![0, 1, 2], x.to_vec()).unwrap();
    let [one, minus, half] = [1.0, -1.0, 0.5].map(|re| c32::new(re, 0.0));
    let expected = [c32::new(f32::INFINITY, 1.5), c32::new(3.0, f32::NEG_INFINITY), infinity];
    each_device(library, |backend| {
        let (device, mut y) = (backend.upload(&x).unwrap(), backend.upload(&x).unwrap());
        scal::<_, c32>(backend, minus, Device::view_mut(&mut y)).unwrap();
        axpby::<_, c32>(backend, half, Device::view(&device), minus, Device::view_mut(&mut y)).unwrap();
        assert_eq!(backend.download(&y).unwrap(), expected);
        // Real infinities by complex factors, and real numbers by infinite ones.
        for (value, factor) in
            [(infinity, c32::new(2.0, 1.0)), (minus, infinity), (c32::new(1.0, -0.0), minus)]
        {
            let mut device = backend.upload(&[value]).unwrap();
            scal::<_, c32>(backend, factor, Device::view_mut(&mut device)).unwrap();
            assert_eq!(bits(&backend.download(&device).unwrap()), bits(&[value.times(factor)]));
        }

        let on_device = a.to_device(backend).unwrap();
        let none = Csr::<c32>::zeros(3, 3).unwrap().to_device(backend).unwrap();
        let options = PlanOptions::once();
        let mut sum = ElementwisePlan::new(backend, Elementwise::Add, &none, &on_device, &options).unwrap();
        let negated = sum.run(one, &none, minus, &on_device).unwrap();
        let values = backend.download(negated.values()).unwrap();
        assert_eq!(values, x.map(|value| -value));
        let ones = Csr::<c32>::identity(3).unwrap().to_device(backend).unwrap();
        for (a, b) in [(&on_device, &ones), (&ones, &on_device)] {
            let mut product = ElementwisePlan::new(backend, Elementwise::Multiply, a, b, &options).unwrap();
            let c = product.run(one, a, one, b).unwrap();
            assert_eq!(backend.download(c.values()).unwrap(), x);
        }
        // The sign of zero is the host's.
        let signed = [c32::new(2.0, -0.0), c32::new(-2.0, 0.0), c32::new(3.0, 1.0)];
        let signed = a.with_values(signed.to_vec()).unwrap();
        let plan = ElementwisePlan::new(&Reference, Elementwise::Multiply, &signed, &a, &options);
        let expected = plan.unwrap().run(one, &signed, one, &a).unwrap();
        let signed = signed.to_device(backend).unwrap();
        let plan = ElementwisePlan::new(backend, Elementwise::Multiply, &signed, &on_device, &options);
        let c = plan.unwrap().run(one, &signed, one, &on_device).unwrap();
        assert_eq!(bits(&backend.download(c.values()).unwrap()), bits(expected.values()));
    });
}

/// Norms at the ends of the range of f32.
pub fn norms_neither_overflow_nor_underflow(library: &Library) {
    each_device(library, |backend| {
        for (x, expected) in [
            (vec![3e38_f32, 3e38, 3e38, 3e38], f32::INFINITY),
            (vec![3e30, 4e30], 5e30),
            (vec![3e-30, 4e-30, 0.0], 5e-30),
            (vec![0.0, -0.0], 0.0),
            (vec![1.0, f32::INFINITY], f32::INFINITY),
        ] {
            let device = backend.upload(&x).unwrap();
            let norm = nrm2(backend, Device::view(&device)).unwrap();
            assert!(
                norm == expected || (norm / expected - 1.0).abs() < 1e-6,
                "{x:?}: {norm}, not {expected}"
            );
        }
        let device = backend.upload(&[1.0, f32::NAN, 0.0]).unwrap();
        assert!(nrm2(backend, Device::view(&device)).unwrap().is_nan());
    });
}
