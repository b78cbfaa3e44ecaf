//! Devices that were found, and how much of their memory is given out.

use crate::cl;
use kernels_core::File;
use opencl3::device::{CL_DEVICE_TYPE_ALL, CL_DEVICE_TYPE_CPU, CL_FP_DENORM, Device};
use opencl3::error_codes::{CL_DEVICE_NOT_FOUND, ClError, DLOPEN_RUNTIME_LOAD_FAILED};
use opencl3::platform::get_platforms;
use sparse_core::{Caps, Error, Result};
use sparse_device::Properties;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// Of so many bytes of a GPU's memory, one may be kept when it is released.
const KEPT_PART: usize = 4;

/// A device that was found, and what was asked of it.
#[derive(Debug)]
pub(crate) struct Found {
    id: usize,
    pub(crate) properties: Properties,
    memory_bytes: u64,
    largest_buffer: u64,
    /// Oclgrind's check of uninitialised memory takes a new buffer for a released one that had its number, and forgets what
    /// it knew of a buffer when the host writes or copies to its middle: what it says is true only where no buffer is
    /// released and the host writes them from their beginning.
    pub(crate) checks_reads: bool,
    /// Bytes of released memory that are kept, at most: an allocation of memory of its own takes a GPU's driver long.
    pub(crate) keeps_bytes: usize,
}

impl Found {
    /// Whether this is OpenCL's device `id`.
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
                cache_bytes: device.global_mem_cache_size()? as usize,
                shared_bytes: 0,
                largest_group: device.max_work_group_size()?,
            },
            memory_bytes,
            largest_buffer: device.max_mem_alloc_size()?,
            keeps_bytes: if is_cpu || platform == "Oclgrind" { 0 } else { memory_bytes as usize / KEPT_PART },
            checks_reads: platform == "Oclgrind" && std::env::var_os("OCLGRIND_UNINITIALIZED").is_some(),
        })
    }
}

/// All devices of all platforms, or why there are none. They are looked for once: the loader reads its list once a
/// process, and PoCL 3.1 crashes where two threads ask for the first time.
pub(crate) fn devices() -> Result<&'static [Found], String> {
    static DEVICES: OnceLock<Result<Vec<Found>, String>> = OnceLock::new();
    DEVICES.get_or_init(find_devices).as_deref().map_err(String::clone)
}

fn find_devices() -> Result<Vec<Found>, String> {
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
                Found::new(cl::NAME, kernels_cl::FILES, name.trim(), Device::new(id)).map_err(reason)
            })),
            Err(code) if code.0 == CL_DEVICE_NOT_FOUND => {}
            Err(code) => asked.push(Err(reason(code))),
        }
    }
    usable(asked, format!("the OpenCL loader found {} platforms without a device", platforms.len()))
}

/// The devices that say what they are: one that does not hides no other. Without any, `none` and what was said.
pub(crate) fn usable<T>(asked: Vec<Result<T, String>>, none: String) -> Result<Vec<T>, String> {
    let (mut found, mut reasons) = (vec![], vec![none]);
    for device in asked {
        match device {
            Ok(device) => found.push(device),
            Err(reason) => reasons.push(reason),
        }
    }
    if found.is_empty() { Err(reasons.join("; ")) } else { Ok(found) }
}

/// What the devices that a backend found can do.
pub(crate) fn caps(found: Result<&'static [Found], String>) -> Result<Vec<Caps>, String> {
    Ok(found?.iter().map(|found| found.properties.caps.clone()).collect())
}

/// Device number `index` of those that a backend found.
pub(crate) fn number(
    backend: &'static str,
    found: Result<&'static [Found], String>,
    index: usize,
) -> Result<&'static Found> {
    let unsupported = |reason| Error::unsupported(format!("{backend} device {index}"), reason);
    let found = found.map_err(unsupported)?;
    found.get(index).ok_or_else(|| unsupported(format!("there are {}", found.len())))
}

/// An error if the place where the loader is told to look for runtimes is a missing path or an empty folder.
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

/// Bytes of the words that memory is made of.
pub(crate) const WORD_BYTES: usize = 16;

/// So many bytes, in whole words and never none: OpenCL knows no buffers of 0 bytes.
pub(crate) fn in_whole_words(bytes: usize) -> usize {
    bytes.max(1).checked_next_multiple_of(WORD_BYTES).unwrap_or(usize::MAX)
}

/// What a context has taken of its device's memory.
#[derive(Debug, Clone)]
pub(crate) struct Account {
    found: &'static Found,
    used_bytes: Arc<AtomicU64>,
}

impl Account {
    pub(crate) fn new(found: &'static Found) -> Self {
        Self { found, used_bytes: Arc::default() }
    }

    /// Takes at least so many bytes, in whole words.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if the device has no more.
    pub(crate) fn take(&self, bytes: usize) -> Result<Share> {
        let bytes = in_whole_words(bytes) as u64;
        let used = self.used_bytes.load(Ordering::Relaxed);
        let available = self.found.largest_buffer.min(self.found.memory_bytes.saturating_sub(used));
        if bytes > available {
            return Err(Error::OutOfMemory { needed: bytes, available });
        }
        self.used_bytes.fetch_add(bytes, Ordering::Relaxed);
        Ok(Share { bytes, available, used_bytes: self.used_bytes.clone() })
    }

    /// Counts memory of the context that the caller has allocated.
    #[cfg(feature = "sycl")]
    pub(crate) fn count(&self, bytes: usize) -> Share {
        let bytes = bytes as u64;
        self.used_bytes.fetch_add(bytes, Ordering::Relaxed);
        Share { bytes, available: 0, used_bytes: self.used_bytes.clone() }
    }

    /// An error if a share is of another context.
    pub(crate) fn check(&self, share: &Share) -> Result<()> {
        if Arc::ptr_eq(&self.used_bytes, &share.used_bytes) {
            return Ok(());
        }
        Err(Error::unsupported("this memory", "it belongs to another context"))
    }
}

/// A part of a device's memory, which is given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Share {
    bytes: u64,
    available: u64,
    used_bytes: Arc<AtomicU64>,
}

impl Share {
    pub(crate) fn bytes(&self) -> usize {
        self.bytes as usize
    }

    /// The error of a runtime that has less than it said.
    pub(crate) fn refused(&self) -> Error {
        Error::OutOfMemory { needed: self.bytes, available: self.available }
    }

    /// An error if the range passes the end.
    pub(crate) fn check(&self, offset: usize, bytes: usize) -> Result<()> {
        match offset.checked_add(bytes) {
            Some(end) if end <= self.bytes() => Ok(()),
            _ => Err(Error::shape(
                "a range of memory",
                format_args!("{bytes} bytes from {offset} on, of {}", self.bytes),
            )),
        }
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.used_bytes.fetch_sub(self.bytes, Ordering::Relaxed);
    }
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
