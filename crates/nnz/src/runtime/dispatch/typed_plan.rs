//! Typed plans of sparse products beside the device of their matrices.

use super::backend::RuntimeBackend;
use super::runtime_format::{DeviceBackend, RuntimeFormat};
use crate::Device;
use crate::runtime::Matrix;
use sparse_core::Result;

/// A typed plan whose results are matrices, with the device that they are on.
pub(crate) struct TypedPlan<B, P> {
    backend: B,
    device: Device,
    pub(crate) plan: P,
}

impl<B: RuntimeBackend, P> TypedPlan<B, P> {
    pub(crate) fn new(on: DeviceBackend<'_, B>, plan: P) -> Self {
        Self { backend: on.backend.clone(), device: on.device.clone(), plan }
    }

    /// Hides the type of a result.
    pub(crate) fn erase<M: RuntimeFormat<B>>(&self, result: M) -> Result<Matrix> {
        DeviceBackend { backend: &self.backend, device: &self.device }.erase(result)
    }
}
