//! The tests that every driver has to pass, on every SYCL device that is here, and what is SYCL's own.
#![cfg(feature = "sycl")]

use backend_opencl::sycl::{Sycl, SyclDriver, probe};
use device_tests::each_device;
use sparse_core::{Backend, Error};

device_tests::tests!(backend_opencl::sycl::SyclDriver);

#[test]
fn an_empty_list_has_a_reason() {
    let found = probe();
    assert_eq!(found.devices.is_empty(), found.reason.is_some());
    assert!(found.devices.iter().all(|caps| caps.backend == "sycl" && caps.compute_units > 0));
}

#[test]
fn too_much_memory_is_refused_and_the_backend_stays_usable() {
    each_device::<SyclDriver>(|backend| {
        let error = backend.zeros::<u8>(1 << 60).unwrap_err();
        assert!(matches!(error, Error::OutOfMemory { needed: 0x1000_0000_0000_0000, .. }), "{error}");
        assert_eq!(backend.download(&backend.upload(&[1_i32]).unwrap()).unwrap(), [1]);
    });
}

#[test]
fn a_device_that_is_not_there_is_an_error_that_says_what_is() {
    let error = Sycl::new(usize::MAX).unwrap_err().to_string();
    assert!(error.starts_with("sycl device 18446744073709551615 is not supported: "), "{error}");
}
