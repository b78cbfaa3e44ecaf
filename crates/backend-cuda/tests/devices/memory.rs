//! Memory, uploads, events and carve-outs.

use backend_cuda::{Device, Event, PinnedVec, address, with_carveout};
use device_tests::{Library, each_device};
use sparse_core::op::{DenseToCompressedPlan, DenseToCsrKernel, Keep, Operations};
use sparse_core::reference::Reference;
use sparse_core::{Backend, Csr, DenseView, Error, Order, PlanOptions, Row, Space, SparseFormat};
use std::time::Instant;

pub(super) fn memory_keeps_what_is_written_in_pieces_and_whole(library: &Library) {
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

pub(super) fn a_carve_out_changes_no_result(library: &Library) {
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

pub(super) fn pinned_memory_is_copied_whole_and_in_part(library: &Library) {
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

pub(super) fn threads_upload_beside_each_other_and_beside_work(library: &Library) {
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

pub(super) fn events_measure_copies_and_views_have_addresses(library: &Library) {
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

pub(super) fn too_much_memory_is_refused_and_the_context_stays_usable(library: &Library) {
    each_device(library, |backend| {
        let total = backend.caps().memory_bytes.unwrap();
        for needed in [1 << 60, total] {
            let error = backend.zeros::<u8>(needed as usize).unwrap_err();
            let Error::OutOfMemory { needed: said, available } = error else { panic!("{error}") };
            assert!(said >= needed && available.is_none_or(|available| available <= total), "{error}");
            assert_eq!(backend.download(&backend.upload(&[1_i32]).unwrap()).unwrap(), [1]);
        }
    });
}
