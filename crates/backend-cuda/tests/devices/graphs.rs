//! Recordings in CUDA graphs.

use backend_cuda::{Device, Graph};
use device_tests::Library;
use device_tests::gradients::Gradients;
use sparse_core::op::{Op, SpmvPlan};
use sparse_core::{Backend, Csr, Error, PlanOptions, Space, SparseFormat};
use sparse_solvers::{EnqueuedCg, Ic0, Identity, Jacobi, Preconditioner, SolverOptions};
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::channel;
use std::sync::{PoisonError, RwLock};

/// Locked for reading by tests that record, and for writing by the one whose calls of the driver end the recordings of
/// other threads: to make a context, and to free memory at once.
pub(super) static RECORDINGS: RwLock<()> = RwLock::new(());

/// Runs a test that records on every device.
fn each_device(library: &Library, test: impl Fn(&Device)) {
    let _recording = RECORDINGS.read().unwrap_or_else(PoisonError::into_inner);
    device_tests::each_device(library, test);
}

pub(super) fn a_recorded_plan_repeats_and_sees_new_operands(library: &Library) {
    each_device(library, |backend| {
        let host: Csr<f32> = sparse_generate::stencil_5(30, 20).unwrap();
        let a = host.to_device(backend).unwrap();
        let n = a.nrows();
        let (mut x, mut y) = (backend.zeros::<f32>(n).unwrap(), backend.zeros::<f32>(n).unwrap());
        let mut plan = SpmvPlan::new(backend, &a, Op::None, &PlanOptions::default()).unwrap();
        {
            let (x, y) = (Device::view(&x), Device::view_mut(&mut y));
            let mut graph = Graph::record(backend, || plan.run(1.0, &a, x, 1.0, y)).unwrap();
            for _ in 0..3 {
                graph.launch().unwrap();
            }
        }
        assert_eq!(backend.download(&y).unwrap(), vec![0.0; n]);
        let ones = backend.upload(&vec![1.0_f32; n]).unwrap();
        backend.copy(Device::view(&ones), Device::view_mut(&mut x)).unwrap();
        {
            let (x, y) = (Device::view(&x), Device::view_mut(&mut y));
            let mut graph = Graph::record(backend, || plan.run(1.0, &a, x, 1.0, y)).unwrap();
            for _ in 0..3 {
                graph.launch().unwrap();
            }
        }
        let mut once = backend.zeros::<f32>(n).unwrap();
        plan.run(3.0, &a, Device::view(&x), 0.0, Device::view_mut(&mut once)).unwrap();
        assert_eq!(backend.download(&y).unwrap(), backend.download(&once).unwrap());
    });
}

pub(super) fn an_iteration_of_conjugate_gradients_is_recorded(library: &Library) {
    each_device(library, |backend| {
        let mut gradients = Gradients::new(backend).unwrap();
        {
            let mut graph = Graph::record(backend, || gradients.enqueue(backend)).unwrap();
            (0..600).try_for_each(|_| graph.launch()).unwrap();
        }
        let residual = gradients.residual(backend).unwrap();
        assert!(residual < 1e-3, "{residual}");
    });
}

/// The iterations of a solve, of which some are recorded, and those of a run, which are launched one by one. ‖b‖ is 2⁶,
/// so that the solver's division by it rounds nothing.
pub(super) fn recorded_iterations_of_a_solver_have_the_bits_of_launched_ones(library: &Library) {
    fn compare<P: Preconditioner<Device, f64>>(backend: &Device, a: &Csr<f64>, precondition: impl Fn() -> P) {
        let a = a.to_device(backend).unwrap();
        let b = backend.upload(&[1.0; 4096]).unwrap();
        let (b, zeros) = (Device::view(&b), || backend.zeros::<f64>(4096).unwrap());
        for iterations in [7, 8, 30] {
            let options = SolverOptions {
                tolerance: 0.0,
                max_iterations: Some(iterations),
                ..SolverOptions::default()
            };
            let mut solver = EnqueuedCg::new(backend, &a, precondition(), &options).unwrap();
            let (mut solved, mut fixed, mut launched) = (zeros(), zeros(), zeros());
            let x = Device::view_mut(&mut solved);
            let solution = solver.solve(&a, b, x, |_| ControlFlow::Continue(())).unwrap();
            assert_eq!(solution.iterations, iterations);
            solver.solve_fixed(&a, b, Device::view_mut(&mut fixed), iterations).unwrap();
            solver.start(&a, b, Device::view(&launched)).unwrap();
            solver.run(&a, iterations, Device::view_mut(&mut launched)).unwrap();
            let launched = backend.download(&launched).unwrap();
            assert_eq!(backend.download(&solved).unwrap(), launched, "{iterations} with a stopping test");
            assert_eq!(backend.download(&fixed).unwrap(), launched, "{iterations} at once");
        }
    }
    each_device(library, |backend| {
        let a = sparse_generate::stencil_5(64, 64).unwrap();
        compare(backend, &a, || Identity);
        compare(backend, &a, || Jacobi::new(backend, &a).unwrap());
        compare(backend, &a, || Ic0::new(backend, &a).unwrap());
    });
}

/// A solver's second solve has the bits of its first, and one of a matrix with other values, in other memory, its own.
pub(super) fn a_solver_repeats_its_recording_only_for_the_same_memory(library: &Library) {
    each_device(library, |backend| {
        let host: Csr<f64> = sparse_generate::stencil_5(64, 64).unwrap();
        let b = backend.upload(&[1.0; 4096]).unwrap();
        let options = SolverOptions { tolerance: 0.0, max_iterations: Some(24), ..SolverOptions::default() };
        let solve = |solver: &mut EnqueuedCg<Device, Csr<f64, Device>>, a: &Csr<f64, Device>| {
            let mut x = backend.zeros::<f64>(4096).unwrap();
            let (b, x_mut) = (Device::view(&b), Device::view_mut(&mut x));
            solver.solve(a, b, x_mut, |_| ControlFlow::Continue(())).unwrap();
            backend.download(&x).unwrap()
        };
        let a = host.to_device(backend).unwrap();
        let doubled: Vec<f64> = host.values().iter().map(|value| 2.0 * value).collect();
        let doubled = a.with_values(backend.upload(&doubled).unwrap()).unwrap();
        let mut solver = EnqueuedCg::new(backend, &a, Identity, &options).unwrap();
        let first = solve(&mut solver, &a);
        assert_eq!(solve(&mut solver, &a), first, "again");
        let half: Vec<f64> = first.iter().map(|x| x / 2.0).collect();
        assert_eq!(solve(&mut solver, &doubled), half, "of the doubled matrix");
        assert_eq!(solve(&mut solver, &a), first, "of the first matrix again");
    });
}

/// After an error or a panic in a recording, the device and its staging memory work as before.
pub(super) fn a_failed_recording_poisons_nothing(library: &Library) {
    type Work<'a> = &'a dyn Fn(&Device) -> sparse_core::Result<()>;
    each_device(library, |backend| {
        let mut gradients = Gradients::new(backend).unwrap();
        let x = backend.upload(&[1.0_f32; 100]).unwrap();
        let fails: [(&str, Work<'_>); 6] = [
            ("an error", &|_| Err(Error::unsupported("this", "it is a test"))),
            ("a download", &|backend| backend.download(&x).map(drop)),
            ("an upload", &|backend| backend.upload(&[1]).map(drop)),
            ("a synchronization", &|backend| backend.synchronize()),
            ("a recording", &|backend| Graph::record(backend, || Ok(())).map(drop)),
            ("a panic", &|_| panic!("it is a test")),
        ];
        for (what, fail) in fails {
            let recorded = catch_unwind(AssertUnwindSafe(|| {
                Graph::record(backend, || gradients.enqueue(backend).and_then(|()| fail(backend)))
            }));
            match recorded {
                Ok(recorded) => {
                    assert!(matches!(recorded, Err(Error::Unsupported { .. })), "{what}: {recorded:?}");
                }
                Err(_) => assert_eq!(what, "a panic"),
            }
            let numbers: Vec<i32> = (0..3 << 20).collect();
            assert_eq!(backend.download(&backend.upload(&numbers).unwrap()).unwrap(), numbers, "{what}");
            backend.synchronize().unwrap();
        }
        assert!(gradients.residual(backend).unwrap() == 1.0, "nothing of it was done");
    });
}

/// Work of a thread that uses the device during a recording is not recorded, and is done.
pub(super) fn other_threads_wait_for_a_recording(library: &Library) {
    each_device(library, |backend| {
        let mut gradients = Gradients::new(backend).unwrap();
        std::thread::scope(|scope| {
            let (begun, is_begun) = channel();
            let mut other = None;
            let mut graph = Graph::record(backend, || {
                other = Some(scope.spawn(move || {
                    begun.send(()).unwrap();
                    let expected = vec![5.0; 1 << 21];
                    assert_eq!(backend.download(&backend.upload(&expected).unwrap()).unwrap(), expected);
                    let mut theirs = Gradients::new(backend).unwrap();
                    (0..600).try_for_each(|_| theirs.enqueue(backend)).unwrap();
                    assert!(theirs.residual(backend).unwrap() < 1e-3);
                }));
                is_begun.recv().unwrap();
                std::thread::sleep(std::time::Duration::from_millis(20));
                gradients.enqueue(backend)
            })
            .unwrap();
            other.unwrap().join().unwrap();
            (0..600).try_for_each(|_| graph.launch()).unwrap();
        });
        assert!(gradients.residual(backend).unwrap() < 1e-3);
    });
}

/// A graph shares the memory of its operands, and `Device::compressed` refuses the arrays that it writes.
pub(super) fn a_graph_shares_what_it_names(library: &Library) {
    let _recording = RECORDINGS.read().unwrap_or_else(PoisonError::into_inner);
    for index in 0..library.probe().devices.len() {
        let backend = library.open(index).unwrap();
        let host: Csr<f32> = sparse_generate::stencil_5(30, 20).unwrap();
        let a = host.to_device(&backend).unwrap();
        let x = backend.upload(&vec![1.0_f32; a.ncols()]).unwrap();
        let mut y = backend.zeros::<f32>(a.nrows()).unwrap();
        let mut plan = SpmvPlan::new(&backend, &a, Op::None, &PlanOptions::default()).unwrap();
        plan.run(1.0, &a, Device::view(&x), 0.0, Device::view_mut(&mut y)).unwrap();
        let expected = backend.download(&y).unwrap();
        let run = || plan.run(1.0, &a, Device::view(&x), 0.0, Device::view_mut(&mut y));
        let mut graph = Graph::record(&backend, run).unwrap();
        drop((a, x, plan));
        let _others: Vec<_> = (0..50).map(|_| backend.upload(&vec![f32::NAN; 1000]).unwrap()).collect();
        graph.launch().unwrap();
        assert_eq!(backend.download(&y).unwrap(), expected);

        let numbers = backend.upload(&[0_i32; 2]).unwrap();
        let mut indices = backend.zeros::<i32>(1).unwrap();
        let part = || Device::slice(Device::view(&numbers), 0..1);
        let copies =
            Graph::record(&backend, || backend.copy(part(), Device::view_mut(&mut indices))).unwrap();
        let (offsets, values) = (backend.upload(&[0, 1]).unwrap(), backend.upload(&[1.0_f32]).unwrap());
        let refused = backend.compressed::<sparse_core::Row, _, i32, i32>((1, 1), offsets, indices, values);
        assert!(matches!(refused, Err(Error::Unsupported { .. })), "{refused:?}");
        drop(copies);
        drop(backend);
        graph.launch().unwrap();
    }
}

/// The cost of a launch of a recorded plan, in seconds.
fn seconds_per_launch(backend: &Device, launches: usize) -> f64 {
    let a = sparse_generate::stencil_5::<f32>(8, 8).unwrap().to_device(backend).unwrap();
    let x = backend.zeros::<f32>(a.ncols()).unwrap();
    let mut y = backend.zeros::<f32>(a.nrows()).unwrap();
    let mut plan = SpmvPlan::new(backend, &a, Op::None, &PlanOptions::default()).unwrap();
    let mut y = Device::view_mut(&mut y);
    let run =
        || (0..launches).try_for_each(|_| plan.run(1.0, &a, Device::view(&x), 0.0, Device::reborrow(&mut y)));
    let mut graph = Graph::record(backend, run).unwrap();
    graph.launch().unwrap();
    backend.synchronize().unwrap();
    let start = std::time::Instant::now();
    graph.launch().unwrap();
    backend.synchronize().unwrap();
    start.elapsed().as_secs_f64() / launches as f64
}

pub(super) fn a_launch_in_a_graph_costs_under_two_microseconds(library: &Library) {
    each_device(library, |backend| {
        let best = (0..5).map(|_| seconds_per_launch(backend, 1000)).fold(f64::MAX, f64::min);
        eprintln!("{}: {:.2} us a launch", backend.caps().device, best * 1e6);
        assert!(best < 2e-6, "{best} s");
    });
}
