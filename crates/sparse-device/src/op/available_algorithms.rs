//! Algorithm tables of operations whose last algorithms need kernels that not every device has.

use crate::Device;
use sparse_core::{Algorithm, AlgorithmSet, Backend, Choice, Error, PlanOptions, Result};
use std::fmt::Display;

/// The requirements of an algorithm beyond the kernels that all devices have.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Needs {
    /// Nothing more.
    Nothing,
    /// A file of kernels.
    File(&'static str),
    /// A file of kernels, and memory that a work-group shares and a launch gives it.
    SharedMemory(&'static str),
}

impl Needs {
    /// The missing file or memory, if the device lacks any.
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
    pub(crate) fn offered<A: AlgorithmSet<Needs = Needs>>(
        &self,
        fits: impl Fn(A) -> bool,
    ) -> &'static [Algorithm] {
        A::table(|algorithm| fits(algorithm) && algorithm.needs().lacking(self).is_none())
    }

    /// [`PlanOptions::choose_among`] the `offered` algorithms.
    ///
    /// # Errors
    /// As for [`PlanOptions::choose_among`]; for an algorithm of the enum that the device lacks, the missing file or
    /// memory.
    pub(crate) fn choose<A: AlgorithmSet<Needs = Needs>>(
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
