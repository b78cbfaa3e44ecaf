//! The C structures of DLPack.
//!
//! Source: <https://dmlc.github.io/dlpack/latest/c_api.html>.

#[cfg(doc)]
use super::READ_ONLY;
use std::ffi::c_void;

/// `DLDevice`: the kind of a device, and its number.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct DLDevice {
    /// `DLDeviceType`.
    pub device_type: i32,
    /// The number among the devices of the kind.
    pub device_id: i32,
}

/// `DLDataType`: kind, bits and lanes of an element.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct DLDataType {
    /// `DLDataTypeCode`.
    pub code: u8,
    /// Bits of a lane.
    pub bits: u8,
    /// Lanes of a vector type; 1 for numbers.
    pub lanes: u16,
}

/// `DLTensor`: an array in memory.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct DLTensor {
    /// An address, or on OpenCL a `cl_mem`.
    pub data: *mut c_void,
    /// The device of the memory.
    pub device: DLDevice,
    /// The number of axes.
    pub ndim: i32,
    /// The type of the elements.
    pub dtype: DLDataType,
    /// The extents.
    pub shape: *mut i64,
    /// The elements between neighbours along each axis; null for an array in C order.
    pub strides: *mut i64,
    /// Bytes from `data` to the first element.
    pub byte_offset: u64,
}

/// `DLManagedTensor`: a tensor with its owner, before version 1.0.
#[repr(C)]
#[derive(Debug)]
pub struct DLManagedTensor {
    /// The array.
    pub dl_tensor: DLTensor,
    /// The owner's own.
    pub manager_ctx: *mut c_void,
    /// Gives the tensor back.
    pub deleter: Option<unsafe extern "C" fn(*mut Self)>,
}

/// `DLPackVersion`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct DLPackVersion {
    /// Structures of another major version have another layout.
    pub major: u32,
    /// The minor version.
    pub minor: u32,
}

/// `DLManagedTensorVersioned`: a tensor with its owner, from version 1.0 on.
#[repr(C)]
#[derive(Debug)]
pub struct DLManagedTensorVersioned {
    /// The version of the structure.
    pub version: DLPackVersion,
    /// The owner's own.
    pub manager_ctx: *mut c_void,
    /// Gives the tensor back.
    pub deleter: Option<unsafe extern "C" fn(*mut Self)>,
    /// [`READ_ONLY`] and others.
    pub flags: u64,
    /// The array.
    pub dl_tensor: DLTensor,
}
