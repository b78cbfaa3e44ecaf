//! The common tests of drivers, on every OpenCL device present, and tests of OpenCL alone.

use backend_opencl::{Device, Event, OPENCL, with_clock};
use device_tests::{Library, each_device, tests};
use sparse_core::op::{DenseToCsrKernel, Op, SpmvKernel};
use sparse_core::{Algorithm, Backend, Csr, Error, Space};
use std::process::ExitCode;

fn main() -> ExitCode {
    device_tests::main(
        &OPENCL,
        &tests![
            a_device_is_found_by_a_part_of_its_name,
            memory_keeps_what_is_written_and_may_be_empty,
            too_much_memory_is_refused_and_the_backend_stays_usable,
            algorithms_by_sub_groups_are_offered_where_the_device_has_them,
            events_say_what_work_took_where_the_queue_has_a_clock,
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
    for index in 0..library.probe().devices.len() {
        let backend = with_clock(index).unwrap();
        let from = backend.zeros::<u64>(1 << 20).unwrap();
        let mut to = backend.zeros::<u64>(1 << 20).unwrap();
        let start = Event::record(&backend).unwrap();
        backend.copy(Device::view(&from), Device::view_mut(&mut to)).unwrap();
        let middle = Event::record(&backend).unwrap();
        backend.copy(Device::view(&from), Device::view_mut(&mut to)).unwrap();
        let end = Event::record(&backend).unwrap();
        let [first, both] = [&middle, &end].map(|event| event.seconds_since(&start).unwrap());
        assert!(0.0 < first && first < both && both < 60.0, "{first} s and {both} s");

        let without = library.open(index).unwrap();
        let start = Event::record(&without).unwrap();
        assert!(matches!(Event::record(&without).unwrap().seconds_since(&start), Err(Error::Backend { .. })));
    }
}
