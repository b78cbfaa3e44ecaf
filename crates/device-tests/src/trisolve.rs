//! Triangular solves that do not wait for the device.

use crate::{each_device, values};
use sparse_core::op::{Op, Triangular, TrisolveKernel, TrisolvePlan};
use sparse_core::reference::Reference;
use sparse_core::{Algorithm, Backend, Csr, Error, PlanOptions, Scalar, Space, SparseFormat, c64};
use sparse_device::{Device, Library};

/// Enqueued solves give the bits of solves that wait, with every algorithm, and a zero diagonal that they ignore is not
/// reported by later solves.
pub fn enqueued_solves_are_those_that_wait(library: &Library) {
    each_device(library, |backend| {
        let systems = [
            Triangular::lower(),
            Triangular::upper(),
            Triangular::lower().unit_diagonal(),
            Triangular::lower().with_op(Op::ConjugateTranspose),
        ];
        for system in systems {
            compare::<f32>(backend, system);
            compare::<f64>(backend, system);
            compare::<c64>(backend, system);
        }
        passes_over_zeros(backend);
    });
}

/// A matrix with some levels of many rows, and the algorithms of its solves.
fn matrix<T: Scalar>(backend: &Device) -> (Csr<T, Device>, &'static [Algorithm]) {
    let a = sparse_generate::stencil_5::<T>(60, 50).unwrap().to_device(backend).unwrap();
    (a, <Device as TrisolveKernel<Csr<T, Device>>>::trisolve_algorithms(backend))
}

fn compare<T: Scalar>(backend: &Device, system: Triangular) {
    let (a, algorithms) = matrix::<T>(backend);
    let b = backend.upload(&values::<T>(a.nrows(), 1)).unwrap();
    for algorithm in algorithms {
        let options = PlanOptions::forced(algorithm.name);
        let mut plan = TrisolvePlan::new(backend, &a, system, &options).unwrap();
        for _ in 0..2 {
            let [mut waited, mut enqueued] = [(); 2].map(|()| backend.zeros::<T>(a.nrows()).unwrap());
            plan.enqueue(&a, Device::view(&b), Device::view_mut(&mut enqueued)).unwrap();
            plan.run(&a, Device::view(&b), Device::view_mut(&mut waited)).unwrap();
            let [waited, enqueued] = [waited, enqueued].map(|x| backend.download(&x).unwrap());
            assert_eq!(enqueued, waited, "{} {} {system:?}", algorithm.name, T::DTYPE);
        }
    }
}

/// (3 + 4i)·u / (i·u) for u from the smallest numbers to the largest, as a system with a diagonal matrix.
pub fn complex_quotients_neither_overflow_nor_underflow(library: &Library) {
    each_device(library, |backend| {
        for unit in [f64::from_bits(16), f64::MIN_POSITIVE, 1.0, 2.0_f64.powi(1021)] {
            let a = Csr::<c64>::identity(3).unwrap().with_values(vec![c64::new(0.0, unit); 3]).unwrap();
            let a = a.to_device(backend).unwrap();
            let b = backend.upload(&[c64::new(3.0 * unit, 4.0 * unit); 3]).unwrap();
            for algorithm in <Device as TrisolveKernel<Csr<c64, Device>>>::trisolve_algorithms(backend) {
                let options = PlanOptions::forced(algorithm.name);
                let mut plan = TrisolvePlan::new(backend, &a, Triangular::lower(), &options).unwrap();
                let mut x = backend.zeros::<c64>(3).unwrap();
                plan.run(&a, Device::view(&b), Device::view_mut(&mut x)).unwrap();
                let found = backend.download(&x).unwrap();
                assert_eq!(found, [c64::new(4.0, -3.0); 3], "{} {unit:e}", algorithm.name);
            }
        }
    });
}

/// Solves with more rows than a device works on at once, of which each needs the one before it, or some of the rows
/// before it: a grid, a chain, a chain with another entry in every third row, and rows that need others far away.
pub fn solves_of_chains_are_those_of_the_reference(library: &Library) {
    let n: usize = 150_000;
    let entries = |of: fn(usize) -> Option<usize>| {
        (0..n).flat_map(move |row| {
            let below = [row.checked_sub(1), of(row), Some(row)];
            below.into_iter().flatten().map(move |col| (row, col, if row == col { 2.0 } else { 0.5 }))
        })
    };
    let chain = Csr::<f64>::from_triplets(n, n, entries(|_| None)).unwrap();
    let jumps =
        Csr::<f64>::from_triplets(n, n, entries(|row| (row % 3 == 0 && row > 0).then_some(row / 2))).unwrap();
    let of_far =
        |row: usize| [row.checked_sub(5000), row.checked_sub(31_000), Some(row)].into_iter().flatten();
    let of_row = |row| of_far(row).map(move |col| (row, col, if row == col { 2.0 } else { 0.5 }));
    let far = Csr::<f64>::from_triplets(n, n, (0..n).flat_map(of_row)).unwrap();
    for a in [sparse_generate::stencil_5::<f64>(300, 500).unwrap(), chain, jumps, far] {
        for system in [Triangular::lower(), Triangular::upper(), Triangular::lower().with_op(Op::Transpose)] {
            let b = values::<f64>(n, 1);
            let mut expected = vec![0.0; n];
            let mut plan = TrisolvePlan::new(&Reference, &a, system, &PlanOptions::once()).unwrap();
            plan.run(&a, &b, &mut expected).unwrap();
            each_device(library, |backend| {
                let algorithms = <Device as TrisolveKernel<Csr<f64, Device>>>::trisolve_algorithms(backend);
                if algorithms.iter().all(|algorithm| algorithm.name != "waiting") {
                    return;
                }
                let a = a.to_device(backend).unwrap();
                let (b, mut x) = (backend.upload(&b).unwrap(), backend.zeros::<f64>(n).unwrap());
                let mut plan = TrisolvePlan::new(backend, &a, system, &PlanOptions::default()).unwrap();
                plan.run(&a, Device::view(&b), Device::view_mut(&mut x)).unwrap();
                assert_eq!(backend.download(&x).unwrap(), expected, "{system:?}");
            });
        }
    }
}

/// Solves level by level of chains, whose levels are found together where the device finds levels.
pub fn solves_of_chains_by_levels_are_those_of_the_reference(library: &Library) {
    let n: usize = 1000;
    let chain = |links: fn(usize) -> Option<usize>| {
        let of_row = move |row: usize| [links(row), row.checked_sub(1), Some(row)].into_iter().flatten();
        let value = |row, col| if row == col { 2.0 } else { 0.5 };
        let entries = (0..n).flat_map(|row| of_row(row).map(move |col| (row, col, value(row, col))));
        Csr::<f64>::from_triplets(n, n, entries).unwrap()
    };
    let lines = |row: usize| row.checked_sub(70);
    let jumps = |row: usize| (row % 5 == 4).then_some(row / 3);
    for a in [chain(|_| None), chain(lines), chain(jumps)] {
        for system in [Triangular::lower(), Triangular::lower().with_op(Op::Transpose)] {
            let b = values::<f64>(n, 1);
            let mut expected = vec![0.0; n];
            let mut plan = TrisolvePlan::new(&Reference, &a, system, &PlanOptions::once()).unwrap();
            plan.run(&a, &b, &mut expected).unwrap();
            each_device(library, |backend| {
                let a = a.to_device(backend).unwrap();
                let (b, mut x) = (backend.upload(&b).unwrap(), backend.zeros::<f64>(n).unwrap());
                for algorithm in <Device as TrisolveKernel<Csr<f64, Device>>>::trisolve_algorithms(backend) {
                    let options = PlanOptions::forced(algorithm.name);
                    let mut plan = TrisolvePlan::new(backend, &a, system, &options).unwrap();
                    plan.run(&a, Device::view(&b), Device::view_mut(&mut x)).unwrap();
                    assert_eq!(backend.download(&x).unwrap(), expected, "{} {system:?}", algorithm.name);
                }
            });
        }
    }
}

fn passes_over_zeros(backend: &Device) {
    let (a, algorithms) = matrix::<f64>(backend);
    let singular = a.with_values(backend.zeros(a.nnz()).unwrap()).unwrap();
    let b = backend.upload(&vec![1.0; a.nrows()]).unwrap();
    let mut x = backend.zeros::<f64>(a.nrows()).unwrap();
    for algorithm in algorithms {
        let options = PlanOptions::forced(algorithm.name);
        let mut plan = TrisolvePlan::new(backend, &a, Triangular::lower(), &options).unwrap();
        plan.enqueue(&singular, Device::view(&b), Device::view_mut(&mut x)).unwrap();
        assert!(backend.download(&x).unwrap().iter().any(|x| !x.is_finite()), "{}", algorithm.name);
        plan.run(&a, Device::view(&b), Device::view_mut(&mut x)).unwrap();
        let error = plan.run(&singular, Device::view(&b), Device::view_mut(&mut x)).unwrap_err();
        assert!(matches!(error, Error::Singular { .. }), "{}: {error}", algorithm.name);
        plan.run(&a, Device::view(&b), Device::view_mut(&mut x)).unwrap();
    }
}
