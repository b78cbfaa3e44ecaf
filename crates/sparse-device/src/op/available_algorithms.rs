//! Algorithm tables of operations whose last algorithms need kernels that not every device has.

use crate::Device;
use sparse_core::{Algorithm, Choice, Error, PlanOptions, Result};
use std::fmt::Display;

/// A table of algorithms, the last of which need a file of kernels each. A device offers those before the first whose
/// file it lacks.
#[derive(Debug, Clone, Copy)]
pub(super) struct AvailableAlgorithms {
    pub(super) algorithms: &'static [Algorithm],
    pub(super) files: &'static [&'static str],
}

impl AvailableAlgorithms {
    /// The algorithms that the device offers.
    pub(super) fn on(self, device: &Device) -> &'static [Algorithm] {
        let missing = self.files.iter().skip_while(|file| device.has(file)).count();
        &self.algorithms[..self.algorithms.len() - missing]
    }

    /// [`PlanOptions::choose`] among the algorithms that the device offers.
    ///
    /// # Errors
    /// As for [`PlanOptions::choose`]; for an algorithm of the table that the device lacks, the missing file.
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
