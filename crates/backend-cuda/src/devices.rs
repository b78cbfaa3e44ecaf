//! The CUDA devices of this machine and their properties, found once a process.

use crate::error::{NAME, name_of};
use crate::nvrtc::Architecture;
use crate::version::{FUNCTIONS, NEEDED, Version};
use cudarc::driver::{result, sys};
use sparse_core::Caps;
use sparse_device::Properties;
use std::ffi::CStr;
use std::sync::OnceLock;

/// The first architecture whose launches may begin while the one before runs.
const OVERLAPPING: Architecture = Architecture(90);

/// Bytes of shared memory that a kernel can declare, on every architecture.
const DECLARED_BYTES: usize = 48 << 10;

/// A device and its properties.
#[derive(Debug)]
pub(crate) struct DeviceInfo {
    pub(crate) device: sys::CUdevice,
    pub(crate) properties: Properties,
    pub(crate) architecture: Architecture,
    /// True if launches may overlap.
    pub(crate) overlaps: bool,
}

impl DeviceInfo {
    fn new(index: i32) -> Result<Self, result::DriverError> {
        use sys::CUdevice_attribute as Attribute;
        let device = result::device::get(index)?;
        // SAFETY: the device was just got from the library.
        let attribute = |which| unsafe { result::device::get_attribute(device, which) };
        let major = attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
        let minor = attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
        let compute_units = attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?;
        let cache_bytes = attribute(Attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)?;
        let cache_bytes = usize::try_from(cache_bytes).unwrap_or(0);
        let shared_bytes = attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?;
        let shared_bytes = usize::try_from(shared_bytes).unwrap_or(0);
        let architecture = Architecture(major * 10 + minor);
        // SAFETY: as above.
        let memory_bytes = unsafe { result::device::total_mem(device)? };
        let caps = Caps {
            backend: NAME,
            device: device_name(device)?,
            compute_units: usize::try_from(compute_units).unwrap_or(1),
            is_cpu: false,
            memory_bytes: Some(memory_bytes as u64),
            f64: true,
            flushes_subnormals: false,
            features: vec![architecture.to_string()],
        };
        let properties = Properties {
            caps,
            files: kernels_cu::FILES,
            warps_per_group: 8,
            exchanging_warps_per_group: 8,
            cache_bytes,
            local_bytes: DECLARED_BYTES,
            shared_bytes,
            largest_group: 1024,
        };
        let overlaps = architecture >= OVERLAPPING;
        Ok(Self { device, properties, architecture, overlaps })
    }
}

/// All devices, or the reason why there are none. They are listed once.
pub(crate) fn devices() -> Result<&'static [DeviceInfo], String> {
    static DEVICES: OnceLock<Result<Vec<DeviceInfo>, String>> = OnceLock::new();
    DEVICES.get_or_init(find_devices).as_deref().map_err(String::clone)
}

/// The capabilities of the devices, or the reason why there are none.
pub(crate) fn caps() -> Result<Vec<Caps>, String> {
    Ok(devices()?.iter().map(|info| info.properties.caps.clone()).collect())
}

fn find_devices() -> Result<Vec<DeviceInfo>, String> {
    // SAFETY: the call only looks for the library.
    if !unsafe { sys::is_culib_present() } {
        return Err("the NVIDIA driver's library (libcuda.so.1, nvcuda.dll) was not found".into());
    }
    let reason = |call: &'static str| move |error| format!("{call}: {}", name_of(error));
    let mut version = 0;
    // SAFETY: nothing is called yet.
    if unsafe { sys::culib().get::<unsafe extern "C" fn()>(b"cuDriverGetVersion") }.is_err() {
        return Err("the library libcuda.so.1 or nvcuda.dll that was found is not the NVIDIA driver's".into());
    }
    // SAFETY: the call writes one number. It comes first: an older library lacks functions of the others.
    unsafe { sys::cuDriverGetVersion(&raw mut version) }.result().map_err(reason("cuDriverGetVersion"))?;
    Version(version).check()?;
    check_functions()?;
    result::init().map_err(reason("cuInit"))?;
    let count = result::device::get_count().map_err(reason("cuDeviceGetCount"))?;
    if count <= 0 {
        return Err("the NVIDIA driver found no device".into());
    }
    let mut refused = String::new();
    let mut devices = vec![];
    for index in 0..count {
        // A device whose properties cannot be read does not hide the others.
        match DeviceInfo::new(index) {
            Ok(found) => devices.push(found),
            Err(error) => refused = format!("{refused}; asking device {index}: {}", name_of(error)),
        }
    }
    if devices.is_empty() {
        return Err(format!("the NVIDIA driver has no usable device{refused}"));
    }
    Ok(devices)
}

/// An error if the library lacks a function in use; cudarc would panic when it is called.
fn check_functions() -> Result<(), String> {
    // SAFETY: the library was found, and nothing is called.
    let library = unsafe { sys::culib() };
    // SAFETY: as above.
    let lacks = |name: &str| unsafe { library.get::<unsafe extern "C" fn()>(name.as_bytes()) }.is_err();
    match FUNCTIONS.iter().find(|name| lacks(name)) {
        Some(name) => {
            Err(format!("the NVIDIA driver's library lacks {name}, which a driver of CUDA {NEEDED} has"))
        }
        None => Ok(()),
    }
}

/// The name of a device; cudarc's own function panics on one that fills its buffer.
fn device_name(device: sys::CUdevice) -> Result<String, result::DriverError> {
    let mut name = [0_u8; 256];
    let len = name.len() as i32 - 1;
    // SAFETY: the call writes at most this length, so that the last byte stays 0.
    unsafe { sys::cuDeviceGetName(name.as_mut_ptr().cast(), len, device) }.result()?;
    Ok(CStr::from_bytes_until_nul(&name).unwrap_or_default().to_string_lossy().into_owned())
}
