//! `nnz devices`: the available devices.

use crate::context::Context;
use crate::text::bytes;
use anyhow::Result;
use clap::Args;
use nnz::{Caps, Device};
use serde::Serialize;
use std::fmt::{Display, Formatter};

/// Lists the devices of every backend, or the reason why a backend has none
#[derive(Debug, Args)]
pub(crate) struct Devices {}

#[derive(Debug, Serialize)]
#[serde(transparent)]
struct DeviceList(Vec<BackendEntry>);

#[derive(Debug, Serialize)]
struct BackendEntry {
    backend: &'static str,
    devices: Vec<DeviceEntry>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

#[derive(Debug, Serialize)]
struct DeviceEntry {
    id: String,
    name: String,
    compute_units: usize,
    memory_bytes: Option<u64>,
    f64: bool,
    features: Vec<String>,
    #[serde(skip)]
    /// True if -v was given.
    tells_features: bool,
}

impl DeviceEntry {
    fn new(index: usize, caps: Caps, tells_features: bool) -> Self {
        Self {
            id: format!("{}:{index}", caps.backend),
            name: caps.device,
            compute_units: caps.compute_units,
            memory_bytes: caps.memory_bytes,
            f64: caps.f64,
            features: caps.features,
            tells_features,
        }
    }
}

impl Display for DeviceEntry {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:<10} {}, {} compute units", self.id, self.name, self.compute_units)?;
        if let Some(memory) = self.memory_bytes {
            write!(f, ", {}", bytes(memory))?;
        }
        if !self.f64 {
            write!(f, ", no f64")?;
        }
        if self.tells_features && !self.features.is_empty() {
            write!(f, ", {}", self.features.join(" "))?;
        }
        Ok(())
    }
}

impl Display for DeviceList {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let lines = self.0.iter().flat_map(|entry| {
            let devices = entry.devices.iter().map(ToString::to_string);
            devices.chain(entry.reason.iter().map(|reason| format!("{:<10} none: {reason}", entry.backend)))
        });
        f.write_str(&lines.collect::<Vec<_>>().join("\n"))
    }
}

impl Devices {
    pub(crate) fn run(self, context: &Context) -> Result<()> {
        let entries = Device::probe().into_iter().map(|(kind, probe)| BackendEntry {
            backend: kind.name(),
            devices: probe
                .devices
                .into_iter()
                .enumerate()
                .map(|(k, caps)| DeviceEntry::new(k, caps, context.is_verbose()))
                .collect(),
            reason: probe.reason,
        });
        context.report(&DeviceList(entries.collect()))
    }
}
