//! Vector operations against the reference; the same bits with any number of threads.

use crate::samples::{Random, backends};
use backend_cpu::Cpu;
use sparse_core::op::vector::{axpby, dot, nrm2, scal};
use sparse_core::op::{RealOf, VectorKernel};
use sparse_core::reference::Reference;
use sparse_core::{Backend, DenseViewMut, Error, Host, Order, Scalar, bf16, c32, c64, f16};

const LENGTHS: [usize; 9] = [0, 1, 7, 8, 9, 8191, 8192, 8193, 50_000];

fn vector<T: Scalar>(len: usize, seed: u64) -> Vec<T> {
    let mut random = Random(seed);
    (0..len).map(|_| random.value()).collect()
}

fn bits<T: Scalar>(values: &[T]) -> &[u8] {
    bytemuck::cast_slice(values)
}

fn acc<T: Scalar>(re: f64, im: f64) -> T::Acc {
    T::Acc::from_c64(c64::new(re, im))
}

/// Element by element there is one right answer.
fn check_updates<T: Scalar>() {
    let factors = [acc::<T>(0.0, 0.0), acc::<T>(1.0, 0.0), acc::<T>(-0.5, 2.0)];
    for len in LENGTHS {
        let (x, y) = (vector::<T>(len, 1), vector::<T>(len, 2));
        let nan = vec![T::from_acc(acc::<T>(f64::NAN, f64::NAN)); len];
        for (alpha, beta) in factors.into_iter().flat_map(|alpha| factors.map(|beta| (alpha, beta))) {
            let x = if alpha.is_zero() { &nan } else { &x };
            let y = if beta.is_zero() { &nan } else { &y };
            let (mut expected, mut scaled) = (y.clone(), x.clone());
            axpby(&Reference, alpha, x, beta, &mut expected).unwrap();
            scal(&Reference, alpha, &mut scaled).unwrap();
            for cpu in backends() {
                let (mut found, mut found_scaled) = (y.clone(), x.clone());
                axpby(&cpu, alpha, x, beta, &mut found).unwrap();
                scal(&cpu, alpha, &mut found_scaled).unwrap();
                assert!(bits(&found) == bits(&expected), "axpby {alpha} {beta}, {len} elements, {cpu:?}");
                assert!(bits(&found_scaled) == bits(&scaled), "scal {alpha}, {len} elements, {cpu:?}");
            }
        }
    }
}

#[test]
fn updates_are_those_of_the_reference() {
    check_updates::<f32>();
    check_updates::<f64>();
    check_updates::<c32>();
    check_updates::<c64>();
    check_updates::<f16>();
    check_updates::<bf16>();
}

/// The values are multiples of 1/16 below 2^11, so that sums are exact in f64.
#[test]
fn dot_conjugates_its_first_operand_and_is_exact_where_it_can_be() {
    for len in LENGTHS {
        let (x, y) = (vector::<c64>(len, 1), vector::<c64>(len, 2));
        let expected = dot(&Reference, &x, &y).unwrap();
        for cpu in backends() {
            assert_eq!(dot(&cpu, &x, &y).unwrap(), expected, "{len} elements, {cpu:?}");
        }
    }
}

fn check_threads<T: Scalar>() {
    for len in LENGTHS {
        let third = |value: T| T::from_acc(value.to_acc() / acc::<T>(3.0, 0.0));
        let x: Vec<T> = vector(len, 1).into_iter().map(third).collect();
        let y: Vec<T> = vector(len, 2).into_iter().map(third).collect();
        let [one, more] = backends();
        assert!(bits(&[dot(&one, &x, &y).unwrap()]) == bits(&[dot(&more, &x, &y).unwrap()]));
        let norm = nrm2(&one, &x).unwrap();
        assert!(bits(&[norm]) == bits(&[nrm2(&more, &x).unwrap()]));
        let expected = nrm2(&Reference, &x).unwrap().to_c64().re;
        assert!((norm.to_c64().re - expected).abs() <= 1e-6 * expected, "{norm} where {expected} is right");
    }
}

#[test]
fn sums_do_not_depend_on_the_number_of_threads() {
    check_threads::<f32>();
    check_threads::<f64>();
    check_threads::<c32>();
    check_threads::<c64>();
    check_threads::<f16>();
}

#[test]
fn nrm2_neither_overflows_nor_underflows() {
    fn norm<T: Scalar>(values: &[T]) -> RealOf<T> {
        let [cpu, _] = backends();
        nrm2(&cpu, values).unwrap()
    }
    assert_eq!(norm(&[3e300, 4e300]), 5e300);
    assert_eq!(norm(&[3e-320, 4e-320]), 5e-320);
    assert_eq!(norm(&[3e38_f32, 1e38]), (1e77_f64).sqrt() as f32);
    assert_eq!(norm::<f64>(&[]), 0.0);
    assert_eq!(norm(&[-0.0, 0.0]), 0.0);
    assert_eq!(norm(&[1.0, f64::NEG_INFINITY]), f64::INFINITY);
    assert!(norm(&[1.0, f64::NAN]).is_nan());
    assert!(norm(&[0.0, f64::NAN]).is_nan());
}

#[test]
fn scaling_a_dense_matrix_leaves_its_padding() {
    for (lines, line) in [(0, 3), (3, 0), (5, 7), (2, 20_000), (20_000, 2)] {
        for beta in [0.0, -2.0] {
            let before = vec![if beta == 0.0 { f64::NAN } else { 1.5 }; lines * (line + 2)];
            for cpu in backends() {
                let mut data = before.clone();
                let c =
                    DenseViewMut::<f64>::new(&mut data[..], lines, line, line + 2, Order::RowMajor).unwrap();
                // SAFETY: the view lives in the host's memory.
                unsafe { cpu.scale_dense(beta, c).unwrap() };
                for (row, before) in data.chunks(line + 2).zip(before.chunks(line + 2)) {
                    assert!(row[..line].iter().all(|&value| value == if beta == 0.0 { 0.0 } else { -3.0 }));
                    assert_eq!(bits(&row[line..]), bits(&before[line..]));
                }
            }
        }
    }
}

#[test]
fn copies_of_unequal_lengths_are_errors_that_write_nothing() {
    fn check<B: Backend<Space = Host>>(backend: &B) {
        for len in [2, 4] {
            let mut to = vec![7; len];
            let copied = backend.copy(&[1, 2, 3], &mut to);
            assert!(matches!(copied, Err(Error::Shape { op: "copy", .. })), "{len}: {copied:?}");
            let read = backend.download_into(&[1, 2, 3], &mut to);
            assert!(matches!(read, Err(Error::Shape { op: "download", .. })), "{len}: {read:?}");
            assert_eq!(to, vec![7; len]);
        }
    }
    check(&Cpu::new().unwrap());
    check(&Reference);
}
