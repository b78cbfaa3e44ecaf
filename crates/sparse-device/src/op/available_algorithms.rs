//! Algorithms that not every device has.

use crate::Device;
use sparse_core::{Algorithm, AlgorithmSet, Backend, Choice, Error, PlanOptions, Result};
use std::fmt::Display;

/// What an algorithm needs of a device besides the kernels that all devices have.
#[derive(Debug, Clone, Copy)]
pub(super) enum Needs {
    /// Nothing more.
    Nothing,
    /// A file of kernels.
    File(&'static str),
    /// A file of kernels, and memory that a work-group shares and a launch gives it.
    SharedMemory(&'static str),
}

impl Needs {
    /// What the device lacks, if it lacks anything.
    fn lacking(self, device: &Device) -> Option<String> {
        let no_memory =
            || format!("work-groups of {} share no memory of a launch's size", device.caps().device);
        match self {
            Self::Nothing => None,
            Self::File(file) => device.lacks(file),
            Self::SharedMemory(file) => {
                device.lacks(file).or_else(|| (device.properties().shared_bytes == 0).then(no_memory))
            }
        }
    }
}

impl Device {
    /// The algorithms that fit, as `fits` says, and that the device has.
    pub(super) fn offered<A: AlgorithmSet<Needs = Needs>>(
        &self,
        fits: impl Fn(A) -> bool,
    ) -> &'static [Algorithm] {
        A::table(|algorithm| fits(algorithm) && algorithm.needs().lacking(self).is_none())
    }

    /// [`PlanOptions::choose_among`] those that are `offered`.
    ///
    /// # Errors
    /// As there; for an algorithm that the device cannot have, what it lacks.
    pub(super) fn choose<A: AlgorithmSet<Needs = Needs>>(
        &self,
        op: &str,
        options: &PlanOptions,
        offered: &[Algorithm],
        (automatic, reason): (A, impl Display),
    ) -> Result<(A, Choice)> {
        let forced = options.algorithm.as_deref().and_then(A::named);
        if let Some((forced, lacking)) = forced.and_then(|a| Some((a, a.needs().lacking(self)?))) {
            return Err(Error::unsupported(format!("{op} algorithm `{}`", forced.row().name), lacking));
        }
        options.choose_among(op, offered, automatic, reason)
    }
}
