//! The backends, and the devices that each of them tries.

use super::{Device, DeviceId};
use sparse_core::{Error, Probe, Result};
use sparse_device::Library;
use std::fmt::Display;
use std::str::FromStr;

/// The backends of this workspace, built in or not.
///
/// ```
/// use nnz::BackendKind;
///
/// assert_eq!("opencl".parse::<BackendKind>()?, BackendKind::OpenCl);
/// # Ok::<(), nnz::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BackendKind {
    /// The host's processor.
    Cpu,
    /// OpenCL devices.
    OpenCl,
    /// OpenCL devices on SYCL's queues.
    Sycl,
    /// CUDA GPUs.
    Cuda,
}

impl BackendKind {
    /// All backends.
    pub const ALL: [Self; 4] = [Self::Cuda, Self::Cpu, Self::OpenCl, Self::Sycl];

    /// The name of the backend and of its cargo feature.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// assert_eq!(nnz::BackendKind::OpenCl.name(), "opencl");
    /// # Ok::<(), Error>(())
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::OpenCl => "opencl",
            Self::Sycl => "sycl",
            Self::Cuda => "cuda",
        }
    }

    /// The backend's devices, or the reason why there are none.
    ///
    /// ```
    /// use nnz::BackendKind;
    ///
    /// let probe = BackendKind::Cpu.probe();
    /// assert!(probe.reason.is_some() || probe.devices.len() == 1);
    /// ```
    pub fn probe(self) -> Probe {
        match self {
            #[cfg(feature = "cpu")]
            Self::Cpu => backend_cpu::probe(),
            _ => match self.library() {
                Some(library) => library.probe(),
                None => Probe { devices: vec![], reason: Some(self.not_built()) },
            },
        }
    }

    /// Opens the default device: the one that the environment names (`NNZ_OPENCL_DEVICE`, `NNZ_SYCL_DEVICE`,
    /// `NNZ_CUDA_DEVICE`), or the first that starts, GPUs before processors of the host.
    ///
    /// ```
    /// use nnz::BackendKind;
    ///
    /// assert_eq!(BackendKind::Cpu.open()?.caps().backend, "cpu");
    /// assert!("cpu".parse::<BackendKind>()?.open().is_ok());
    /// # Ok::<(), nnz::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`DeviceId::open`] with the first of them.
    pub fn open(self) -> Result<Device> {
        self.open_for_rank(0)
    }

    /// Opens the device of a process that shares its host with others: process `local_rank` tries the devices of
    /// [`open`](Self::open) from this one on, and the first after the last. A number beyond the devices begins again.
    ///
    /// ```
    /// use nnz::{BackendKind, distrib::transport::launched_local_rank};
    ///
    /// let local_rank = launched_local_rank().unwrap_or(0); // by mpirun or srun
    /// assert_eq!(BackendKind::Cpu.open_for_rank(local_rank)?.caps().backend, "cpu");
    /// # Ok::<(), nnz::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`open`](Self::open).
    pub fn open_for_rank(self, local_rank: usize) -> Result<Device> {
        let mut devices = self.preferred()?;
        let first = local_rank % devices.len();
        devices.rotate_left(first);
        let mut refused = None;
        for id in devices {
            match id.open() {
                Ok(device) => return Ok(device),
                Err(error) => refused = refused.or(Some(error)),
            }
        }
        Err(refused.unwrap_or_else(|| Error::unsupported(self, self.not_built())))
    }

    /// The devices of [`open`](Self::open) in its order, at least one; if there is none, the first by its index, whose
    /// opening fails with the reason.
    pub(super) fn preferred(self) -> Result<Vec<DeviceId>> {
        let indices = self.library().map_or(Ok(vec![]), Library::preferred)?;
        let indices = if indices.is_empty() { vec![0] } else { indices };
        Ok(indices.into_iter().map(|index| DeviceId { backend: self, index }).collect())
    }

    /// The library that runs kernels on the backend's devices, if it is built in; the CPU needs none.
    pub(super) fn library(self) -> Option<&'static Library> {
        match self {
            #[cfg(feature = "opencl")]
            Self::OpenCl => Some(&backend_opencl::OPENCL),
            #[cfg(feature = "sycl")]
            Self::Sycl => Some(&backend_opencl::sycl::SYCL),
            #[cfg(feature = "cuda")]
            Self::Cuda => Some(&backend_cuda::CUDA),
            _ => None,
        }
    }

    pub(super) fn not_built(self) -> String {
        format!("built without the feature `{self}`")
    }
}

impl Display for BackendKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for BackendKind {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let named = |name| Self::ALL.into_iter().find(|kind| kind.name() == name);
        named(name).ok_or_else(|| {
            let reason = match name.split_once(':').and_then(|(backend, _)| named(backend)) {
                Some(backend) => format!("it is a device, of the backend {backend}"),
                None => "the backends are cpu, opencl, sycl and cuda".to_owned(),
            };
            Error::unsupported(format_args!("backend `{name}`"), reason)
        })
    }
}
