//! The OpenCL devices of this machine and their properties, found once a process.

use kernels_core::File;
use opencl3::device::{CL_DEVICE_TYPE_ALL, CL_DEVICE_TYPE_CPU, CL_FP_DENORM, Device};
use opencl3::error_codes::{CL_DEVICE_NOT_FOUND, ClError, DLOPEN_RUNTIME_LOAD_FAILED};
use opencl3::platform::get_platforms;
use sparse_core::{Caps, Error, Result};
use sparse_device::Properties;
use std::path::Path;
use std::sync::OnceLock;

/// The name of the backend of these devices.
pub(crate) const NAME: &str = "opencl";

/// The first architecture of NVIDIA whose lanes exchange values by shuffles: `NV_ARCH` of `lanes.clh`.
const SHUFFLING: u32 = 70;

/// NVIDIA's first driver with version 7.4 of PTX, whose loads say what leaves a cache first.
const FIRST_DRIVER: u32 = 470;

/// Warps of a work-group whose lanes shuffle: `WARPS_OF_GROUP` of `lanes.clh`.
const WARPS_THAT_SHUFFLE: usize = 8;

/// A GPU's memory over the limit of its pool of released memory.
const POOL_PART: usize = 4;

/// A device and its properties.
#[derive(Debug)]
pub(crate) struct DeviceInfo {
    id: usize,
    pub(crate) properties: Properties,
    pub(crate) memory_bytes: u64,
    pub(crate) largest_buffer: u64,
    /// True under Oclgrind, whose check of uninitialized memory takes a new buffer for a released one with its number,
    /// and forgets a buffer's state when the host writes or copies to its middle: its reports are right only where no
    /// buffer is released and the host writes buffers from their beginning.
    pub(crate) checks_reads: bool,
    /// The limit of the pool of released memory, in bytes: a GPU's driver takes long to allocate.
    pub(crate) pool_bytes: usize,
}

impl DeviceInfo {
    /// True for OpenCL's device `id`.
    #[cfg(feature = "sycl")]
    pub(crate) fn is(&self, id: opencl3::types::cl_device_id) -> bool {
        self.id == id as usize
    }

    pub(crate) fn device(&self) -> Device {
        Device::new(self.id as opencl3::types::cl_device_id)
    }

    pub(crate) fn new(
        backend: &'static str,
        files: &'static [File],
        platform: &str,
        device: Device,
    ) -> Result<Self, ClError> {
        let features: Vec<_> = device.extensions()?.split_whitespace().map(String::from).collect();
        let memory_bytes = device.global_mem_size()?;
        let is_cpu = device.dev_type()? & CL_DEVICE_TYPE_CPU != 0;
        let caps = Caps {
            backend,
            device: format!("{} ({platform})", device.name()?.trim()),
            compute_units: device.max_compute_units()? as usize,
            is_cpu,
            memory_bytes: Some(memory_bytes),
            f64: features.iter().any(|name| name == "cl_khr_fp64"),
            flushes_subnormals: device.single_fp_config()? & CL_FP_DENORM == 0,
            features,
        };
        Ok(Self {
            id: device.id() as usize,
            properties: Properties {
                caps,
                files,
                warps_per_group: 1,
                exchanging_warps_per_group: if can_shuffle(&device) { WARPS_THAT_SHUFFLE } else { 1 },
                cache_bytes: cache_bytes(&device)?,
                local_bytes: device.local_mem_size()? as usize,
                shared_bytes: 0,
                largest_group: device.max_work_group_size()?,
            },
            memory_bytes,
            largest_buffer: device.max_mem_alloc_size()?,
            pool_bytes: if is_cpu || platform == "Oclgrind" { 0 } else { memory_bytes as usize / POOL_PART },
            checks_reads: platform == "Oclgrind" && std::env::var_os("OCLGRIND_UNINITIALIZED").is_some(),
        })
    }
}

/// The architecture of a device of NVIDIA's own driver: its compute capability, times ten; 0 for other devices, and
/// where the driver is older than the assembly of `words.clh`.
pub(crate) fn nvidia_architecture(device: &Device) -> u32 {
    // PoCL has the first extension on NVIDIA's devices, too, but not the options of NVIDIA's compiler.
    let is_nvidias = device.extensions().is_ok_and(|all| {
        ["cl_nv_device_attribute_query", "cl_nv_compiler_options"].iter().all(|name| all.contains(name))
    });
    let version = device.driver_version().unwrap_or_default();
    let major = version.split('.').next().and_then(|major| major.parse::<u32>().ok()).unwrap_or(0);
    if !is_nvidias || major < FIRST_DRIVER {
        return 0;
    }
    let number = |found: Result<u32, ClError>| found.unwrap_or(0);
    10 * number(device.compute_capability_major_nv()) + number(device.compute_capability_minor_nv())
}

/// True if lanes of a warp exchange values by shuffles (`lanes.clh`).
fn can_shuffle(device: &Device) -> bool {
    nvidia_architecture(device) >= SHUFFLING
}

/// Bytes of the cache that all work-groups share. NVIDIA's driver says at most how much the L1 caches have together:
/// then it is what devices of the architecture have.
fn cache_bytes(device: &Device) -> Result<usize, ClError> {
    let is_large = device.global_mem_size()? > 128 << 30;
    let typical = match nvidia_architecture(device) {
        0 => 0,
        80 => 40 << 20,
        89 => 32 << 20,
        90 if is_large => 60 << 20,
        90 => 50 << 20,
        100..=109 => 120 << 20,
        110.. => 32 << 20,
        _ => 4 << 20,
    };
    Ok(typical.max(device.global_mem_cache_size()? as usize))
}

/// All devices of all platforms, or the reason why there are none. They are listed once: the loader reads its list once
/// a process, and PoCL 3.1 crashes where two threads ask for the first time.
pub(crate) fn opencl() -> Result<&'static [DeviceInfo], String> {
    static DEVICES: OnceLock<Result<Vec<DeviceInfo>, String>> = OnceLock::new();
    DEVICES.get_or_init(find_devices).as_deref().map_err(String::clone)
}

fn find_devices() -> Result<Vec<DeviceInfo>, String> {
    if let Some(vendors) = std::env::var_os("OCL_ICD_VENDORS") {
        check_vendors(Path::new(&vendors))?;
    }
    let platforms = get_platforms().map_err(|code| match code.0 {
        DLOPEN_RUNTIME_LOAD_FAILED => "no OpenCL loader (libOpenCL) was found".into(),
        _ => format!("the OpenCL loader found no runtime: {code}"),
    })?;
    let mut asked = vec![];
    for platform in &platforms {
        let name = platform.name().unwrap_or_default();
        let reason = |code: ClError| format!("{}: {code}", name.trim());
        match platform.get_devices(CL_DEVICE_TYPE_ALL) {
            Ok(ids) => asked.extend(ids.into_iter().map(|id| {
                DeviceInfo::new(NAME, kernels_cl::FILES, name.trim(), Device::new(id)).map_err(reason)
            })),
            Err(code) if code.0 == CL_DEVICE_NOT_FOUND => {}
            Err(code) => asked.push(Err(reason(code))),
        }
    }
    usable(asked, format!("the OpenCL loader found {} platforms without a device", platforms.len()))
}

/// The devices whose properties could be read: a failing one hides no other. Without any, `none` and the failures.
pub(crate) fn usable<T>(asked: Vec<Result<T, String>>, none: String) -> Result<Vec<T>, String> {
    let (mut usable, mut reasons) = (vec![], vec![none]);
    for device in asked {
        match device {
            Ok(device) => usable.push(device),
            Err(reason) => reasons.push(reason),
        }
    }
    if usable.is_empty() { Err(reasons.join("; ")) } else { Ok(usable) }
}

/// The capabilities of a backend's devices.
pub(crate) fn caps(devices: Result<&'static [DeviceInfo], String>) -> Result<Vec<Caps>, String> {
    Ok(devices?.iter().map(|device| device.properties.caps.clone()).collect())
}

/// Device number `index` of a backend.
pub(crate) fn by_index(
    backend: &'static str,
    devices: Result<&'static [DeviceInfo], String>,
    index: usize,
) -> Result<&'static DeviceInfo> {
    let unsupported = |reason| Error::unsupported(format!("{backend} device {index}"), reason);
    let devices = devices.map_err(unsupported)?;
    devices.get(index).ok_or_else(|| unsupported(format!("there are {}", devices.len())))
}

/// An error if the path at which the loader looks for runtimes is missing or an empty folder.
fn check_vendors(vendors: &Path) -> Result<(), String> {
    let reason = |what: &str| Err(format!("OCL_ICD_VENDORS names {}, {what}", vendors.display()));
    if vendors.is_dir() {
        let files = vendors.read_dir().into_iter().flatten().flatten();
        let any = files.into_iter().any(|file| file.path().extension().is_some_and(|end| end == "icd"));
        return if any { Ok(()) } else { reason("a folder without .icd files") };
    }
    let is_path = vendors.components().count() > 1;
    if is_path && !vendors.exists() { reason("which does not exist") } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_that_says_nothing_hides_no_other() {
        let refused = || Err("a: CL_OUT_OF_RESOURCES".to_string());
        let none = || "there is none".to_string();
        assert_eq!(usable(vec![refused(), Ok(1), refused(), Ok(2)], none()), Ok(vec![1, 2]));
        let reason = usable::<i32>(vec![refused()], none()).unwrap_err();
        assert_eq!(reason, "there is none; a: CL_OUT_OF_RESOURCES");
        assert_eq!(usable::<i32>(vec![], none()), Err(none()));
    }

    #[test]
    fn a_missing_or_empty_folder_of_vendors_is_no_runtime() {
        let missing = Path::new("/nowhere/at/all");
        assert!(check_vendors(missing).unwrap_err().contains("does not exist"));
        let folder = std::env::temp_dir().join(format!("nnz-vendors-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        assert!(check_vendors(&folder).unwrap_err().contains("without .icd files"));
        std::fs::write(folder.join("a.icd"), "libnothing.so").unwrap();
        assert_eq!(check_vendors(&folder), Ok(()));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
