//! The matrix of a trial: on the host, and in the memory of a backend.

use crate::build::{Build, On};
use crate::portrait::Portrait;
use crate::triplets::Triplets;
use sparse_core::{Backend, Result};
use std::cell::OnceCell;

/// A matrix in one format on the host, and the same pattern with other values once somebody asks for it.
#[derive(Debug)]
pub(crate) struct Hosts<'a, H> {
    matrix: &'a Triplets,
    first: H,
    other: OnceCell<H>,
}

impl<'a, H: Build> Hosts<'a, H> {
    pub(crate) fn new(matrix: &'a Triplets) -> Result<Self> {
        Ok(Self { matrix, first: H::build(matrix)?, other: OnceCell::new() })
    }

    fn get(&self, values: Values) -> Result<&H> {
        match (values, self.other.get()) {
            (Values::First, _) => Ok(&self.first),
            (Values::Other, Some(other)) => Ok(other),
            (Values::Other, None) => {
                let other = H::build(&self.matrix.with_other_values())?;
                Ok(self.other.get_or_init(|| other))
            }
        }
    }
}

/// Which values a matrix has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Values {
    /// The problem's.
    First,
    /// Others at the same places.
    Other,
}

/// A matrix in one format in a backend's memory.
#[derive(Debug)]
pub(crate) struct Held<'a, B: Backend, H: Build> {
    pub(crate) backend: &'a B,
    hosts: &'a Hosts<'a, H>,
    values: Values,
    pub(crate) device: On<B, H>,
}

impl<'a, B: Backend, H: Build> Held<'a, B, H> {
    pub(crate) fn new(backend: &'a B, hosts: &'a Hosts<'a, H>) -> Result<Self> {
        let device = hosts.first.to_device(backend)?;
        Ok(Self { backend, hosts, values: Values::First, device })
    }
}

/// The matrix of a trial, without its types.
pub trait HeldMatrix {
    /// Other values in the same pattern, so that plans stay valid.
    ///
    /// # Errors
    /// What the device's runtime reports.
    fn set_values(&mut self, values: Values) -> Result<()>;

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

impl<B: Backend, H: Build> HeldMatrix for Held<'_, B, H> {
    fn set_values(&mut self, values: Values) -> Result<()> {
        self.values = values;
        self.device = self.hosts.get(values)?.revalue(&self.device, self.backend)?;
        Ok(())
    }

    fn renew_pattern(&mut self) -> Result<()> {
        self.device = self.hosts.get(self.values)?.to_device(self.backend)?;
        Ok(())
    }

    fn portraits(&self) -> Result<(Portrait, Portrait)> {
        let host = self.hosts.get(self.values)?;
        Ok((host.portrait(), H::fetch(&self.device, self.backend)?.portrait()))
    }
}
