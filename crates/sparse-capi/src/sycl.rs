//! The device of a caller's SYCL queue.

use crate::failure::Failure;
use crate::matrix::Matrices;
use crate::memory::CallerMemory;
use backend_opencl::Device;
use backend_opencl::sycl::{address, borrow, on_queue};
use sparse_core::backend::{Buf, ViewMutOf, ViewOf};
use sparse_core::{Backend, Csr, Element, Result, Scalar, Space, SpaceOf};
use std::ffi::c_void;

/// The device of a queue.
///
/// # Safety
/// As for [`on_queue`].
pub(crate) unsafe fn open(queue: *const c_void) -> Result<Box<dyn Matrices>, Failure> {
    // SAFETY: the caller promises the same.
    Ok(Box::new(unsafe { on_queue(queue)? }))
}

impl CallerMemory for Device {
    type Elements<T: Element> = Buf<Self, T>;
    type Csr<T: Scalar> = Csr<T, SpaceOf<Self>>;

    unsafe fn borrow<T: Element>(&self, pointer: *mut T, len: usize) -> Result<Buf<Self, T>> {
        if len == 0 {
            return self.upload(&[]);
        }
        // SAFETY: the caller promises what is asked.
        unsafe { borrow(self, pointer, len) }
    }

    fn view<T: Element>(elements: &Buf<Self, T>) -> ViewOf<'_, Self, T> {
        <Self as Space>::view(elements)
    }

    fn view_mut<T: Element>(elements: &mut Buf<Self, T>) -> ViewMutOf<'_, Self, T> {
        <Self as Space>::view_mut(elements)
    }

    fn csr<T: Scalar>(
        &self,
        shape: (usize, usize),
        offsets: Buf<Self, i32>,
        indices: Buf<Self, i32>,
        values: Buf<Self, T>,
    ) -> Result<Self::Csr<T>> {
        self.compressed(shape, offsets, indices, values)
    }

    fn owned<T: Scalar>(matrix: Csr<T, SpaceOf<Self>>) -> Self::Csr<T> {
        matrix
    }

    fn addresses<T: Scalar>(matrix: &Self::Csr<T>) -> (*const i32, *const i32, *const T) {
        (
            address(&<Self as Space>::view(matrix.offsets())),
            address(&<Self as Space>::view(matrix.indices())),
            address(&<Self as Space>::view(matrix.values())),
        )
    }
}
