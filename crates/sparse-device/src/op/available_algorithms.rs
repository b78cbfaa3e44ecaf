//! Algorithms that not every device has.

use crate::Device;
use sparse_core::{Algorithm, Choice, Error, PlanOptions, Result};
use std::fmt::Display;

/// A table of algorithms, of which the last ones need a file of kernels each. A device offers those up to the first
/// whose file it cannot have.
#[derive(Debug, Clone, Copy)]
pub(super) struct AvailableAlgorithms {
    pub(super) algorithms: &'static [Algorithm],
    pub(super) files: &'static [&'static str],
}

impl AvailableAlgorithms {
    /// What a device has of the table.
    pub(super) fn on(self, device: &Device) -> &'static [Algorithm] {
        let missing = self.files.iter().skip_while(|file| device.has(file)).count();
        &self.algorithms[..self.algorithms.len() - missing]
    }

    /// [`PlanOptions::choose`] of what a device has.
    ///
    /// # Errors
    /// As there; for an algorithm of the table that the device has not, what it lacks.
    pub(super) fn choose(
        self,
        device: &Device,
        op: &str,
        options: &PlanOptions,
        (automatic, reason): (&str, impl Display),
    ) -> Result<Choice> {
        let with_files = self.algorithms.iter().rev().zip(self.files.iter().rev());
        let mut up_to_forced =
            with_files.skip_while(|(row, _)| Some(row.name) != options.algorithm.as_deref());
        let lacks = up_to_forced.find_map(|(_, file)| device.lacks(file));
        match (&options.algorithm, lacks) {
            (Some(name), Some(lacks)) => Err(Error::unsupported(format!("{op} algorithm `{name}`"), lacks)),
            _ => options.choose(op, self.on(device), automatic, reason),
        }
    }
}
