//! The algorithms that sort entries, for conversions and sorts.

use super::available_algorithms::Needs;
use crate::Device;
use crate::primitive::coordinates::{ONESWEEP, ONESWEEP_FILE, RADIX_SORT, Sorter};
use sparse_core::{Choice, PlanOptions, Result, algorithms};

algorithms! {
    /// The algorithms of operations that sort entries by their coordinates.
    pub(super) enum SortAlgorithm needs Needs {
        Onesweep = ONESWEEP, Needs::File(ONESWEEP_FILE);
        RadixSort = RADIX_SORT, Needs::Nothing;
    }
}

impl SortAlgorithm {
    pub(super) fn sorter(self) -> Sorter {
        match self {
            Self::Onesweep => Sorter::Onesweep,
            Self::RadixSort => Sorter::RadixSort,
        }
    }
}

impl From<Sorter> for SortAlgorithm {
    fn from(sorter: Sorter) -> Self {
        match sorter {
            Sorter::Onesweep => Self::Onesweep,
            Sorter::RadixSort => Self::RadixSort,
        }
    }
}

impl Device {
    /// Chooses the sort of the entries of a matrix of this shape.
    ///
    /// # Errors
    /// As for [`choose`](Self::choose); a forced algorithm that does not fit the matrix is not supported.
    pub(super) fn choose_sorter(
        &self,
        op: &str,
        options: &PlanOptions,
        shape: (usize, usize),
        entries: usize,
    ) -> Result<(Sorter, Choice)> {
        let (sorter, reason) = Sorter::choose(self, shape, entries);
        let fitting = self.offered_if(&|algorithm: SortAlgorithm| algorithm.sorter().fits(shape, entries));
        let automatic = (SortAlgorithm::from(sorter), reason);
        let (algorithm, choice) = self.choose(op, options, fitting, automatic)?;
        Ok((algorithm.sorter(), choice))
    }
}
