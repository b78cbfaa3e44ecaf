//! The matrix of a planned operation: on the host, and in the memory of a backend.

use crate::build::{Build, FormatOn};
use crate::triplets::Triplets;
use sparse_core::{Backend, Result};
use std::cell::OnceCell;

/// A matrix in one format on the host, and the same pattern with other values, made at its first use.
#[derive(Debug)]
pub(crate) struct HostMatrix<'a, H> {
    matrix: &'a Triplets,
    first: H,
    second: OnceCell<H>,
}

impl<'a, H: Build> HostMatrix<'a, H> {
    pub(crate) fn new(matrix: &'a Triplets) -> Result<Self> {
        Ok(Self { matrix, first: H::build(matrix)?, second: OnceCell::new() })
    }

    fn get(&self, values: ValueSet) -> Result<&H> {
        match (values, self.second.get()) {
            (ValueSet::First, _) => Ok(&self.first),
            (ValueSet::Second, Some(second)) => Ok(second),
            (ValueSet::Second, None) => {
                let second = H::build(&self.matrix.with_other_values())?;
                Ok(self.second.get_or_init(|| second))
            }
        }
    }
}

/// One of the two sets of values that the matrix of a problem takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueSet {
    /// The problem's own.
    First,
    /// Other values in the same pattern.
    Second,
}

/// A matrix in one format in a backend's memory.
#[derive(Debug)]
pub(crate) struct DeviceMatrix<'a, B: Backend, H: Build> {
    pub(crate) backend: &'a B,
    host: &'a HostMatrix<'a, H>,
    values: ValueSet,
    pub(crate) device: FormatOn<B, H>,
}

impl<'a, B: Backend, H: Build> DeviceMatrix<'a, B, H> {
    pub(crate) fn new(backend: &'a B, host: &'a HostMatrix<'a, H>) -> Result<Self> {
        let device = host.first.to_device(backend)?;
        Ok(Self { backend, host, values: ValueSet::First, device })
    }
}

/// The matrix of a planned operation, without its types.
pub trait PlannedMatrix {
    /// Sets other values in the same pattern, so that plans stay valid.
    ///
    /// # Errors
    /// An error of the device's runtime.
    fn set_values(&mut self, values: ValueSet) -> Result<()>;

    /// Replaces the pattern by an equal one with another id, which no plan is bound to.
    ///
    /// # Errors
    /// An error of the device's runtime.
    fn renew_pattern(&mut self) -> Result<()>;

    /// The first difference of the matrix in the backend's memory from that on the host, in words.
    ///
    /// # Errors
    /// An error of the device's runtime.
    fn difference(&mut self) -> Result<Option<String>>;
}

impl<B: Backend, H: Build> PlannedMatrix for DeviceMatrix<'_, B, H> {
    fn set_values(&mut self, values: ValueSet) -> Result<()> {
        self.values = values;
        self.device = self.host.get(values)?.revalue(&self.device, self.backend)?;
        Ok(())
    }

    fn renew_pattern(&mut self) -> Result<()> {
        self.device = self.host.get(self.values)?.to_device(self.backend)?;
        Ok(())
    }

    fn difference(&mut self) -> Result<Option<String>> {
        let host = self.host.get(self.values)?;
        Ok(H::fetch(&self.device, self.backend)?.dump().difference(&host.dump()))
    }
}
