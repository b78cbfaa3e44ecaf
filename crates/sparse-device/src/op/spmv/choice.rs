//! The choice of an algorithm for compressed rows: by the columns, by the longest row, or by the average length.

use super::lengths::Lengths;
use super::row_algorithm::RowAlgorithm;
use super::thresholds::SpmvThresholds;
use crate::Device;
use crate::primitive::raw::RawCompressed;
use sparse_core::{Backend, PlanOptions, Result};

/// The preferred algorithm, and the reason for it.
type Preference = (RowAlgorithm, String);

/// The numbers that steer the choice.
const LIMITS: SpmvThresholds = SpmvThresholds::H100;

impl Device {
    /// Chooses the algorithm for the rows, with the reason. Reads their lengths where a plan is worth it.
    pub(super) fn choose_row_algorithm(
        &self,
        a: RawCompressed<'_>,
        options: &PlanOptions,
    ) -> Result<Preference> {
        if self.caps().is_cpu {
            return Ok((RowAlgorithm::RowPerThread, "the device is a CPU".into()));
        }
        if options.algorithm.is_none() {
            if let Some(preferred) = self.choose_by_columns(a, options.expected_calls)? {
                return Ok(preferred);
            }
            if options.expected_calls > 1
                && let Some(preferred) = self.choose_by_longest(a)?
            {
                return Ok(preferred);
            }
        }
        Ok((self.choose_by_average(a), describe(a)))
    }

    /// Blocks of columns, if the plan runs often and the columns are worth it.
    fn choose_by_columns(&self, a: RawCompressed<'_>, calls: usize) -> Result<Option<Preference>> {
        let is_often = calls >= LIMITS.calls_for_column_blocks;
        if !is_often || !self.has_column_blocks() || self.has_few_rows(a) {
            return Ok(None);
        }
        let reason = self.reason_for_column_blocks(a)?;
        Ok(reason.map(|reason| (RowAlgorithm::ColumnBlocks, reason)))
    }

    /// The algorithm by the length of the longest row, if that decides.
    fn choose_by_longest(&self, a: RawCompressed<'_>) -> Result<Option<Preference>> {
        let (mean, longest) = (a.mean_length(), self.longest_row(a.offsets)?);
        let algorithm = if self.has_barriers() {
            with_barriers(mean, longest, self.has_few_rows(a))
        } else {
            let entry_bytes = a.values.element_bytes + a.indices.element_bytes;
            let lengths = Lengths { rows: a.rows, nnz: a.nnz(), mean, longest, entry_bytes };
            let properties = self.properties();
            Some(lengths.algorithm(properties.caps.compute_units, properties.cache_bytes, &LIMITS))
        };
        Ok(algorithm.map(|algorithm| (algorithm, format!("{}, one has {longest}", describe(a)))))
    }

    /// The algorithm by the number of rows and their average length.
    fn choose_by_average(&self, a: RawCompressed<'_>) -> RowAlgorithm {
        let mean = a.mean_length();
        let several_lanes = mean >= LIMITS.long_for_lanes || self.has_few_rows(a) && mean > 1;
        match several_lanes {
            true if mean >= LIMITS.long_for_warps && !self.has_barriers() => RowAlgorithm::RowPerWarp,
            true => RowAlgorithm::RowPerVector,
            false => RowAlgorithm::RowPerThread,
        }
    }

    /// True if a warp is a work-group whose lanes meet at barriers.
    fn has_barriers(&self) -> bool {
        self.properties().warps_per_group == 1
    }

    /// True if short rows are too few to fill the device.
    fn has_few_rows(&self, a: RawCompressed<'_>) -> bool {
        a.rows <= self.caps().compute_units * LIMITS.many_rows_per_unit
    }
}

/// The algorithm where lanes meet at barriers, if the lengths decide: rows are skewed, or neither short nor long.
fn with_barriers(mean: usize, longest: usize, few: bool) -> Option<RowAlgorithm> {
    let is_skewed = longest > LIMITS.longest_uniform.max(LIMITS.skew_ratio * mean);
    let is_medium = mean >= LIMITS.long_for_lanes && !few && mean < LIMITS.long_for_warps;
    let is_short = mean < LIMITS.short_for_segments;
    let algorithm = if is_short { RowAlgorithm::MergePath } else { RowAlgorithm::Segmented };
    (is_skewed || is_medium).then_some(algorithm)
}

/// The rows in words.
fn describe(a: RawCompressed<'_>) -> String {
    format!("{} rows have {} entries on average", a.rows, a.mean_length())
}
