//! Devices: the host's, which is opened once, and those that Python names.

use crate::error::exception;
use nnz::{BackendKind, Device, DeviceId, Result};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::collections::HashMap;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Mutex, PoisonError};

/// The host's processor with a thread for each core; null until the first operation, and in a process that was forked.
static HOST: AtomicPtr<Device> = AtomicPtr::new(ptr::null_mut());

/// The devices that were opened by name. A matrix can only be used with others of the same device.
static OPEN: Mutex<Option<HashMap<String, Device>>> = Mutex::new(None);

/// The host's processor.
pub(crate) fn host() -> PyResult<&'static Device> {
    let known = HOST.load(Ordering::Acquire);
    if !known.is_null() {
        // SAFETY: what is stored there is never freed.
        return Ok(unsafe { &*known });
    }
    let made = Box::into_raw(Box::new(Device::host().map_err(exception)?));
    match HOST.compare_exchange(ptr::null_mut(), made, Ordering::AcqRel, Ordering::Acquire) {
        // SAFETY: as above.
        Ok(_) => Ok(unsafe { &*made }),
        Err(other) => {
            // SAFETY: nobody else has seen it.
            drop(unsafe { Box::from_raw(made) });
            // SAFETY: as above.
            Ok(unsafe { &*other })
        }
    }
}

/// Forgets the threads of the process that this one was forked from: it has none of them.
#[pyfunction]
pub(crate) fn after_fork() {
    HOST.store(ptr::null_mut(), Ordering::Release);
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

/// The name by which [`open`] finds a device.
pub(crate) fn name_of(device: &Device) -> String {
    match device {
        Device::Cpu(_) => "cpu".into(),
        accelerator => accelerator.to_string(),
    }
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
