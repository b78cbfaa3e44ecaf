//! The name of a device.

use super::{BackendKind, Device, opened};
use sparse_core::{Error, Result};
use sparse_device::Library;
use std::fmt::Display;
use std::str::FromStr;

/// The name of a device: `cpu`, `opencl:1`, `cuda:0`; without an index the one that [`BackendKind::open`] tries first.
///
/// ```
/// use nnz::{BackendKind, DeviceId};
///
/// let id: DeviceId = "cuda:1".parse()?;
/// assert_eq!((id.backend, id.index), (BackendKind::Cuda, 1));
/// # Ok::<(), nnz::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DeviceId {
    /// The backend.
    pub backend: BackendKind,
    /// The position among the backend's devices.
    pub index: usize,
}

impl DeviceId {
    /// Opens the device. An accelerator that this process has open is not opened again: the result shares its context
    /// and its queue, so that matrices of both work together.
    ///
    /// ```
    /// use nnz::DeviceId;
    ///
    /// let id: DeviceId = "cpu:0".parse()?;
    /// assert_eq!(id.open()?.caps().backend, "cpu");
    /// # Ok::<(), nnz::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the backend is not built in or has no such device; [`Error::Backend`] if the device
    /// does not start.
    pub fn open(self) -> Result<Device> {
        let probe = self.backend.probe();
        if self.index >= probe.devices.len() {
            let count = || format!("{} has {} device(s)", self.backend, probe.devices.len());
            return Err(Error::unsupported(self.what(), probe.reason.unwrap_or_else(count)));
        }
        match self.backend {
            #[cfg(feature = "cpu")]
            BackendKind::Cpu => backend_cpu::Cpu::new().map(Device::Cpu),
            backend => match backend.library() {
                Some(library) => {
                    let device = opened::find_or_open(self, || library.open(self.index))?;
                    Ok(Device::Accelerator(device, self))
                }
                None => Err(Error::unsupported(self.what(), backend.not_built())),
            },
        }
    }

    fn what(self) -> String {
        format!("device {self}")
    }
}

impl Display for DeviceId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.backend, self.index)
    }
}

impl FromStr for DeviceId {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let Some((backend, index)) = name.split_once(':') else {
            let backend: BackendKind = name.parse()?;
            let index = backend.library().map_or(Ok(0), Library::preferred_index)?;
            return Ok(Self { backend, index });
        };
        let bad_index =
            |_| Error::unsupported(format!("device `{name}`"), format!("`{index}` is not a device's index"));
        Ok(Self { backend: backend.parse()?, index: index.parse().map_err(bad_index)? })
    }
}
