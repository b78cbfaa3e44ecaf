//! Arrays of other processes in the memory of a GPU.

use super::{IndexType, Matrix, Vector};
use crate::Device;
#[cfg(feature = "cuda")]
use backend_cuda::IpcMemory;
#[cfg(feature = "cuda")]
use sparse_core::{Backend as _, Index, Row, Scalar, with_dtype};
use sparse_core::{DType, Error, Result};
#[cfg(feature = "cuda")]
use sparse_device::{Buffer, Device as Accelerator};

/// An array in the memory of a CUDA GPU that another process of this machine has allocated, in C order.
///
/// That process has finished writing it, and keeps it until the call that takes it is done.
///
/// ```
/// # use nnz::prelude::*;
/// use nnz::IpcArray;
///
/// /// Three numbers, by the handle that another process has of `cuIpcGetMemHandle` and has sent.
/// fn received(device: &Device, handle: [u8; 64]) -> nnz::Result<Vector> {
///     Vector::from_ipc(device, DType::F64, &IpcArray { handle, byte_offset: 0, len: 3 })
/// }
///
/// let error = received(&Device::host()?, [0; 64]).unwrap_err().to_string();
/// assert!(error.ends_with("a CUDA device is needed, in a build with the feature `cuda`"));
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IpcArray {
    /// The handle of the allocation, from `cuIpcGetMemHandle`.
    pub handle: [u8; 64],
    /// Bytes from the start of the allocation to the first element.
    pub byte_offset: usize,
    /// The number of elements. Without any the handle is not opened.
    pub len: usize,
}

impl Matrix {
    /// A CSR matrix of copies of arrays that another process has on the same GPU, which are checked there.
    ///
    /// # Errors
    /// [`Unsupported`](Error::Unsupported) if the device is not CUDA's, the arrays are on another GPU or pass the end
    /// of their allocations; those of [`Csr::new_unsorted`](crate::Csr::new_unsorted); errors of the driver.
    pub fn from_ipc(
        device: &Device,
        shape: (usize, usize),
        (index_type, dtype): (IndexType, DType),
        arrays: [&IpcArray; 3],
    ) -> Result<Self> {
        #[cfg(feature = "cuda")]
        if let Device::Accelerator(gpu, _) = device {
            return with_dtype!(dtype, T => match index_type {
                IndexType::I32 => copy_csr::<T, i32>(device, gpu, shape, arrays),
                IndexType::I64 => copy_csr::<T, i64>(device, gpu, shape, arrays),
            });
        }
        let _ = (shape, index_type, dtype, arrays);
        Err(not_here(device))
    }
}

impl Vector {
    /// A copy of an array that another process has on the same GPU.
    ///
    /// # Errors
    /// As for [`Matrix::from_ipc`].
    pub fn from_ipc(device: &Device, dtype: DType, array: &IpcArray) -> Result<Self> {
        #[cfg(feature = "cuda")]
        if let Device::Accelerator(gpu, _) = device {
            return with_dtype!(dtype, T => Self::wrap::<T>(device, copy(gpu, array)?));
        }
        let _ = (dtype, array);
        Err(not_here(device))
    }

    /// Copies the elements to an array that another process has on the same GPU, and waits until they are there.
    ///
    /// # Errors
    /// As for [`Matrix::from_ipc`]; [`Error::Shape`] for an array of another length.
    ///
    /// # Safety
    /// That process allows the elements of the array to change, and uses them only when the call has ended.
    pub unsafe fn write_to_ipc(&self, array: &IpcArray) -> Result<()> {
        if self.len() != array.len {
            let found = format!("{} elements for an array of {}", self.len(), array.len);
            return Err(Error::shape("an array of another process", found));
        }
        if array.len == 0 {
            return Ok(());
        }
        #[cfg(feature = "cuda")]
        if let Device::Accelerator(gpu, _) = self.device() {
            return with_dtype!(self.dtype(), T => {
                let elements = self.view_in::<Accelerator, T>(gpu.context()).ok_or_else(|| not_here(self.device()))?;
                // SAFETY: the caller's promise.
                unsafe { IpcMemory::open(gpu, &array.handle)?.write(array.byte_offset, &elements) }
            });
        }
        Err(not_here(self.device()))
    }
}

fn not_here(device: &Device) -> Error {
    let reason = "a CUDA device is needed, in a build with the feature `cuda`";
    Error::unsupported(format_args!("memory of another process on {device}"), reason)
}

#[cfg(feature = "cuda")]
fn copy<T: sparse_core::Element>(gpu: &Accelerator, array: &IpcArray) -> Result<Buffer<T>> {
    if array.len == 0 {
        return gpu.upload(&[]);
    }
    IpcMemory::open(gpu, &array.handle)?.read(array.byte_offset, array.len)
}

/// Copies first, then checks: no other process can write the copies.
#[cfg(feature = "cuda")]
fn copy_csr<T: Scalar, I: Index>(
    device: &Device,
    gpu: &Accelerator,
    shape: (usize, usize),
    [offsets, indices, values]: [&IpcArray; 3],
) -> Result<Matrix> {
    let (offsets, indices, values) =
        (copy::<I>(gpu, offsets)?, copy::<I>(gpu, indices)?, copy::<T>(gpu, values)?);
    Matrix::wrap(device, gpu.compressed::<Row, T, I, I>(shape, offsets, indices, values)?)
}
