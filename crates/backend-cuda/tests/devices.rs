//! The common tests of drivers, on every CUDA device present, and tests of CUDA alone.
#![allow(clippy::print_stderr, reason = "a test that measures says what it found")]

mod peers;

use backend_cuda::{CUDA, Device, Event, Graph, PinnedVec, address, with_carveout};
use cudarc::driver::{CudaContext, CudaSlice, CudaStream, DevicePtr, result, sys};
use device_tests::gradients::Gradients;
use device_tests::{Library, each_device, foreign, limits, tests};
use sparse_core::op::{DenseToCompressedPlan, DenseToCsrKernel, Keep, Op, Operations, SpmvPlan};
use sparse_core::reference::Reference;
use sparse_core::{Backend, Csr, DenseView, Error, Order, PlanOptions, Row, Space, SparseFormat};
use sparse_device::foreign::ForeignArray;
use sparse_distrib::{DeviceStack, DeviceWorker, Engine, Options};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Instant;

fn main() -> ExitCode {
    device_tests::main(
        &CUDA,
        &tests![
            memory_keeps_what_is_written_in_pieces_and_whole,
            pinned_memory_is_copied_whole_and_in_part,
            threads_upload_beside_each_other_and_beside_work,
            events_measure_copies_and_views_have_addresses,
            too_much_memory_is_refused_and_the_context_stays_usable,
            a_recorded_plan_repeats_and_sees_new_operands,
            an_iteration_of_conjugate_gradients_is_recorded,
            a_failed_recording_poisons_nothing,
            other_threads_wait_for_a_recording,
            a_graph_shares_what_it_names,
            the_context_of_the_caller_comes_back,
            a_launch_in_a_graph_costs_under_two_microseconds,
            devices_of_one_process_work_side_by_side,
            arrays_of_another_library_are_compressed_where_they_lie,
            memory_that_the_device_cannot_use_is_refused,
            a_thousand_matrices_in_memory_are_compressed_at_its_rate,
            a_carve_out_changes_no_result,
            peers::products_have_the_same_bits_by_every_path,
            peers::conjugate_gradients_take_the_same_steps_by_every_path,
            limits::about_2_to_the_31_entries,
            limits::more_than_2_to_the_31_rows,
            limits::more_than_2_to_the_31_columns,
            limits::a_product_with_more_than_2_to_the_31_elements,
            limits::a_factor_with_more_than_2_to_the_31_elements,
        ],
    )
}

fn memory_keeps_what_is_written_in_pieces_and_whole(library: &Library) {
    each_device(library, |backend| {
        for len in [0_i64, 1, 1000, 1 << 19, (3 << 19) + 5] {
            let numbers: Vec<i64> = (0..len).collect();
            let device = backend.upload(&numbers).unwrap();
            assert_eq!(backend.download(&device).unwrap(), numbers);
        }
        let device = backend.upload(&(0..1000).collect::<Vec<i64>>()).unwrap();
        let mut copy = backend.zeros::<i64>(7).unwrap();
        let from = Device::slice(Device::view(&device), 10..15);
        backend.copy(from, Device::slice_mut(Device::view_mut(&mut copy), 1..6)).unwrap();
        assert_eq!(backend.download(&copy).unwrap(), [0, 10, 11, 12, 13, 14, 0]);
        backend.synchronize().unwrap();
    });
}

fn a_carve_out_changes_no_result(library: &Library) {
    let (rows, cols) = (100, 1000);
    let kept = |k: usize| if k.is_multiple_of(7) { k as f32 } else { 0.0 };
    let elements: Vec<_> = (0..rows * cols).map(kept).collect();
    let host = DenseView::row_major(&elements, rows, cols).unwrap();
    let expected: Csr<f32> = Operations::dense_to_csr(&Reference, host, Keep::NonZero).unwrap();
    for (index, percent) in
        (0..library.probe().devices.len()).flat_map(|index| [0, 50, 100].map(|p| (index, p)))
    {
        let device = with_carveout(index, percent).unwrap();
        let uploaded = device.upload(&elements).unwrap();
        let dense = DenseView::new(Device::view(&uploaded), rows, cols, cols, Order::RowMajor).unwrap();
        for algorithm in DenseToCsrKernel::<f32, i32, i32>::dense_to_csr_algorithms(&device) {
            let options = PlanOptions::forced(algorithm.name);
            let plan = DenseToCompressedPlan::<_, Row, _, _, _>::new(&device, dense, Keep::NonZero, &options);
            let found: Csr<f32> = plan.unwrap().run(dense).unwrap().to_host(&device).unwrap();
            assert_eq!(found, expected, "{} with {percent} % shared", algorithm.name);
        }
    }
    assert!(matches!(with_carveout(0, 101), Err(Error::Unsupported { .. })));
}

fn pinned_memory_is_copied_whole_and_in_part(library: &Library) {
    each_device(library, |backend| {
        assert!(PinnedVec::<f64>::zeros(backend, 0).unwrap().is_empty());
        let slot = backend.host_buffer::<i64>(1 << 20).unwrap();
        assert!(backend.uploads_directly(&slot[5..]) && slot.iter().all(|&number| number == 0));
        assert!(!backend.uploads_directly(&slot.to_vec()));
        let mut numbers = PinnedVec::zeros(backend, 1 << 25).unwrap();
        assert!(numbers.iter().all(|&number| number == 0));
        numbers.iter_mut().zip(0_i64..).for_each(|(number, k)| *number = k);
        let gigabytes = 1e-9 * size_of_val(&*numbers) as f64;
        let pageable = numbers.to_vec();
        for (what, host) in [("pinned", &*numbers), ("pageable", &pageable)] {
            let warm = backend.upload(host).unwrap();
            backend.synchronize().unwrap();
            let start = Instant::now();
            let device = backend.upload(host).unwrap();
            backend.synchronize().unwrap();
            eprintln!("{what} memory to the device: {:.1} GB/s", gigabytes / start.elapsed().as_secs_f64());
            let mut copy = PinnedVec::zeros(backend, host.len()).unwrap();
            backend.download_into(Device::view(&device), &mut copy).unwrap();
            assert!(copy[..] == *host, "{what}");
            let part = Device::slice(Device::view(&warm), 5..(1 << 20));
            backend.download_into(part, &mut copy[3..(1 << 20) - 2]).unwrap();
            assert!(copy[3..(1 << 20) - 2] == host[5..1 << 20], "{what}");
        }
        let part = backend.upload(&numbers[100_000..300_001]).unwrap();
        assert!(backend.download(&part).unwrap() == numbers[100_000..300_001]);
    });
}

fn threads_upload_beside_each_other_and_beside_work(library: &Library) {
    each_device(library, |backend| {
        std::thread::scope(|scope| {
            for thread in 0..4_i64 {
                scope.spawn(move || {
                    let mut pinned = PinnedVec::zeros(backend, 1 << 20).unwrap();
                    for round in 0..8 {
                        pinned
                            .iter_mut()
                            .zip(0..)
                            .for_each(|(number, k)| *number = k * 32 + 8 * thread + round);
                        let pageable: Vec<i64> = pinned.iter().map(|number| -number).collect();
                        let first = backend.upload(&pinned).unwrap();
                        let second = backend.upload(&pageable).unwrap();
                        // Work in the device's stream, on memory that was allocated beside it.
                        let mut copy = backend.zeros::<i64>(pinned.len()).unwrap();
                        backend.copy(Device::view(&first), Device::view_mut(&mut copy)).unwrap();
                        drop(first);
                        assert!(backend.download(&copy).unwrap() == *pinned);
                        assert!(backend.download(&second).unwrap() == pageable);
                    }
                });
            }
        });
    });
}

fn events_measure_copies_and_views_have_addresses(library: &Library) {
    each_device(library, |backend| {
        let from = backend.zeros::<f32>(1 << 24).unwrap();
        let mut to = backend.zeros::<f32>(1 << 24).unwrap();
        let start = Event::record(backend).unwrap();
        backend.copy(Device::view(&from), Device::view_mut(&mut to)).unwrap();
        let copied = Event::record(backend).unwrap();
        let seconds = copied.seconds_since(&start).unwrap();
        assert!((1e-6..1.0).contains(&seconds), "{seconds} s for 64 MiB");
        assert_eq!(copied.seconds_since(&copied).unwrap(), 0.0);
        let whole = Device::view(&to);
        assert_eq!(address(&Device::slice(whole, 10..20)), address(&whole) + 40);
    });
}

fn too_much_memory_is_refused_and_the_context_stays_usable(library: &Library) {
    each_device(library, |backend| {
        let total = backend.caps().memory_bytes.unwrap();
        for needed in [1 << 60, total] {
            let error = backend.zeros::<u8>(needed as usize).unwrap_err();
            let Error::OutOfMemory { needed: said, available } = error else { panic!("{error}") };
            assert!(said >= needed && available <= total, "{error}");
            assert_eq!(backend.download(&backend.upload(&[1_i32]).unwrap()).unwrap(), [1]);
        }
    });
}

fn a_recorded_plan_repeats_and_sees_new_operands(library: &Library) {
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

fn an_iteration_of_conjugate_gradients_is_recorded(library: &Library) {
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

/// After an error or a panic in a recording, the device and its staging memory work as before.
fn a_failed_recording_poisons_nothing(library: &Library) {
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
fn other_threads_wait_for_a_recording(library: &Library) {
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
fn a_graph_shares_what_it_names(library: &Library) {
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

/// A call restores the current context of its thread.
fn the_context_of_the_caller_comes_back(library: &Library) {
    type Get = unsafe extern "C" fn(&mut usize) -> i32;
    // SAFETY: it is the driver's library, which the backend has loaded.
    let cuda = ["libcuda.so.1", "nvcuda.dll"]
        .iter()
        .find_map(|name| unsafe { libloading::Library::new(*name) }.ok());
    let cuda = cuda.expect("the driver's library");
    // SAFETY: the function has this type: a context is a pointer.
    let current = || unsafe {
        let mut context = 0;
        assert_eq!(cuda.get::<Get>(b"cuCtxGetCurrent").unwrap()(&mut context), 0);
        context
    };
    let devices: Vec<_> =
        (0..library.probe().devices.len()).map(|index| library.open(index).unwrap()).collect();
    let before = current();
    for backend in devices.iter().chain(&devices) {
        let mut gradients = Gradients::new(backend).unwrap();
        gradients.enqueue(backend).unwrap();
        assert!(gradients.residual(backend).unwrap().is_finite());
        drop(gradients);
        assert_eq!(current(), before);
    }
    drop(devices);
    assert_eq!(current(), before);
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

fn a_launch_in_a_graph_costs_under_two_microseconds(library: &Library) {
    each_device(library, |backend| {
        let best = (0..5).map(|_| seconds_per_launch(backend, 1000)).fold(f64::MAX, f64::min);
        eprintln!("{}: {:.2} us a launch", backend.caps().device, best * 1e6);
        assert!(best < 2e-6, "{best} s");
    });
}

/// `A·1` on one device, by a plan that runs 100 times.
fn row_sums(backend: &Device, host: &Csr<f32>) -> Vec<f32> {
    let a = host.to_device(backend).unwrap();
    let ones = backend.upload(&vec![1.0_f32; a.ncols()]).unwrap();
    let mut y = backend.zeros::<f32>(a.nrows()).unwrap();
    let options = PlanOptions { expected_calls: 100, ..PlanOptions::default() };
    let mut plan = SpmvPlan::new(backend, &a, Op::None, &options).unwrap();
    for _ in 0..100 {
        plan.run(1.0, &a, Device::view(&ones), 0.0, Device::view_mut(&mut y)).unwrap();
    }
    backend.download(&y).unwrap()
}

fn devices_of_one_process_work_side_by_side(library: &Library) {
    let devices: Vec<_> =
        (0..library.probe().devices.len()).map(|index| library.open(index).unwrap()).collect();
    let [first, second, ..] = &devices[..] else {
        eprintln!("{} CUDA devices: nothing stands side by side", devices.len());
        return;
    };
    let host: Csr<f32> = sparse_generate::stencil_5(300, 200).unwrap();
    let mut expected = vec![0.0; host.nrows()];
    host.triplets().for_each(|(row, _, value)| expected[row] += value);
    std::thread::scope(|scope| {
        let host = &host;
        let run = |backend| scope.spawn(move || row_sums(backend, host));
        let threads: Vec<_> = devices.iter().map(run).collect();
        threads.into_iter().for_each(|thread| assert_eq!(thread.join().unwrap(), expected));
    });
    let a = host.to_device(first).unwrap();
    let elsewhere = second.zeros::<f32>(a.ncols()).unwrap();
    let mut y = first.zeros::<f32>(a.nrows()).unwrap();
    let mut plan = SpmvPlan::new(first, &a, Op::None, &PlanOptions::default()).unwrap();
    let error = plan.run(1.0, &a, Device::view(&elsewhere), 0.0, Device::view_mut(&mut y)).unwrap_err();
    assert!(matches!(error, Error::WrongContext { .. }), "{error}");
}

/// Elements in memory that another library has allocated, which that library's stream is still writing.
fn written_late(stream: &Arc<CudaStream>, host: &[f32]) -> CudaSlice<f32> {
    let mut there = stream.alloc_zeros::<f32>(host.len()).unwrap();
    // Work that keeps the stream busy, in front of what is to be waited for.
    let filler = stream.alloc_zeros::<f32>(1 << 28).unwrap();
    let mut other = stream.alloc_zeros::<f32>(1 << 28).unwrap();
    for _ in 0..10 {
        stream.memcpy_dtod(&filler, &mut other).unwrap();
    }
    stream.memcpy_htod(host, &mut there).unwrap();
    there
}

/// The description of a slice from element `first` on, which the work of `stream` so far completes.
fn described(slice: &CudaSlice<f32>, first: usize, shape: &[usize], strides: &[isize]) -> ForeignArray {
    let stream = slice.stream();
    let (address, _guard) = slice.device_ptr(stream);
    let bytes: Vec<isize> = strides.iter().map(|stride| 4 * stride).collect();
    let data = (address as usize + 4 * first, false);
    let stream = Some(stream.cu_stream() as usize);
    ForeignArray::from_cuda_array_interface("<f4", data, shape, Some(&bytes), stream).unwrap()
}

fn arrays_of_another_library_are_compressed_where_they_lie(library: &Library) {
    for index in 0..library.probe().devices.len() {
        let backend = library.open(index).unwrap();
        let context = CudaContext::new(index).unwrap();
        // SAFETY: this test orders the streams.
        unsafe { context.disable_event_tracking() };
        let stream = context.new_stream().unwrap();
        let host = foreign::elements(5 * 2100 + 7);
        for (first, shape, strides) in [
            (0, vec![5, 60, 35], vec![2100, 35, 1]),
            (3, vec![5, 58, 31], vec![2100, 36, 1]), // a part of each, from an element within a word on
            (4, vec![5, 29, 60], vec![2100, 1, 35]),
            (7, vec![70, 150], vec![150, 1]),
        ] {
            let there = written_late(&stream, &host);
            let array = described(&there, first, &shape, &strides);
            // SAFETY: the slice outlives the call, and its stream writes nothing behind the copy.
            unsafe { foreign::check_borrowed(&backend, &array, &host[first..]) };
            assert_eq!(stream.clone_dtoh(&there).unwrap(), host);
        }
    }
}

fn memory_that_the_device_cannot_use_is_refused(library: &Library) {
    let backend = library.open(0).unwrap();
    let context = CudaContext::new(0).unwrap();
    let stream = context.new_stream().unwrap();
    let there = stream.clone_htod(&[1.0_f32; 1024]).unwrap();
    let array = described(&there, 0, &[32, 32], &[32, 1]);
    // A pool would round the bytes up.
    // SAFETY: the context is this thread's, and the memory is freed below.
    let exact = unsafe { result::malloc_sync(1000) }.unwrap();
    let host = PinnedVec::<f32>::zeros(&backend, 1024).unwrap();
    let at = |handle: usize| ForeignArray { handle, stream: None, ..array.clone() };
    let refused = |array: ForeignArray, reason: &str| {
        // SAFETY: memory that is not refused is alive.
        let told = unsafe { foreign::refusal(&backend, &array) };
        assert!(told.contains(reason), "{told}");
    };
    refused(at(exact as usize), "pass the end of their allocation, 1000 bytes");
    refused(at(host.as_ptr() as usize), "no address in a CUDA device's memory");
    refused(at(vec![0.0_f32; 1024].as_ptr() as usize), "no address in a CUDA device's memory");
    refused(ForeignArray { byte_offset: 2, shape: vec![31, 32], ..array.clone() }, "not aligned to 4");
    // A context of its own, as no runtime makes one.
    let mut own = std::ptr::null_mut();
    // SAFETY: the output is a live variable, and the context is this thread's until it is destroyed.
    let foreign = unsafe {
        sys::cuCtxCreate_v2(&raw mut own, 0, 0).result().unwrap();
        let foreign = result::malloc_sync(4096).unwrap();
        refused(at(foreign as usize), "another context than the primary one");
        foreign
    };
    // SAFETY: both were made above, and nothing uses them.
    unsafe {
        result::free_sync(foreign).unwrap();
        sys::cuCtxDestroy_v2(own).result().unwrap();
        context.bind_to_thread().unwrap();
        result::free_sync(exact).unwrap();
    }
    if library.probe().devices.len() > 1 {
        let second = CudaContext::new(1).unwrap();
        let elsewhere = second.default_stream().clone_htod(&[1.0_f32; 1024]).unwrap();
        let array = ForeignArray { stream: None, ..described(&elsewhere, 0, &[32, 32], &[32, 1]) };
        refused(array, "memory of CUDA device 1, not 0");
    }
}

/// 1000 matrices of 1024 x 1024 that another library has allocated; `performance.md` has the rates of the device.
fn a_thousand_matrices_in_memory_are_compressed_at_its_rate(library: &Library) {
    const COUNT: usize = 1000;
    const SIDE: usize = 1024;
    let backend = library.open(0).unwrap();
    if backend.caps().memory_bytes.is_none_or(|bytes| bytes < 40 << 30) {
        eprintln!("{}: too little memory for 1000 matrices of 4 MiB", backend.caps().device);
        return;
    }
    let stream = CudaContext::new(0).unwrap().new_stream().unwrap();
    for per_mille in [10, 100, 500] {
        // 32 bits of a product that look random.
        let number = |k: usize| k.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        let is_entry = |k: usize| (number(k) * 1000) >> 32 < per_mille;
        let draw = |k: usize| if is_entry(k) { 1.0 + (k % 7) as f32 } else { 0.0 };
        let some: Vec<f32> = (0..8 * SIDE * SIDE).map(draw).collect();
        let mut all = stream.alloc_zeros::<f32>(COUNT * SIDE * SIDE).unwrap();
        for group in 0..COUNT / 8 {
            let mut target = all.slice_mut(group * some.len()..(group + 1) * some.len());
            stream.memcpy_htod(&some, &mut target).unwrap();
        }
        let array = described(&all, 0, &[COUNT, SIDE, SIDE], &[(SIDE * SIDE) as isize, SIDE as isize, 1]);
        // SAFETY: the slice outlives the stack, and nobody writes it.
        let stack = unsafe { backend.borrow_stack::<f32>(&array) }.unwrap();
        let source =
            DeviceStack::<_, f32>::packed(backend.clone(), stack.buffer(), COUNT, (SIDE, SIDE)).unwrap();
        let mut engine = Engine::<f32>::new(vec![Box::new(DeviceWorker::new(backend.clone()))]).unwrap();
        let mut seconds: Vec<f64> = vec![];
        for _ in 0..10 {
            let outcome = engine.compress::<Row>(&source, &Options::default()).unwrap();
            let (handle, report) = outcome.complete().unwrap();
            assert_eq!(report.nnz, 125 * some.iter().filter(|&&element| element != 0.0).count() as u64);
            seconds.push(report.seconds);
            if seconds.len() == 1 {
                let mut alone = Engine::<f32>::new(vec![Box::new(DeviceWorker::new(Reference))]).unwrap();
                let batch = sparse_core::DenseView::row_major(&some[..SIDE * SIDE], SIDE, SIDE).unwrap();
                let expected = alone.compress::<Row>(&vec![batch], &Options::default()).unwrap().handle;
                assert!(handle.fetch(992).unwrap() == expected.fetch(0).unwrap());
            }
        }
        seconds.sort_by(f64::total_cmp);
        eprintln!(
            "1000 of 1024 x 1024 with {} %: {:.2} ms at best, {:.2} ms in the middle",
            per_mille as f64 / 10.0,
            1e3 * seconds[0],
            1e3 * seconds[5]
        );
    }
}
