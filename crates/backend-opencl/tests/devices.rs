//! The common tests of drivers, on every OpenCL device present, and tests of OpenCL alone.

mod clock;

use backend_opencl::{Device, Event, Handles, OPENCL, handles, with_clock};
use cl3::command_queue::{enqueue_write_buffer, finish};
use cl3::memory::{CL_MEM_READ_WRITE, create_buffer, release_mem_object};
use device_tests::{Library, each_device, foreign, tests};
use sparse_core::op::{DenseToCsrKernel, Op, SpmvKernel};
use sparse_core::{Algorithm, Backend, Csr, DType, Error, Space};
use sparse_device::foreign::{ForeignArray, MemoryKind};
use std::process::ExitCode;
use std::ptr;

fn main() -> ExitCode {
    device_tests::main(
        &OPENCL,
        &tests![
            a_device_is_found_by_a_part_of_its_name,
            memory_keeps_what_is_written_and_may_be_empty,
            too_much_memory_is_refused_and_the_backend_stays_usable,
            algorithms_by_sub_groups_are_offered_where_the_device_has_them,
            events_say_what_work_took_where_the_queue_has_a_clock,
            buffers_of_others_are_compressed_where_they_lie,
        ],
    )
}

fn a_device_is_found_by_a_part_of_its_name(library: &Library) {
    for caps in library.probe().devices {
        let part = caps.device[2..].to_uppercase();
        assert_eq!(library.open_named(&part).unwrap().caps().device, caps.device);
    }
}

fn memory_keeps_what_is_written_and_may_be_empty(library: &Library) {
    each_device(library, |backend| {
        let numbers: Vec<i64> = (0..1000).collect();
        let device = backend.upload(&numbers).unwrap();
        assert_eq!(backend.download(&device).unwrap(), numbers);
        let part = Device::slice(Device::view(&device), 10..20);
        let mut host = [0; 5];
        backend.download_into(Device::slice(part, 5..10), &mut host).unwrap();
        assert_eq!(host, [15, 16, 17, 18, 19]);
        let mut copy = backend.zeros::<i64>(7).unwrap();
        let to = Device::slice_mut(Device::view_mut(&mut copy), 1..6);
        backend.copy(Device::slice(part, 0..5), to).unwrap();
        assert_eq!(backend.download(&copy).unwrap(), [0, 10, 11, 12, 13, 14, 0]);
        let empty = backend.upload::<f64>(&[]).unwrap();
        assert!(backend.download(&empty).unwrap().is_empty());
        backend.synchronize().unwrap();
    });
}

fn too_much_memory_is_refused_and_the_backend_stays_usable(library: &Library) {
    each_device(library, |backend| {
        let error = backend.zeros::<u8>(1 << 60).unwrap_err();
        let Error::OutOfMemory { needed, available } = error else { panic!("{error}") };
        assert_eq!(needed, 1 << 60);
        let available = available.unwrap();
        assert!(available > 0 && available <= backend.caps().memory_bytes.unwrap());
        assert_eq!(backend.download(&backend.upload(&[1_i32]).unwrap()).unwrap(), [1]);
        assert!(matches!(backend.zeros::<u64>(usize::MAX), Err(Error::IndexOverflow { .. })));
    });
}

fn algorithms_by_sub_groups_are_offered_where_the_device_has_them(library: &Library) {
    each_device(library, |backend| {
        let offered = |table: &[Algorithm]| table.iter().any(|a| a.name == "row_per_sub_group");
        let has = |extension: &str| backend.caps().features.iter().any(|feature| feature == extension);
        let products = SpmvKernel::<Csr<f32, Device>>::spmv_algorithms(backend, Op::None);
        assert_eq!(offered(products), has("cl_khr_subgroup_shuffle"));
        let compressions = DenseToCsrKernel::<f32, i32, i32>::dense_to_csr_algorithms(backend);
        assert_eq!(offered(compressions), has("cl_khr_subgroup_ballot"));
    });
}

fn events_say_what_work_took_where_the_queue_has_a_clock(library: &Library) {
    clock::check_events(library, with_clock, Event::record, Event::seconds_since);
}

/// A buffer that was not made by this library, in the context of a device, with these elements from byte `offset` on.
fn buffer_with(device: &Device, offset: usize, elements: &[f32]) -> usize {
    let Handles { context, queue, .. } = handles(device).unwrap();
    let bytes = size_of_val(elements);
    // SAFETY: context and queue are alive, no host pointer is given, and the range lies in the buffer; the elements are
    // alive until the queue has finished.
    unsafe {
        let buffer = create_buffer(context, CL_MEM_READ_WRITE, offset + bytes, ptr::null_mut()).unwrap();
        let host = elements.as_ptr().cast_mut().cast();
        enqueue_write_buffer(queue, buffer, 0, offset, bytes, host, 0, ptr::null()).unwrap();
        finish(queue).unwrap();
        buffer as usize
    }
}

fn buffers_of_others_are_compressed_where_they_lie(library: &Library) {
    each_device(library, |backend| {
        let elements = foreign::elements(4 * 35 * 20);
        let handle = buffer_with(backend, 12, &elements);
        let array = ForeignArray {
            memory: MemoryKind::OpenCl,
            device: 0,
            handle,
            byte_offset: 12,
            dtype: DType::F32,
            shape: vec![4, 33, 20],
            strides: Some(vec![700, 20, 1]),
            is_read_only: false,
            stream: None,
        };
        let transposed =
            ForeignArray { shape: vec![4, 17, 35], strides: Some(vec![700, 1, 20]), ..array.clone() };
        // SAFETY: the buffer lives to the end of this test, and no code writes it.
        unsafe {
            foreign::check_borrowed(backend, &array, &elements);
            foreign::check_borrowed(backend, &transposed, &elements);
        }
        let elsewhere = library.open(0).unwrap();
        for (device, wrong, reason) in [
            (
                backend,
                ForeignArray { byte_offset: 16, strides: None, shape: vec![2800], ..array.clone() },
                "ends at",
            ),
            (backend, ForeignArray { byte_offset: 13, ..array.clone() }, "not aligned to 4"),
            (
                backend,
                ForeignArray { memory: MemoryKind::Cuda, ..array.clone() },
                "CUDA, not of a device of opencl",
            ),
            (backend, ForeignArray { stream: Some(1), ..array.clone() }, "only CUDA's are waited for"),
            (backend, ForeignArray { handle: 0, ..array.clone() }, "null"),
            (&elsewhere, array.clone(), "another context"),
        ] {
            // SAFETY: as above.
            let reported = unsafe { foreign::refusal(device, &wrong) };
            assert!(reported.contains(reason), "{reported}");
        }
        // Dropping the borrowed matrices has not released the buffer. SAFETY: as above.
        unsafe { foreign::check_borrowed(backend, &array, &elements) };
        // SAFETY: the buffer was made here, and is not used any more.
        unsafe { release_mem_object(handle as *mut _) }.unwrap();
    });
}
