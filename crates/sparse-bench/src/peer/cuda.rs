//! Addresses of device memory for NVIDIA's libraries.

use backend_cuda::address;
use sparse_core::Element;
use sparse_device::View;
use std::ffi::c_void;
use std::ptr;

/// The first element of a view, for calls that take any pointer.
pub(super) fn pointer<T: Element>(view: &View<'_, T>) -> *mut c_void {
    ptr::without_provenance_mut(address(view) as usize)
}
