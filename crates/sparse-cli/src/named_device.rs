//! The elements of `--devices`.

use crate::context::Context;
use crate::failure::Unavailable;
use anyhow::Result;
use nnz::{BackendKind, Device, DeviceId, ExchangePath};

/// A device by its name, or the default one of a backend.
#[derive(Debug, Clone, Copy)]
pub(crate) enum NamedDevice {
    DefaultOf(BackendKind),
    Id(DeviceId),
}

impl NamedDevice {
    #[cfg(all(unix, feature = "server"))]
    pub(crate) fn backend(self) -> BackendKind {
        match self {
            Self::DefaultOf(backend) => backend,
            Self::Id(id) => id.backend,
        }
    }

    /// Opens the device, with the threads of `--threads`.
    pub(crate) fn open(self, context: &Context) -> Result<Device> {
        let opened = match self {
            Self::DefaultOf(backend) => backend.open(),
            Self::Id(id) => id.open(),
        };
        context.prepare(opened.map_err(Unavailable)?)
    }
}

/// Parses `cpu`, `opencl` or `cuda:1`.
pub(crate) fn parse(name: &str) -> Result<NamedDevice, nnz::Error> {
    let name = name.trim().to_ascii_lowercase();
    match name.contains(':') {
        true => name.parse().map(NamedDevice::Id),
        false => name.parse().map(NamedDevice::DefaultOf),
    }
}

/// The devices among which the rows of a matrix are divided, if any, and the path between them.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct NamedDevices<'a> {
    pub(crate) list: &'a [NamedDevice],
    pub(crate) exchange: ExchangePath,
}

/// Opens the devices in their order.
pub(crate) fn open(devices: &[NamedDevice], context: &Context) -> Result<Vec<Device>> {
    devices.iter().map(|device| device.open(context)).collect()
}
