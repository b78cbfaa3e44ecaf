//! The facade and the solvers on every device present: OpenCL's, by its own queue and by SYCL's, and CUDA's; without
//! one the tests pass without a check.
#![cfg(feature = "opencl")]

use nnz::foreign::{ForeignArray, MemoryKind};
use nnz::generate::families::{self, Half};
use nnz::op::{Op, Triangular};
use nnz::prelude::*;
use nnz::solvers::{BiCgStab, Cg, EnqueuedCg, Identity, Jacobi, SolverOptions};
use nnz::{
    BackendKind, DenseStack, IndexType, MatrixSet, MatrixSetOptions, Method, Norm, PreconditionerKind,
    SolveOptions, Tuner, generate,
};
use std::ops::ControlFlow;

/// Every device but the host.
fn devices() -> impl Iterator<Item = Device> {
    let kinds = [BackendKind::OpenCl, BackendKind::Sycl, BackendKind::Cuda];
    let names = kinds.into_iter().flat_map(|kind| {
        let count = kind.probe().devices.len();
        (0..count).map(move |index| format!("{kind}:{index}"))
    });
    names.map(|name| name.parse().unwrap())
}

/// The largest error of a solution by each of four methods; the system's solution is all ones.
struct Solve;

impl WithBackend for Solve {
    type Out = Result<Vec<f64>>;

    fn call<B: AllTypes>(self, backend: &B) -> Self::Out {
        let host: Csr<f64> = generate::stencil_5(20, 15)?;
        let a = host.to_device(backend)?;
        let ones = backend.upload(&vec![1.0; a.ncols()])?;
        let mut b = backend.zeros(a.nrows())?;
        let mut plan = SpmvPlan::new(backend, &a, Op::None, &PlanOptions::once())?;
        plan.run(1.0, &a, B::Space::view(&ones), 0.0, B::Space::view_mut(&mut b))?;
        let options = SolverOptions::default();
        let go_on = |_| ControlFlow::Continue(());
        let zeros = || backend.zeros(a.ncols());
        let mut x = [zeros()?, zeros()?, zeros()?, zeros()?];
        let (b, [first, second, third, fourth]) = (B::Space::view(&b), x.each_mut().map(B::Space::view_mut));
        let jacobi = Jacobi::new(backend, &host)?;
        let cg = Cg::new(backend, &a, jacobi, &options)?.solve(&a, b, first, go_on)?;
        let jacobi = Jacobi::new(backend, &host)?;
        let bicgstab = BiCgStab::new(backend, &a, jacobi, &options)?.solve(&a, b, second, go_on)?;
        let enqueued = EnqueuedCg::new(backend, &a, Identity, &options)?.solve(&a, b, third, go_on)?;
        let jacobi = Jacobi::new(backend, &host)?;
        let jacobi = EnqueuedCg::new(backend, &a, jacobi, &options)?.solve(&a, b, fourth, go_on)?;
        for solution in [cg, bicgstab, enqueued, jacobi] {
            assert!(solution.converged(), "{solution}");
        }
        let error = |x: &Vec<f64>| x.iter().map(|x| (x - 1.0).abs()).fold(0.0, f64::max);
        x.iter().map(|x| Ok(error(&backend.download(x)?))).collect()
    }
}

#[test]
fn solvers_converge_on_every_device() {
    for device in devices().filter(|device| device.caps().f64) {
        let errors = device.with(Solve).unwrap();
        assert!(errors.iter().all(|&error| error < 1e-6), "{device}: {errors:?}");
    }
}

#[test]
fn matrices_of_devices_with_one_name_work_together() {
    for kind in [BackendKind::OpenCl, BackendKind::Sycl, BackendKind::Cuda] {
        if kind.probe().devices.is_empty() {
            continue;
        }
        let default: Device = kind.name().parse().unwrap();
        let again: Device = default.to_string().parse().unwrap();
        let a = Matrix::from_typed(&default, Csr::<f32>::identity(3).unwrap()).unwrap();
        let x = Vector::from_slice(&again, &[1.0_f32, 2.0, 3.0]).unwrap();
        assert_eq!((&a * &x).unwrap().to_vec::<f32>().unwrap(), [1.0, 2.0, 3.0], "{kind}");
    }
}

#[test]
fn run_time_types_compute_on_every_device_what_they_do_on_the_host() {
    let host = Device::host().unwrap();
    let a: Csr<f32> = generate::stencil_5(20, 15).unwrap();
    let a = Matrix::from_typed(&host, a).unwrap();
    let ones = Vector::from_slice(&host, &[1.0_f32; 300]).unwrap();
    let expected = (&a * &ones).unwrap().to_vec::<f32>().unwrap();
    let squared = (&(&a * &a).unwrap() * &ones).unwrap().to_vec::<f32>().unwrap();
    for device in devices() {
        let x = ones.to_device(&device).unwrap();
        let error = a.matvec(&x).unwrap_err().to_string();
        let both = format!("spmv: the matrix is f32 on cpu, x is f32 on {device}");
        assert_eq!(error, format!("{both}; x on cpu would fit"));
        let there = a.to_device(&device).unwrap();
        for format in [Format::Csr, Format::Csc, Format::Coo, Format::Ell, Format::Hyb, Format::Sell] {
            let there = there.to_format(format).unwrap();
            assert_eq!((&there * &x).unwrap().to_vec::<f32>().unwrap(), expected, "{there:?}");
        }
        let transpose = there.transpose().unwrap().to_device(&host).unwrap();
        assert_eq!((&transpose * &ones).unwrap().to_vec::<f32>().unwrap(), expected);
        let mut copy = x.clone();
        copy.scale(2.0).unwrap();
        assert_eq!((x.to_vec::<f32>().unwrap()[0], copy.to_vec::<f32>().unwrap()[0]), (1.0, 2.0));
        let square = (&there * &there).unwrap().to_device(&host).unwrap();
        assert_eq!((&square * &ones).unwrap().to_vec::<f32>().unwrap(), squared);
        let b = there.matvec(&x).unwrap();
        let (solution, end) = there.solve(&b, &SolveOptions::new(Method::EnqueuedCg)).unwrap();
        let error = solution.to_vec::<f32>().unwrap().iter().map(|x| (x - 1.0).abs()).fold(0.0, f32::max);
        assert!(error < 1e-3, "{end}: {error}");
        for &method in Method::ALL.iter().filter(|&&method| method != Method::Direct) {
            let mut options = SolveOptions::new(method);
            options.solver.tolerance = 1e-5;
            options.solver.max_iterations = Some(3000);
            options.solver.least_squares.atol = Some(1e-7);
            let (solution, end) = there.solve(&b, &options).unwrap();
            let errors = solution.to_vec::<f32>().unwrap().into_iter().map(|x| (x - 1.0).abs());
            let error = errors.fold(0.0, f32::max);
            assert!(error < 1e-2, "{method}, {end}: {error}");
        }
        for preconditioner in
            [PreconditionerKind::BlockJacobi(20), PreconditionerKind::Ilu0, PreconditionerKind::Ic0]
        {
            for method in [Method::BiCgStab, Method::EnqueuedCg] {
                let options = SolveOptions { preconditioner, ..SolveOptions::new(method) };
                let (solution, end) = there.solve(&b, &options).unwrap();
                let errors = solution.to_vec::<f32>().unwrap().into_iter().map(|x| (x - 1.0).abs());
                let error = errors.fold(0.0, f32::max);
                assert!(error < 1e-3, "{method} with {preconditioner}, {end}: {error}");
            }
        }
        let solved = |a: &Matrix, x: &Vector| {
            let system = Triangular::lower().with_op(Op::Transpose);
            a.solve_triangular(system, x).unwrap().to_vec::<f32>().unwrap()
        };
        assert_eq!(solved(&there, &x), solved(&a, &ones));
        let selected = |a: &Matrix| {
            let (rows, cols): (Vec<_>, Vec<_>) = ((0..300).rev().collect(), (0..300).step_by(3).collect());
            a.select(&rows, &cols).unwrap().to_device(&host).unwrap()
        };
        assert_eq!(selected(&there).downcast_ref::<Csr<f32>>(), selected(&a).downcast_ref());
        let combined = |a: &Matrix| {
            let sum = a.add(&a.transpose().unwrap(), 0.3, -1.7).unwrap();
            let product = sum.multiply(a).unwrap().to_device(&host).unwrap();
            product.matvec(&ones).unwrap().to_vec::<f32>().unwrap()
        };
        assert_eq!(combined(&there), combined(&a));
    }
}

#[test]
fn solvers_take_other_values_on_every_device() {
    let host = Device::host().unwrap();
    let a = Matrix::from_typed(&host, generate::stencil_5::<f32>(20, 15).unwrap()).unwrap();
    let other = a.map_values(|value: f32| if value > 0.0 { 6.0 } else { value }).unwrap();
    let b = Vector::from_vec(&host, (0..300_u16).map(|k| f32::from(k % 7)).collect()).unwrap();
    for device in devices() {
        let (a, b) = (a.to_device(&device).unwrap(), b.to_device(&device).unwrap());
        let other = a.with_values(&other.values().unwrap().to_device(&device).unwrap()).unwrap();
        let solved = |solver: &mut nnz::Solver| {
            let mut x = Vector::zeros(&device, DType::F32, 300).unwrap();
            let solution = solver.solve_from(&b, &mut x, |_| ControlFlow::Continue(())).unwrap();
            assert!(solution.converged(), "{device}: {solution}");
            x.to_vec::<f32>().unwrap()
        };
        for preconditioner in
            [PreconditionerKind::None, PreconditionerKind::BlockJacobi(7), PreconditionerKind::Ic0]
        {
            for method in [Method::Cg, Method::EnqueuedCg, Method::Gmres] {
                let mut options = SolveOptions { preconditioner, ..SolveOptions::new(method) };
                options.solver.tolerance = 1e-5;
                let mut solver = a.solver(&options).unwrap();
                let before = solved(&mut solver);
                solver.update(&other).unwrap();
                let new = solved(&mut other.solver(&options).unwrap());
                assert_eq!(solved(&mut solver), new, "{method} with {preconditioner} on {device}");
                solver.update(&a).unwrap();
                assert_eq!(solved(&mut solver), before, "{method} with {preconditioner} on {device}");
            }
        }
    }
}

#[test]
fn matrices_are_stacked_where_they_are() {
    let host = Device::host().unwrap();
    let a = Matrix::from_typed(&host, generate::stencil_5::<f32>(4, 3).unwrap()).unwrap();
    for format in [Format::Csr, Format::Csc] {
        let a = a.to_format(format).unwrap();
        let stacks = |a: &Matrix| {
            let two = [a, a];
            [Matrix::vstack(&two), Matrix::hstack(&two), Matrix::block_diag(&two), a.kron(a)]
                .map(Result::unwrap)
        };
        for device in devices() {
            for (there, here) in stacks(&a.to_device(&device).unwrap()).iter().zip(stacks(&a)) {
                assert_eq!((there.device().to_string(), there.format()), (device.to_string(), format));
                let there = there.to_device(&host).unwrap();
                match format {
                    Format::Csr => assert_eq!(there.downcast_ref::<Csr<f32>>(), here.downcast_ref()),
                    _ => assert_eq!(there.downcast_ref::<Csc<f32>>(), here.downcast_ref()),
                }
            }
        }
    }
}

/// Memory of each OpenCL device, here allocated by another backend, and memory of the host, together.
#[test]
fn stacks_in_the_memory_of_devices_are_compressed_there() {
    let elements: Vec<f64> = (0..200).map(|k| f64::from(k % 7 / 5)).collect();
    let on_host = ForeignArray::on_host(elements.as_ptr(), &[4, 10, 5], None);
    let host = Device::host().unwrap();
    // SAFETY: the elements outlive the stack, and no code writes them.
    let stack = || unsafe { DenseStack::borrow(&host, &on_host) }.unwrap();
    let options = MatrixSetOptions::new(Format::Csc, DType::F64);
    let (expected, _) =
        MatrixSet::compress_stacks(std::slice::from_ref(&host), &[stack()], &options).unwrap();
    for (index, _) in BackendKind::OpenCl.probe().devices.iter().enumerate().filter(|(_, caps)| caps.f64) {
        let device: Device = format!("opencl:{index}").parse().unwrap();
        let Device::Accelerator(backend, id) = &device else { panic!("{device}") };
        let buffer = backend.upload(&elements).unwrap();
        let (handle, byte_offset) = backend_opencl::buffer(&nnz::Accelerator::view(&buffer));
        let memory = MemoryKind::OpenCl;
        let array = ForeignArray { memory, handle: handle as usize, byte_offset, ..on_host.clone() };
        // SAFETY: the buffer outlives the stack, and no code writes it.
        let there = unsafe { DenseStack::borrow(&device, &array) }.unwrap();
        let reported = format!("{there:?}");
        assert_eq!(reported, format!("DenseStack(4 of 10 x 5 of f64, RowMajor, on {id})"));
        let devices = [device.clone(), host.clone()];
        let (set, report) = MatrixSet::compress_stacks(&devices, &[there, stack()], &options).unwrap();
        assert_eq!((set.len(), report.items, set.placement(3)), (8, 8, Some(&*id.to_string())));
        for item in 0..8 {
            let dense = |set: &MatrixSet, item| {
                let matrix = set.get(item, &host).unwrap();
                matrix.to_dense().unwrap().values().to_vec::<f64>().unwrap()
            };
            assert_eq!(dense(&set, item), dense(&expected, item % 4));
        }
        let ours = DenseMatrix::from_vec(&device, elements.clone(), 40, 5, Order::RowMajor).unwrap();
        let ours = DenseStack::new(ours, 4).unwrap();
        let (set, _) = MatrixSet::compress_stacks(&devices[..1], &[ours], &options).unwrap();
        assert_eq!((set.nnz(3), set.placement(3)), (expected.nnz(3), Some(&*id.to_string())));
        // SAFETY: the array is refused.
        let reported = unsafe { DenseStack::borrow(&device, &on_host) }.unwrap_err().to_string();
        assert!(reported.contains("borrow it on the CPU"), "{reported}");
    }
}

#[test]
fn products_in_chunks_have_the_bits_of_the_whole() {
    let folder = tempfile::tempdir().unwrap();
    let values_of = |matrix: &Matrix| matrix.to_dense().unwrap().values().to_vec::<f32>().unwrap();
    for device in devices() {
        let a = Matrix::from_typed(&device, generate::stencil_5::<f32>(20, 15).unwrap()).unwrap();
        let host = a.to_device(&Device::host().unwrap()).unwrap();
        for format in [Format::Csr, Format::Csc] {
            let (a, host) = (a.to_format(format).unwrap(), host.to_format(format).unwrap());
            let whole = (&host * &host).unwrap();
            let masked = host.matmul_masked(&host, &host).unwrap();
            for limit in [None, Some(6000), Some(30_000)] {
                for (left, right) in [(&a, &a), (&host, &a), (&a, &host)] {
                    let product = left.matmul_in_chunks(right, limit).unwrap();
                    assert_eq!(product.downcast_ref::<Csr<f32>>(), whole.downcast_ref(), "{limit:?}");
                    assert_eq!(product.downcast_ref::<Csc<f32>>(), whole.downcast_ref(), "{limit:?}");
                    let file = folder.path().join("product.npz");
                    left.matmul_to_npz(right, limit, &file).unwrap();
                    assert_eq!(nnz::io::npz::read(&file).unwrap().format.name(), format.name());
                    let read = Matrix::read(&Device::host().unwrap(), &file).unwrap();
                    assert!(values_of(&read) == values_of(&whole), "{limit:?}");
                    let product = left.matmul_masked_in_chunks(right, &a, limit).unwrap();
                    assert_eq!(product.downcast_ref::<Csr<f32>>(), masked.downcast_ref(), "{limit:?}");
                    assert_eq!(product.downcast_ref::<Csc<f32>>(), masked.downcast_ref(), "{limit:?}");
                }
            }
        }
    }
}

#[test]
fn norms_are_those_of_the_host_on_every_device() {
    let cpu = Device::host().unwrap();
    let single = Matrix::from_typed(&cpu, generate::stencil_5::<f32>(20, 15).unwrap()).unwrap();
    let double = single.cast(DType::F64).unwrap();
    for device in devices() {
        for (host, format) in [&single, &double]
            .into_iter()
            .flat_map(|host| [Format::Csr, Format::Csc, Format::Coo].map(|format| (host, format)))
        {
            let a = host.to_format(format).unwrap().to_device(&device).unwrap();
            for norm in [Norm::Frobenius, Norm::One, Norm::Infinity] {
                let (there, here) = (a.norm(norm).unwrap(), host.norm(norm).unwrap());
                assert!((there / here - 1.0).abs() < 1e-12, "{device} {format} {norm:?}: {there}, {here}");
            }
        }
    }
}

#[test]
fn diagonals_are_those_of_the_host_on_every_device() {
    let infinite = c64::new(f64::INFINITY, 1.0);
    let real = |value| c64::new(value, 0.0);
    let entries =
        [(0, 0, infinite), (0, 3, real(2.0)), (2, 2, real(3.0)), (2, 2, real(4.0)), (2, 1, real(5.0))];
    for device in devices() {
        for index_type in [IndexType::I32, IndexType::I64] {
            let host = Device::host().unwrap();
            let coo = Matrix::from_triplets(&host, DType::C32, index_type, (3, 4), &entries).unwrap();
            for format in [Format::Coo, Format::Csr, Format::Csc, Format::Ell] {
                let a = coo.to_format(format).unwrap().to_device(&device).unwrap();
                for k in [-9, -2, -1, 0, 1, 3, 4] {
                    let of = |a: &Matrix| a.diagonal(k).unwrap().to_vec::<c32>().unwrap();
                    assert_eq!(of(&a), of(&coo), "{device} {format} {k}");
                }
            }
        }
    }
}

#[test]
fn a_tuned_device_still_computes_and_chooses_no_worse() {
    let host = Device::host().unwrap();
    for device in devices() {
        let mut tuner = Tuner::new(&device).unwrap();
        for (member, half) in families::members().take(4).zip([Half::Fit, Half::Judge].into_iter().cycle()) {
            let a = Matrix::from_typed(&host, member.generate::<f32>(256).unwrap()).unwrap();
            assert!(tuner.measure(&a, half).unwrap(), "{device}");
        }
        let before = tuner.thresholds();
        let tuned = tuner.fit().unwrap();
        assert_eq!(tuned.is_better(), tuned.thresholds != before, "{device}: {tuned:?}");
        assert_eq!(tuner.thresholds(), tuned.thresholds, "{device}");
        assert!(tuned.fitted.after <= tuned.fitted.before, "{device}: {tuned:?}");
        let a = Matrix::from_typed(&device, generate::stencil_5::<f64>(9, 7).unwrap()).unwrap();
        let ones = Vector::from_vec(&device, vec![1.0; 63]).unwrap();
        let sums = (&a * &ones).unwrap().to_vec::<f64>().unwrap();
        assert_eq!((sums.iter().sum::<f64>(), sums[0]), (32.0, 2.0), "{device}");
    }
}

#[test]
fn products_of_batches_are_those_of_block_diagonal_matrices() {
    let host = Device::host().unwrap();
    let members: Vec<_> = (1..6)
        .map(|k| {
            Csr::<f32>::from_triplets(5, 4, (0..k).map(|at| (at, (3 * at + k) % 4, at as f32 + 1.0))).unwrap()
        })
        .map(|member| Matrix::from_typed(&host, member).unwrap())
        .collect();
    let rows = Matrix::from_members(&members).unwrap();
    let columns = rows.to_format(Format::BatchCsc).unwrap();
    let numbers = |len: usize| (0..len).map(|k| (k % 7) as f32 - 2.0).collect::<Vec<_>>();
    for device in devices() {
        let b = DenseMatrix::from_vec(&device, numbers(60), 20, 3, Order::RowMajor).unwrap();
        let u = DenseMatrix::from_vec(&device, numbers(75), 25, 3, Order::ColMajor).unwrap();
        for (a, other) in [(&rows, Format::BatchCsc), (&columns, Format::BatchCsr)] {
            let a = a.to_device(&device).unwrap();
            let whole = a.to_block_diagonal().unwrap();
            let product = |a: &Matrix| a.matmul(&b).unwrap().values().to_vec::<f32>().unwrap();
            assert_eq!(product(&a), product(&whole), "{device}");
            assert_eq!(product(&a.to_format(other).unwrap()), product(&whole), "{device}");
            for k in [-3, 0, 2] {
                let diagonal = |a: &Matrix| a.diagonal(k).unwrap().to_vec::<f32>().unwrap();
                assert_eq!(diagonal(&a), diagonal(&whole), "{device}");
            }
            let values = |a: &Matrix| a.values().unwrap().to_vec::<f32>().unwrap();
            let halves: Vec<_> = values(&a).into_iter().map(|value| value / 2.0).collect();
            assert_eq!(values(&a.map_values(|value: f32| value / 2.0).unwrap()), halves, "{device}");
            let sampled = |a: &Matrix| a.sddmm(&u, &b).unwrap();
            let (found, expected) = (sampled(&a).to_block_diagonal().unwrap(), sampled(&whole));
            let elements = |a: &Matrix| a.to_dense().unwrap().values().to_vec::<f32>().unwrap();
            assert_eq!(elements(&found), elements(&expected), "{device}");
        }
    }
}
