//! The matrix of a trial: on the host, and in the memory of a backend.

use crate::build::{Build, On};
use crate::portrait::Portrait;
use crate::triplets::Triplets;
use sparse_core::{Backend, Result};

/// A matrix in one format in a backend's memory.
#[derive(Debug)]
pub(crate) struct Held<B: Backend, H: Build> {
    pub(crate) backend: B,
    host: H,
    pub(crate) device: On<B, H>,
}

impl<B: Backend, H: Build> Held<B, H> {
    pub(crate) fn new(backend: &B, matrix: &Triplets) -> Result<Self> {
        let host = H::build(matrix)?;
        let device = host.to_device(backend)?;
        Ok(Self { backend: backend.clone(), host, device })
    }
}

/// The matrix of a trial, without its types.
pub trait HeldMatrix {
    /// Other values in the same pattern, so that plans stay valid.
    ///
    /// # Errors
    /// What the device's runtime reports.
    fn set_values(&mut self, matrix: &Triplets) -> Result<()>;

    /// The same entries in a pattern of its own, which no plan knows.
    ///
    /// # Errors
    /// What the device's runtime reports.
    fn renew_pattern(&mut self) -> Result<()>;

    /// What the host wrote, and what the backend's memory holds now.
    ///
    /// # Errors
    /// What the device's runtime reports.
    fn portraits(&self) -> Result<(Portrait, Portrait)>;
}

impl<B: Backend, H: Build> HeldMatrix for Held<B, H> {
    fn set_values(&mut self, matrix: &Triplets) -> Result<()> {
        self.host = H::build(matrix)?;
        self.device = self.host.revalue(&self.device, &self.backend)?;
        Ok(())
    }

    fn renew_pattern(&mut self) -> Result<()> {
        self.device = self.host.to_device(&self.backend)?;
        Ok(())
    }

    fn portraits(&self) -> Result<(Portrait, Portrait)> {
        Ok((self.host.portrait(), H::fetch(&self.device, &self.backend)?.portrait()))
    }
}
