//! Run-time choice of a device, with no trait objects below it.

use sparse_core::{Caps, Error, Probe, Result};
use std::fmt::Display;
use std::str::FromStr;

/// The backends that this workspace has, built in or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BackendKind {
    /// The host's processor.
    Cpu,
    /// OpenCL devices.
    OpenCl,
    /// CUDA GPUs.
    Cuda,
}

impl BackendKind {
    /// All of them, the preferred first.
    pub const ALL: [Self; 3] = [Self::Cuda, Self::OpenCl, Self::Cpu];

    /// The name of the backend and of its cargo feature.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::OpenCl => "opencl",
            Self::Cuda => "cuda",
        }
    }

    /// The backend's devices, or why there are none (rule P1).
    pub fn probe(self) -> Probe {
        match self {
            #[cfg(feature = "cpu")]
            Self::Cpu => backend_cpu::probe(),
            #[allow(unreachable_patterns, reason = "all features may be on")]
            _ => Probe {
                devices: vec![],
                reason: Some(self.not_built()),
            },
        }
    }

    /// Opens device number `index` of [`probe`](Self::probe).
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the backend is not built in or has no such device; [`Error::Backend`] if the device
    /// does not start.
    pub fn open(self, index: usize) -> Result<Device> {
        let probe = self.probe();
        if index >= probe.devices.len() {
            let found = probe
                .reason
                .unwrap_or_else(|| format!("{self} has {} devices", probe.devices.len()));
            return Err(Error::unsupported(format!("device {self}:{index}"), found));
        }
        match self {
            #[cfg(feature = "cpu")]
            Self::Cpu => backend_cpu::Cpu::new().map(Device::Cpu),
            #[allow(unreachable_patterns, reason = "all features may be on")]
            _ => Err(Error::unsupported(
                format!("device {self}:{index}"),
                self.not_built(),
            )),
        }
    }

    fn not_built(self) -> String {
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
        Self::ALL
            .into_iter()
            .find(|kind| kind.name() == name)
            .ok_or_else(|| {
                Error::unsupported(
                    format!("backend `{name}`"),
                    "the backends are cpu, opencl and cuda",
                )
            })
    }
}

/// A device that was chosen at run time: `cpu`, `opencl:1`, `cuda:0`.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Device {
    /// The host's processor.
    #[cfg(feature = "cpu")]
    Cpu(backend_cpu::Cpu),
}

impl Device {
    /// The first device of the first backend, in the order CUDA, OpenCL, CPU, that has one and starts.
    ///
    /// # Errors
    /// [`Error::Unsupported`] with every backend's reason if there is no device at all.
    pub fn best() -> Result<Self> {
        let mut reasons = vec![];
        for kind in BackendKind::ALL {
            match kind.open(0) {
                Ok(device) => return Ok(device),
                Err(error) => reasons.push(error.to_string()),
            }
        }
        Err(Error::unsupported("computing", reasons.join("; ")))
    }

    /// Every backend with its devices, or why it has none; the position of a device is its index.
    pub fn probe() -> [(BackendKind, Probe); 3] {
        BackendKind::ALL.map(|kind| (kind, kind.probe()))
    }

    /// What the device is and what it can do.
    pub fn caps(&self) -> &Caps {
        match *self {
            #[cfg(feature = "cpu")]
            Self::Cpu(ref cpu) => sparse_core::Backend::caps(cpu),
        }
    }
}

/// `cpu`, `opencl:1`, `cuda:0`; without an index the first device.
impl FromStr for Device {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let (backend, index) = match name.split_once(':') {
            None => (name, 0),
            Some((backend, index)) => {
                let index = index.parse().map_err(|_| {
                    Error::unsupported(
                        format!("device `{name}`"),
                        format!("`{index}` is not a device's index"),
                    )
                })?;
                (backend, index)
            }
        };
        backend.parse::<BackendKind>()?.open(index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_backend_is_probed_and_an_empty_list_has_a_reason() {
        for (kind, probe) in Device::probe() {
            assert_eq!(probe.devices.is_empty(), probe.reason.is_some(), "{kind}");
            assert!(probe.devices.iter().all(|caps| caps.backend == kind.name()));
        }
    }

    #[test]
    fn bad_names_say_what_would_have_been_right() {
        for (name, expected) in [
            (
                "gpu",
                "backend `gpu` is not supported: the backends are cpu, opencl and cuda",
            ),
            (
                "cpu:first",
                "device `cpu:first` is not supported: `first` is not a device's index",
            ),
        ] {
            assert_eq!(name.parse::<Device>().unwrap_err().to_string(), expected);
        }
    }

    #[cfg(feature = "cpu")]
    #[test]
    fn the_cpu_has_one_device() {
        assert_eq!("cpu".parse::<Device>().unwrap().caps().backend, "cpu");
        assert_eq!(
            "cpu:1".parse::<Device>().unwrap_err().to_string(),
            "device cpu:1 is not supported: cpu has 1 devices"
        );
    }

    #[test]
    fn a_backend_that_is_not_built_in_names_its_feature() {
        let error = "opencl:1".parse::<Device>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "device opencl:1 is not supported: built without the feature `opencl`"
        );
    }
}
