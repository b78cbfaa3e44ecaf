//! The substitute for SYCL in a library without it: there are no queues, and no memory of theirs.

use crate::failure::Failure;
use crate::memory::Array;
use nnz::space::Element;
use nnz::{Accelerator, Device, Error, Index, Scalar, Space};
use std::ffi::c_void;

fn no_sycl() -> Failure {
    Error::unsupported("a SYCL queue", "the library was built without its feature `sycl`").into()
}

/// An error.
///
/// # Safety
/// None; unsafe only to match the function of the module `sycl`.
pub(crate) unsafe fn open(_: *const c_void) -> Result<Device, Failure> {
    Err(no_sycl())
}

/// An error.
///
/// # Safety
/// As for [`open`].
pub(crate) unsafe fn buffer<T: Element>(
    _: &Accelerator,
    _: Array<'_>,
) -> Result<<Accelerator as Space>::Buffer<T>, Failure> {
    Err(no_sycl())
}

/// An error.
///
/// # Safety
/// As for [`open`].
pub(crate) unsafe fn to_vec<T: Element>(_: &Accelerator, _: Array<'_>) -> Result<Vec<T>, Failure> {
    Err(no_sycl())
}

/// `None`: there is no memory of a queue.
#[expect(clippy::extra_unused_type_parameters, reason = "those of the other module")]
pub(crate) fn addresses<T: Scalar, I: Index, O: Index>(_: &nnz::Matrix) -> Option<[*const c_void; 3]> {
    None
}
