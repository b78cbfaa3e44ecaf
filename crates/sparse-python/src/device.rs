//! Devices: the host's, which is opened once, and those that Python names.

use crate::error::exception;
use nnz::{BackendKind, Device, DeviceId, Result};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::collections::HashMap;
use std::ptr;
use std::sync::{Mutex, OnceLock, PoisonError};

/// The host's processor with a thread for each core, from the first operation on.
static HOST: OnceLock<Device> = OnceLock::new();

/// The devices that were opened by name. A matrix can only be used with others of the same device.
static OPEN: Mutex<Option<HashMap<String, Device>>> = Mutex::new(None);

/// The host's processor.
pub(crate) fn host() -> PyResult<&'static Device> {
    if let Some(known) = HOST.get() {
        return Ok(known);
    }
    let made = Device::host().map_err(exception)?;
    Ok(HOST.get_or_init(|| made))
}

/// The device of a name: `cpu`, `cuda`, `opencl:1`.
pub(crate) fn open(name: &str) -> PyResult<Device> {
    if name == "cpu" {
        return host().cloned();
    }
    let id: DeviceId = name.parse().map_err(exception)?;
    opened(&id.to_string(), || id.open())
}

/// GPU `index` of CUDA with a stream of another library, which lives as long as the process.
pub(crate) fn open_on_stream(index: usize, stream: usize) -> PyResult<Device> {
    opened(&format!("cuda:{index}, stream {stream:#x}"), || {
        // SAFETY: PyTorch, whose streams these are, never destroys one.
        let device = unsafe { nnz::cuda::on_stream(index, ptr::without_provenance_mut(stream))? };
        Ok(Device::Accelerator(device, DeviceId { backend: BackendKind::Cuda, index }))
    })
}

/// The device of a name in full, which is opened once.
fn opened(name: &str, open: impl FnOnce() -> Result<Device>) -> PyResult<Device> {
    let mut devices = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    let devices = devices.get_or_insert_default();
    if let Some(device) = devices.get(name) {
        return Ok(device.clone());
    }
    let device = open().map_err(exception)?;
    devices.insert(name.into(), device.clone());
    Ok(device)
}

/// A dictionary for each device: its name for [`open`], and what is known of it.
#[pyfunction]
pub(crate) fn devices(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    let mut found = vec![];
    for (kind, probe) in py.detach(Device::probe) {
        for (position, caps) in probe.devices.into_iter().enumerate() {
            let about = PyDict::new(py);
            let is_host = kind == BackendKind::Cpu;
            let name = if is_host { "cpu".into() } else { format!("{}:{position}", kind.name()) };
            about.set_item("name", name)?;
            about.set_item("backend", caps.backend)?;
            about.set_item("device", caps.device)?;
            about.set_item("compute_units", caps.compute_units)?;
            about.set_item("memory_bytes", caps.memory_bytes)?;
            about.set_item("float64", caps.f64)?;
            found.push(about);
        }
    }
    Ok(found)
}
