//! The common tests of drivers, on every SYCL device present, and tests of SYCL alone.

mod clock;

use backend_opencl::sycl::{Event, SYCL, address, borrow, on_queue, with_clock};
use backend_opencl::{Device, OPENCL};
use device_tests::{Library, each_device, tests};
use kernels_core::File;
use sparse_core::op::{Op, SpmvPlan};
use sparse_core::{Backend, Coo, Error, PlanOptions, Space, SparseFormat};
use std::process::ExitCode;
use std::ptr;

fn main() -> ExitCode {
    device_tests::main(
        &SYCL,
        &tests![
            too_much_memory_is_refused_and_the_backend_stays_usable,
            unified_shared_memory_is_borrowed_and_other_memory_is_refused,
            events_say_what_work_took_where_the_queue_has_a_clock,
            algorithms_in_sycl_are_offered_where_the_device_compiles_them_and_otherwise_refused_with_the_reason,
            what_does_not_compile_is_an_error_with_the_whole_log,
            sycl_that_does_not_compile_is_an_error_with_the_whole_log,
            queues_are_refused_in_a_forked_process,
        ],
    )
}

fn too_much_memory_is_refused_and_the_backend_stays_usable(library: &Library) {
    each_device(library, |backend| {
        let error = backend.zeros::<u8>(1 << 60).unwrap_err();
        assert!(matches!(error, Error::OutOfMemory { needed: 0x1000_0000_0000_0000, .. }), "{error}");
        assert_eq!(backend.download(&backend.upload(&[1_i32]).unwrap()).unwrap(), [1]);
    });
}

/// The error with which a caller's memory is refused.
fn refusal(backend: &Device, pointer: *const i32) -> String {
    // SAFETY: this is only called with pointers that are refused.
    let borrowed = unsafe { borrow(backend, pointer.cast_mut(), 4) };
    let Err(error @ Error::Unsupported { .. }) = borrowed else { panic!("{borrowed:?}") };
    error.to_string()
}

fn unified_shared_memory_is_borrowed_and_other_memory_is_refused(library: &Library) {
    each_device(library, |backend| {
        let owned = backend.upload(&[1_i32, 2, 3, 4, 5, 6, 7, 8]).unwrap();
        let pointer = address(&Device::view(&owned));
        if pointer.is_null() {
            return;
        }
        assert_eq!(address(&Device::slice(Device::view(&owned), 4..8)), pointer.wrapping_add(4));
        // SAFETY: the elements are there, and no code writes them.
        let borrowed = unsafe { borrow(backend, pointer.wrapping_add(4).cast_mut(), 4) }.unwrap();
        assert_eq!(backend.download(&borrowed).unwrap(), [5, 6, 7, 8]);
        drop(borrowed);
        assert_eq!(backend.download(&owned).unwrap()[7], 8);

        assert!(refusal(backend, pointer.wrapping_add(1)).contains("is not aligned"));
        let host = [0_u128; 2];
        assert!(refusal(backend, host.as_ptr().cast()).contains("not unified shared memory"));
        let elsewhere = library.open_preferred().unwrap().upload(&[0_i32; 4]).unwrap();
        assert!(refusal(backend, address(&Device::view(&elsewhere))).contains("of the queue's context"));
    });
}

fn events_say_what_work_took_where_the_queue_has_a_clock(library: &Library) {
    clock::check_events(library, with_clock, Event::record, Event::seconds_since);
}

fn algorithms_in_sycl_are_offered_where_the_device_compiles_them_and_otherwise_refused_with_the_reason(
    library: &Library,
) {
    let forced = PlanOptions::forced;
    let reason = |refused: Error| {
        assert!(matches!(refused, Error::Unsupported { .. }), "{refused}");
        refused.to_string()
    };
    each_device(library, |backend| {
        let needs = ["ext_oneapi_can_compile", "usm_device_allocations", "sub_group_size_32"];
        let has = |need: &&str| backend.caps().features.iter().any(|feature| feature == need);
        let coo = Coo::<f32>::from_triplets(1, 1, [(0, 0, 1.0)]).unwrap().to_device(backend).unwrap();
        let plan = SpmvPlan::new(backend, &coo, Op::None, &forced("segmented_sycl"));
        match needs.iter().find(|need| !has(need)) {
            None => assert_eq!(plan.unwrap().choice().algorithm, "segmented_sycl"),
            Some(need) => assert!(reason(plan.unwrap_err()).contains(need)),
        }
    });
    each_device(&OPENCL, |backend| {
        let coo = Coo::<f32>::from_triplets(1, 1, [(0, 0, 1.0)]).unwrap().to_device(backend).unwrap();
        let refused = SpmvPlan::new(backend, &coo, Op::None, &forced("segmented_sycl")).unwrap_err();
        assert!(reason(refused).contains("opencl has no kernels of coo_spmv_warp"));
    });
}

fn what_does_not_compile_is_an_error_with_the_whole_log(library: &Library) {
    let text = "__kernel void broken(__global int *x) { x[0] = not_declared; }";
    let file = File { name: "broken.cl", entries: &["broken"], defines: &[], needs: &[], text, headers: &[] };
    each_device(library, |backend| {
        let error = backend.compile(&file, &[("MORE", "1")]).unwrap_err();
        let Error::Backend { backend: "sycl", ref source } = error else { panic!("{error}") };
        let message = source.to_string();
        for part in ["broken.cl", "-D MORE=1", "not_declared"] {
            assert!(message.contains(part), "{part} is not in {message}");
        }
    });
}

fn sycl_that_does_not_compile_is_an_error_with_the_whole_log(library: &Library) {
    let text = "int broken() { return not_declared; }";
    let file = File { name: "broken.sycl", entries: &[], defines: &[], needs: &[], text, headers: &[] };
    each_device(library, |backend| {
        let error = backend.compile(&file, &[("MORE", "1")]).unwrap_err();
        let Error::Backend { backend: "sycl", ref source } = error else { panic!("{error}") };
        let message = source.to_string();
        let compiles = backend.caps().features.iter().any(|feature| feature == "ext_oneapi_can_compile");
        for part in ["broken.sycl", "-D MORE=1"].into_iter().chain(compiles.then_some("not_declared")) {
            assert!(message.contains(part), "{part} is not in {message}");
        }
    });
}

fn queues_are_refused_in_a_forked_process(library: &Library) {
    assert!(!library.probe().devices.is_empty());
    // SAFETY: the child asks for a device, which it is refused, and ends.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: the queue is not looked at.
        let refused = unsafe { on_queue(ptr::null()) }.is_err() && with_clock(0).is_err();
        // SAFETY: nothing is run at the end of the process.
        unsafe { libc::_exit(i32::from(!refused)) };
    }
    let mut status = 0;
    // SAFETY: the status may be written.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0, "{status}");
}
