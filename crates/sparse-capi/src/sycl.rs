//! The device of a caller's SYCL queue, and memory there.

use crate::failure::Failure;
use crate::memory::Array;
use backend_opencl::sycl::{address, borrow, on_queue};
use nnz::space::Element;
use nnz::{Accelerator, Backend as _, BackendKind, Csr, Device, DeviceId, Index, Scalar, Space};
use std::ffi::c_void;

type Buffer<T> = <Accelerator as Space>::Buffer<T>;

/// The device of a queue.
///
/// # Safety
/// As for [`on_queue`].
pub(crate) unsafe fn open(queue: *const c_void) -> Result<Device, Failure> {
    // The caller's queue has no index; the name is shown in no message of this library.
    let id = DeviceId { backend: BackendKind::Sycl, index: 0 };
    // SAFETY: the caller promises the same.
    Ok(Device::Accelerator(unsafe { on_queue(queue)? }, id))
}

/// A buffer over the caller's unified shared memory.
///
/// # Safety
/// As for [`borrow`].
pub(crate) unsafe fn buffer<T: Element>(
    device: &Accelerator,
    array: Array<'_>,
) -> Result<Buffer<T>, Failure> {
    let pointer = array.checked::<T>()?;
    if array.len == 0 {
        return Ok(device.upload(&[])?);
    }
    // SAFETY: the caller promises what is asked.
    unsafe { borrow(device, pointer, array.len) }.map_err(|error| Failure::memory(array.name, &error))
}

/// A copy of the caller's elements on the host.
///
/// # Safety
/// As for [`borrow`].
pub(crate) unsafe fn to_vec<T: Element>(device: &Accelerator, array: Array<'_>) -> Result<Vec<T>, Failure> {
    // SAFETY: the caller promises what is asked.
    Ok(device.download(&unsafe { buffer(device, array)? })?)
}

/// The addresses of the offsets, the indices and the values of CSR on a queue's device.
pub(crate) fn addresses<T: Scalar, I: Index, O: Index>(matrix: &nnz::Matrix) -> Option<[*const c_void; 3]> {
    let a = matrix.downcast_ref::<Csr<T, Accelerator, I, O>>()?;
    Some([
        address(&Accelerator::view(a.offsets())).cast(),
        address(&Accelerator::view(a.indices())).cast(),
        address(&Accelerator::view(a.values())).cast(),
    ])
}
