//! Drivers and devices that are refused, and one with a carve-out.

use super::{with_stand_in, works};
use backend_cuda::CUDA;
#[test]
fn an_old_driver_is_refused_with_both_versions() {
    with_stand_in(
        "an_old_driver_is_refused_with_both_versions",
        &[("STAND_IN_VERSION", "12030")],
        &[],
        || {
            let reason = CUDA.probe().reason.unwrap();
            assert!(reason.contains("12.3") && reason.contains("12.4"), "{reason}");
        },
    );
}

#[test]
fn a_driver_without_a_function_is_refused_by_its_name() {
    let test = "a_driver_without_a_function_is_refused_by_its_name";
    with_stand_in(test, &[], &["-DWITHOUT_A_FUNCTION"], || {
        let reason = CUDA.probe().reason.unwrap();
        assert!(reason.contains("lacks cuFuncGetParamInfo"), "{reason}");
    });
}

#[test]
fn a_device_that_says_nothing_does_not_hide_the_others() {
    let variables = [("STAND_IN_BROKEN", "0"), ("STAND_IN_DEVICES", "3")];
    with_stand_in("a_device_that_says_nothing_does_not_hide_the_others", &variables, &[], || {
        assert_eq!(CUDA.probe().devices.len(), 2);
        (0..2).for_each(|index| works(&CUDA.open(index).unwrap()));
    });
}

#[test]
fn where_no_device_is_usable_the_reason_says_why() {
    let variables = [("STAND_IN_BROKEN", "0"), ("STAND_IN_DEVICES", "1")];
    with_stand_in("where_no_device_is_usable_the_reason_says_why", &variables, &[], || {
        let reason = CUDA.probe().reason.unwrap();
        assert!(reason.contains("asking device 0"), "{reason}");
    });
}

#[test]
fn a_device_with_a_carve_out_is_one_as_any_other() {
    with_stand_in("a_device_with_a_carve_out_is_one_as_any_other", &[], &[], || {
        [0, 50, 100].into_iter().for_each(|percent| works(&backend_cuda::with_carveout(0, percent).unwrap()));
        let error = backend_cuda::with_carveout(0, 101).unwrap_err().to_string();
        assert!(error.contains("a carve-out of 101 % is not supported"), "{error}");
        assert!(backend_cuda::with_carveout(9, 50).is_err());
    });
}
