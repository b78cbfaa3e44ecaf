//! Filters algorithm tables by the kernels and the shared memory that a device has.

use crate::Device;
use sparse_core::{Algorithm, AlgorithmSet, Backend, Choice, Error, PlanOptions, Result};
use std::fmt::Display;

/// The requirements of an algorithm beyond the kernels that all devices have.
#[derive(Debug, Clone, Copy)]
pub(super) enum Needs {
    /// No further requirement.
    Nothing,
    /// A file of kernels.
    File(&'static str),
    /// A file of kernels, and shared memory whose size each launch sets.
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
    /// The algorithms of an enum that the device has.
    pub(super) fn offered<A: AlgorithmSet<Needs = Needs>>(&self) -> &'static [Algorithm] {
        self.offered_if(&|_: A| true)
    }

    /// The algorithms that fit, as `fits` says, and that the device has.
    pub(super) fn offered_if<A: AlgorithmSet<Needs = Needs>>(
        &self,
        fits: &dyn Fn(A) -> bool,
    ) -> &'static [Algorithm] {
        A::table(&|algorithm| fits(algorithm) && algorithm.needs().lacking(self).is_none())
    }

    /// [`PlanOptions::choose_among`] the `offered` algorithms.
    ///
    /// # Errors
    /// As for [`PlanOptions::choose_among`]; for an algorithm of the enum that the device lacks, the missing file or
    /// memory.
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

    /// [`choose`](Self::choose) where the enum has one algorithm, which every device has.
    pub(super) fn choose_only<A: AlgorithmSet<Needs = Needs>>(
        &self,
        op: &str,
        options: &PlanOptions,
        only: A,
    ) -> Result<(A, Choice)> {
        self.choose(op, options, self.offered::<A>(), (only, "there is no other"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparse_core::algorithms;

    algorithms! {
        enum Single needs Needs {
            Plain = Algorithm::new("plain", "always"), Needs::Nothing;
        }
    }

    algorithms! {
        enum Several needs Needs {
            Plain = Algorithm::new("plain", "always"), Needs::Nothing;
            OwnFile = Algorithm::new("own_file", "never"), Needs::File("special");
            Shared = Algorithm::new("shared", "never"), Needs::SharedMemory("special");
        }
    }

    #[test]
    fn a_single_algorithm_is_chosen_and_another_name_is_refused() {
        let device = Device::without_hardware("none", &[], 1).unwrap();
        let choose = |options: &PlanOptions| device.choose_only("op", options, Single::Plain);
        let (Single::Plain, choice) = choose(&PlanOptions::default()).unwrap();
        assert_eq!((choice.algorithm, &choice.reason[..]), ("plain", "there is no other"));
        let error = choose(&PlanOptions::forced("own_file")).unwrap_err().to_string();
        assert_eq!(error, "op algorithm `own_file` is not supported: this backend has plain");
    }

    #[test]
    fn an_algorithm_without_its_kernels_is_not_offered_and_says_what_it_lacks() {
        let device = Device::without_hardware("none", &[], 1).unwrap();
        let offered = device.offered::<Several>();
        assert_eq!(offered, [*Several::Plain.row()]);
        for name in ["own_file", "shared"] {
            let (options, automatic) = (PlanOptions::forced(name), (Several::Plain, ""));
            let error = device.choose("op", &options, offered, automatic).unwrap_err().to_string();
            let reason = "none has no kernels of special";
            assert_eq!(error, format!("op algorithm `{name}` is not supported: {reason}"));
        }
    }
}
