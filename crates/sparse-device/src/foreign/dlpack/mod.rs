//! DLPack: tensors of other libraries, by the structures of version 1.0 and of older ones.

mod structures;

pub use structures::{
    DLDataType, DLDevice, DLManagedTensor, DLManagedTensorVersioned, DLPackVersion, DLTensor,
};

use super::{ForeignArray, MemoryKind};
use sparse_core::{DType, Error, Result};
use std::ops::Deref;
use std::ptr::NonNull;
use std::slice;

/// The subject of errors.
const WHAT: &str = "a DLPack tensor";

/// The major version that [`DLManagedTensorVersioned`] has here.
pub const MAJOR_VERSION: u32 = 1;

/// The flag of a tensor that must not be written.
pub const READ_ONLY: u64 = 1;

/// The most axes: tensors with more are refused before their shape is read.
const MAX_AXES: i32 = 64;

impl ForeignArray {
    /// The description of a tensor, whose memory is not touched.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a device or a type that no matrix has, vector types among them; [`Error::Format`] for
    /// negative extents and for axes without extents.
    ///
    /// # Safety
    /// `shape` and `strides`, where they are not null, point to `ndim` numbers.
    pub unsafe fn from_dlpack(tensor: &DLTensor) -> Result<Self> {
        let memory = match tensor.device.device_type {
            // kDLCPU, kDLCUDAHost
            1 | 3 => MemoryKind::Host,
            // kDLCUDA, kDLCUDAManaged
            2 | 13 => MemoryKind::Cuda,
            4 => MemoryKind::OpenCl,
            14 => MemoryKind::Sycl,
            other => {
                let reason = format!("device type {other} is none of CPU, CUDA, OpenCL and oneAPI");
                return Err(Error::unsupported(WHAT, reason));
            }
        };
        let format = |reason: &str| Error::format(WHAT, reason);
        let device =
            usize::try_from(tensor.device.device_id).map_err(|_| format("its device has no number"))?;
        let dtype = dtype(tensor.dtype)?;
        if !(0..=MAX_AXES).contains(&tensor.ndim) {
            return Err(Error::format(WHAT, format_args!("it has {} axes", tensor.ndim)));
        }
        // SAFETY: the caller vouches for both.
        let (shape, strides) =
            unsafe { (numbers(tensor.shape, tensor.ndim), numbers(tensor.strides, tensor.ndim)) };
        let shape = shape.ok_or_else(|| format("it has axes without extents"))?;
        let extent = |&extent: &i64| {
            usize::try_from(extent)
                .map_err(|_| Error::format(WHAT, format_args!("an axis has {extent} elements")))
        };
        let shape: Vec<usize> = shape.iter().map(extent).collect::<Result<_>>()?;
        let byte_offset =
            usize::try_from(tensor.byte_offset).map_err(|_| format("its offset fits no memory"))?;
        Ok(Self {
            memory,
            device,
            handle: tensor.data.expose_provenance(),
            byte_offset,
            dtype,
            shape,
            strides: strides.map(|strides| strides.iter().map(|&stride| stride as isize).collect()),
            is_read_only: false,
            stream: None,
        })
    }
}

/// The type of elements, which are numbers and no vectors of them.
fn dtype(DLDataType { code, bits, lanes }: DLDataType) -> Result<DType> {
    match (code, bits, lanes) {
        (2, 16, 1) => Ok(DType::F16),
        (2, 32, 1) => Ok(DType::F32),
        (2, 64, 1) => Ok(DType::F64),
        (4, 16, 1) => Ok(DType::Bf16),
        (5, 64, 1) => Ok(DType::C32),
        (5, 128, 1) => Ok(DType::C64),
        (_, _, 1) => {
            let reason = format!(
                "elements of type code {code} with {bits} bits are no f16, bf16, f32, f64, c32 or c64"
            );
            Err(Error::unsupported(WHAT, reason))
        }
        _ => Err(Error::unsupported(WHAT, format!("its elements are vectors of {lanes} lanes"))),
    }
}

/// The numbers at a pointer; none if it is null, unless there are none.
///
/// # Safety
/// Where it is not null, it points to `count` numbers.
unsafe fn numbers<'a>(pointer: *const i64, count: i32) -> Option<&'a [i64]> {
    match (pointer.is_null(), count) {
        (_, 0) => Some(&[]),
        (true, _) => None,
        // SAFETY: the caller vouches for it.
        (false, count) => Some(unsafe { slice::from_raw_parts(pointer, count as usize) }),
    }
}

/// A tensor taken over from its owner, whose deleter is called when this is dropped.
///
/// Drop everything borrowed from it first, and wait for all work with it. It is not `Send`, since an owner may require
/// its thread.
#[derive(Debug)]
pub struct ManagedArray {
    array: ForeignArray,
    owner: Owner,
}

#[derive(Debug)]
enum Owner {
    Unversioned(NonNull<DLManagedTensor>),
    Versioned(NonNull<DLManagedTensorVersioned>),
}

impl ManagedArray {
    /// Takes over a tensor of a version before 1.0, as of a capsule named `dltensor`. After an error it is still its
    /// owner's.
    ///
    /// # Errors
    /// As for [`ForeignArray::from_dlpack`], and [`Error::Unsupported`] for a null pointer.
    ///
    /// # Safety
    /// The pointer is null or that of a tensor as DLPack demands it, which no other code gives back.
    pub unsafe fn from_dlpack(tensor: *mut DLManagedTensor) -> Result<Self> {
        let tensor = NonNull::new(tensor).ok_or_else(null)?;
        // SAFETY: the caller vouches for the tensor.
        let array = unsafe { ForeignArray::from_dlpack(&tensor.as_ref().dl_tensor) }?;
        Ok(Self { array, owner: Owner::Unversioned(tensor) })
    }

    /// Takes over a tensor of version 1, as of a capsule named `dltensor_versioned`. After an error it is still its
    /// owner's.
    ///
    /// # Errors
    /// As for [`from_dlpack`](Self::from_dlpack), and [`Error::Unsupported`] for another major version.
    ///
    /// # Safety
    /// As for [`from_dlpack`](Self::from_dlpack); only the version is read of a tensor with another major one.
    pub unsafe fn from_dlpack_versioned(tensor: *mut DLManagedTensorVersioned) -> Result<Self> {
        let tensor = NonNull::new(tensor).ok_or_else(null)?;
        // SAFETY: the caller vouches for the tensor, whose version comes first in all versions.
        let DLPackVersion { major, minor } = unsafe { (&raw const (*tensor.as_ptr()).version).read() };
        if major != MAJOR_VERSION {
            let reason = format!("its version is {major}.{minor}, {MAJOR_VERSION}.x is known");
            return Err(Error::unsupported(WHAT, reason));
        }
        // SAFETY: the caller vouches for the tensor, of this version.
        let DLManagedTensorVersioned { dl_tensor, flags, .. } = unsafe { tensor.as_ref() };
        // SAFETY: as above.
        let array = unsafe { ForeignArray::from_dlpack(dl_tensor) }?;
        let array = ForeignArray { is_read_only: flags & READ_ONLY != 0, ..array };
        Ok(Self { array, owner: Owner::Versioned(tensor) })
    }
}

fn null() -> Error {
    Error::unsupported(WHAT, "its pointer is null")
}

impl Deref for ManagedArray {
    type Target = ForeignArray;

    fn deref(&self) -> &ForeignArray {
        &self.array
    }
}

impl Drop for ManagedArray {
    fn drop(&mut self) {
        // SAFETY: the tensor was taken over, and is given back once. A tensor without a deleter needs none.
        unsafe {
            match self.owner {
                Owner::Unversioned(tensor) => {
                    if let Some(deleter) = tensor.as_ref().deleter {
                        deleter(tensor.as_ptr());
                    }
                }
                Owner::Versioned(tensor) => {
                    if let Some(deleter) = tensor.as_ref().deleter {
                        deleter(tensor.as_ptr());
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparse_core::Order;
    use std::cell::Cell;
    use std::ptr;

    const F32: DLDataType = DLDataType { code: 2, bits: 32, lanes: 1 };

    /// A tensor over these numbers.
    fn tensor(data: &[f32], shape: &mut [i64], strides: Option<&mut [i64]>) -> DLTensor {
        DLTensor {
            data: data.as_ptr().cast_mut().cast(),
            device: DLDevice { device_type: 1, device_id: 0 },
            ndim: shape.len() as i32,
            dtype: F32,
            shape: shape.as_mut_ptr(),
            strides: strides.map_or(ptr::null_mut(), <[i64]>::as_mut_ptr),
            byte_offset: 0,
        }
    }

    fn described(tensor: &DLTensor) -> Result<ForeignArray> {
        // SAFETY: tensors of these tests have arrays of their sizes.
        unsafe { ForeignArray::from_dlpack(tensor) }
    }

    #[test]
    fn a_tensor_is_read_where_it_lies() {
        let data = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0];
        let (mut shape, mut strides) = ([2, 2], [1, 3]);
        let tensor = DLTensor { byte_offset: 4, ..tensor(&data, &mut shape, Some(&mut strides)) };
        let array = described(&tensor).unwrap();
        let layout = array.stack().unwrap();
        assert_eq!((layout.leading_dimension, layout.order), (3, Order::ColMajor));
        // SAFETY: the data are alive.
        assert_eq!(unsafe { array.host_elements::<f32>() }.unwrap(), &data[1..6]);
    }

    #[test]
    fn every_device_with_matrices_is_known() {
        let mut shape = [1];
        for (device_type, memory) in [
            (1, MemoryKind::Host),
            (3, MemoryKind::Host),
            (2, MemoryKind::Cuda),
            (13, MemoryKind::Cuda),
            (4, MemoryKind::OpenCl),
            (14, MemoryKind::Sycl),
        ] {
            let device = DLDevice { device_type, device_id: 3 };
            let array = described(&DLTensor { device, ..tensor(&[0.0], &mut shape, None) }).unwrap();
            assert_eq!((array.memory, array.device, array.strides), (memory, 3, None));
        }
    }

    #[test]
    fn every_type_of_a_matrix_is_known_and_no_other() {
        let mut shape = [1];
        let mut of = |code, bits, lanes| {
            let dtype = DLDataType { code, bits, lanes };
            described(&DLTensor { dtype, ..tensor(&[0.0], &mut shape, None) }).map(|array| array.dtype)
        };
        for (code, bits, expected) in [
            (2, 16, DType::F16),
            (4, 16, DType::Bf16),
            (2, 32, DType::F32),
            (2, 64, DType::F64),
            (5, 64, DType::C32),
            (5, 128, DType::C64),
        ] {
            assert_eq!(of(code, bits, 1).unwrap(), expected);
        }
        for (code, bits) in [(0, 32), (1, 8), (2, 8), (2, 128), (5, 32), (6, 8), (10, 8)] {
            assert!(of(code, bits, 1).unwrap_err().to_string().contains(&format!("type code {code}")));
        }
        assert!(of(2, 32, 4).unwrap_err().to_string().contains("vectors of 4 lanes"));
        assert!(of(2, 32, 0).unwrap_err().to_string().contains("vectors of 0 lanes"));
    }

    #[test]
    fn what_is_no_array_is_refused() {
        let (data, mut shape) = ([0.0; 4], [2, 2]);
        let whole = tensor(&data, &mut shape, None);
        let reported = |tensor: DLTensor| described(&tensor).unwrap_err().to_string();
        let on = |device_type, device_id| DLDevice { device_type, device_id };
        assert!(reported(DLTensor { device: on(8, 0), ..whole }).contains("device type 8"));
        assert!(reported(DLTensor { device: on(2, -1), ..whole }).contains("no number"));
        assert!(reported(DLTensor { ndim: -1, ..whole }).contains("-1 axes"));
        assert!(reported(DLTensor { ndim: 65, ..whole }).contains("65 axes"));
        assert!(reported(DLTensor { shape: ptr::null_mut(), ..whole }).contains("axes without extents"));
        let mut negative = [2, -2];
        assert!(reported(DLTensor { shape: negative.as_mut_ptr(), ..whole }).contains("-2 elements"));
        let missing = described(&DLTensor { data: ptr::null_mut(), ..whole }).unwrap();
        // SAFETY: the null pointer is refused.
        assert!(unsafe { missing.host_elements::<f32>() }.unwrap_err().to_string().contains("null"));
        let far = described(&DLTensor { byte_offset: u64::MAX, ..whole }).unwrap();
        // SAFETY: an end past all memory is refused.
        assert!(unsafe { far.host_elements::<f32>() }.unwrap_err().to_string().contains("fit no memory"));
    }

    thread_local! {
        static DELETED: Cell<usize> = const { Cell::new(0) };
    }

    unsafe extern "C" fn delete(_: *mut DLManagedTensor) {
        DELETED.set(DELETED.get() + 1);
    }

    unsafe extern "C" fn delete_versioned(_: *mut DLManagedTensorVersioned) {
        DELETED.set(DELETED.get() + 1);
    }

    #[test]
    fn a_tensor_is_given_back_once_and_after_an_error_not_at_all() {
        let (data, mut shape) = ([1.0; 4], [2, 2]);
        let dl_tensor = tensor(&data, &mut shape, None);
        let mut managed = DLManagedTensor { dl_tensor, manager_ctx: ptr::null_mut(), deleter: Some(delete) };
        let before = DELETED.get();
        // SAFETY: the tensor is alive, and its deleter frees nothing.
        let taken = unsafe { ManagedArray::from_dlpack(&raw mut managed) }.unwrap();
        assert!(!taken.is_read_only && taken.shape == [2, 2] && DELETED.get() == before);
        drop(taken);
        assert_eq!(DELETED.get(), before + 1);
        managed.dl_tensor.dtype.lanes = 2;
        // SAFETY: as above.
        assert!(unsafe { ManagedArray::from_dlpack(&raw mut managed) }.is_err());
        managed = DLManagedTensor { dl_tensor, deleter: None, ..managed };
        // SAFETY: as above.
        drop(unsafe { ManagedArray::from_dlpack(&raw mut managed) }.unwrap());
        // SAFETY: null is refused.
        assert!(unsafe { ManagedArray::from_dlpack(ptr::null_mut()) }.is_err());
        assert_eq!(DELETED.get(), before + 1);
    }

    #[test]
    fn a_tensor_with_a_version_says_whether_it_may_be_written() {
        let (data, mut shape) = ([1.0; 4], [4]);
        let versioned = |major, flags, dl_tensor| DLManagedTensorVersioned {
            version: DLPackVersion { major, minor: 1 },
            manager_ctx: ptr::null_mut(),
            deleter: Some(delete_versioned),
            flags,
            dl_tensor,
        };
        let dl_tensor = tensor(&data, &mut shape, None);
        let before = DELETED.get();
        for (flags, is_read_only) in [(0, false), (READ_ONLY, true), (2, false), (3, true)] {
            let mut managed = versioned(1, flags, dl_tensor);
            // SAFETY: the tensor is alive, and its deleter frees nothing.
            let taken = unsafe { ManagedArray::from_dlpack_versioned(&raw mut managed) }.unwrap();
            assert_eq!(taken.is_read_only, is_read_only);
        }
        assert_eq!(DELETED.get(), before + 4);
        let mut newer = versioned(2, 0, dl_tensor);
        // SAFETY: as above.
        let reported =
            unsafe { ManagedArray::from_dlpack_versioned(&raw mut newer) }.unwrap_err().to_string();
        assert!(reported.contains("2.1") && DELETED.get() == before + 4, "{reported}");
    }

    /// The layout of DLPack's header on machines with 64 bits.
    #[test]
    fn structures_have_the_layout_of_the_header() {
        assert_eq!((size_of::<DLTensor>(), size_of::<DLManagedTensor>()), (48, 64));
        assert_eq!(std::mem::offset_of!(DLTensor, byte_offset), 40);
        assert_eq!(std::mem::offset_of!(DLManagedTensorVersioned, dl_tensor), 32);
        assert_eq!(size_of::<DLManagedTensorVersioned>(), 80);
    }
}
