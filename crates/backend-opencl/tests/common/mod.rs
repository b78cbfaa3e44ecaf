//! What the tests of this crate share.
#![allow(dead_code, reason = "no test file uses all of it")]
#![allow(clippy::print_stderr, reason = "a test that is skipped says so")]

use backend_opencl::{OpenCl, probe};
use sparse_core::{Scalar, c64};

/// Runs a test on every OpenCL device. Where there is none, the test has nothing to show and says so on stderr.
pub(crate) fn each_device(test: impl Fn(&OpenCl)) {
    let found = probe();
    if let Some(reason) = found.reason {
        eprintln!("skipped, for there is no OpenCL device: {reason}");
    }
    for index in 0..found.devices.len() {
        test(&OpenCl::new(index).expect("a device that was found opens"));
    }
}

/// Small integers, never zero, that follow no pattern a kernel could hide in.
pub(crate) fn values<T: Scalar>(n: usize, seed: usize) -> Vec<T> {
    let number = |k: usize| ((k * 2_654_435_761 + seed * 40_503) >> 7) as i64 % 4;
    (0..n).map(|k| T::from_c64(c64::new(number(k) as f64 - 4.0, number(k + 1) as f64))).collect()
}

/// Whether two sums of `n` terms agree but for the rounding of a type of so many bits.
pub(crate) fn close(found: c64, expected: c64, precision: u32, n: usize, what: &str) {
    let bound = (n as f64 + 4.0) * 0.5_f64.powi(precision as i32) * (expected.norm() + n as f64 * 64.0);
    assert!((found - expected).norm() <= bound, "{what} of {n}: {found}, not {expected}");
}
