//! The choice of an algorithm for compressed rows: by the columns, by the longest row, or by the average length.

use super::choice_by_lengths::{DeltaPatterns, RowLengths};
use super::row_algorithm::RowAlgorithm;
use super::row_deltas::{self, ColumnPattern};
use super::thresholds::SpmvThresholds;
use crate::Device;
use crate::lanes::{LANES, WARPS_AT_ONCE};
use crate::primitive::raw::RawCompressed;
use crate::primitive::row_lengths::LazyRowLengths;
use sparse_core::{Backend, PlanOptions, Result};

/// The preferred algorithm, and the reason for it.
type Preference = (RowAlgorithm, String);

impl Device {
    /// Chooses the algorithm for the rows, with the reason. Reads their lengths where a plan is worth it.
    pub(super) fn choose_row_algorithm(
        &self,
        a: RawCompressed<'_>,
        lengths: &LazyRowLengths<'_>,
        options: &PlanOptions,
    ) -> Result<Preference> {
        if self.caps().is_cpu {
            return Ok((RowAlgorithm::RowPerThread, "the device is a CPU".into()));
        }
        if options.algorithm.is_none() {
            if let Some(preferred) = self.choose_by_columns(a, options.expected_calls)? {
                return Ok(preferred);
            }
            if (options.expected_calls > 1 || lengths.has_hub(a.nnz())?)
                && let Some(preferred) = self.choose_by_longest(a, lengths)?
            {
                return Ok(preferred);
            }
        }
        Ok((self.choose_by_average(a), describe(a)))
    }

    /// The numbers that steer the choice.
    fn limits(&self) -> SpmvThresholds {
        self.thresholds().spmv
    }

    /// Blocks of columns, if the plan runs often and the columns are worth it.
    fn choose_by_columns(&self, a: RawCompressed<'_>, calls: usize) -> Result<Option<Preference>> {
        let is_often = calls >= self.limits().column_blocks.calls;
        if !is_often || !self.has_column_blocks() || self.has_few_rows(a) {
            return Ok(None);
        }
        let reason = self.reason_for_column_blocks(a)?;
        Ok(reason.map(|reason| (RowAlgorithm::ColumnBlocks, reason)))
    }

    /// The patterns for which a plan that runs often takes columns of 16 bits in place of `algorithm`. To find them
    /// takes it one or two products' time.
    pub(super) fn patterns_for_deltas(
        &self,
        a: RawCompressed<'_>,
        lengths: &LazyRowLengths<'_>,
        options: &PlanOptions,
        algorithm: RowAlgorithm,
    ) -> Result<DeltaPatterns> {
        let is_often = options.algorithm.is_none() && options.expected_calls >= self.limits().deltas.calls;
        if !is_often || self.caps().is_cpu || !self.is_busy_with_lanes(a) {
            return Ok(DeltaPatterns::None);
        }
        let lengths = RowLengths::measure(a, lengths)?;
        let cache_bytes = self.properties().cache_bytes;
        let reads_words = self.reads_words(a.values.element_bytes);
        Ok(lengths.patterns_for_deltas(algorithm, cache_bytes, reads_words, &self.limits().deltas))
    }

    /// True if classes of lengths take less time than `algorithm`, where a plan reads the lengths.
    pub(super) fn takes_length_classes(
        &self,
        a: RawCompressed<'_>,
        lengths: &LazyRowLengths<'_>,
        options: &PlanOptions,
        (algorithm, pattern): (RowAlgorithm, ColumnPattern),
    ) -> Result<bool> {
        if options.algorithm.is_some() || options.expected_calls <= 1 || self.has_barriers() {
            return Ok(false);
        }
        let (properties, limits) = (self.properties(), self.limits());
        let measured = RowLengths::measure(a, lengths)?;
        let (units, cache_bytes) = (properties.caps.compute_units, properties.cache_bytes);
        Ok(measured.take_classes((algorithm, pattern), units, cache_bytes, &limits)
            && !(algorithm == RowAlgorithm::Segmented
                && measured.mean <= limits.length_classes.sparse_up_to
                && lengths.filled()? * limits.length_classes.rows_per_filled <= a.rows))
    }

    /// The algorithm by the length of the longest row, if that decides.
    fn choose_by_longest(
        &self,
        a: RawCompressed<'_>,
        lazy: &LazyRowLengths<'_>,
    ) -> Result<Option<Preference>> {
        let lengths = RowLengths::measure(a, lazy)?;
        let longest = lengths.longest;
        let algorithm = if self.has_mostly_empty_rows(a, lengths, lazy)? {
            Some(RowAlgorithm::ListedRows)
        } else if self.has_barriers() {
            lengths.algorithm_with_barriers(
                self.has_few_rows(a),
                self.properties().cache_bytes,
                &self.limits(),
            )
        } else {
            let properties = self.properties();
            Some(lengths.algorithm(properties.caps.compute_units, properties.cache_bytes, &self.limits()))
        };
        Ok(algorithm.map(|algorithm| (algorithm, format!("{}, one has {longest}", describe(a)))))
    }

    /// True if most rows are empty and none of the others is much longer; counts them if they have few entries.
    fn has_mostly_empty_rows(
        &self,
        a: RawCompressed<'_>,
        lengths: RowLengths,
        lazy: &LazyRowLengths<'_>,
    ) -> Result<bool> {
        let may_be = lengths.mean <= 1 && !self.has_few_rows(a);
        Ok(may_be && lengths.are_mostly_empty(lazy.filled()?, &self.limits().listed_rows))
    }

    /// The algorithm by the number of rows and their average length.
    fn choose_by_average(&self, a: RawCompressed<'_>) -> RowAlgorithm {
        let mean = a.mean_length();
        let several_lanes = mean >= self.limits().lanes_from || self.has_few_rows(a) && mean > 1;
        match several_lanes {
            true if mean >= self.limits().warp_from && !self.has_barriers() => RowAlgorithm::RowPerWarp,
            true => RowAlgorithm::RowPerVector,
            false => RowAlgorithm::RowPerThread,
        }
    }

    /// True if the lanes that rows have with columns of 16 bits fill half of the device, or short rows all of it.
    pub(super) fn is_busy_with_lanes(&self, a: RawCompressed<'_>) -> bool {
        let value_bytes = a.values.element_bytes;
        let lanes = row_deltas::lanes_for(a.mean_length(), value_bytes, self.reads_words(value_bytes));
        !self.has_few_rows(a) || lanes > 1 && self.fill_half(a.rows * lanes)
    }

    /// True if this number of lanes fills half of the device.
    pub(super) fn fill_half(&self, lanes: usize) -> bool {
        2 * lanes >= self.caps().compute_units * WARPS_AT_ONCE * LANES
    }

    /// True if short rows are too few to fill the device.
    fn has_few_rows(&self, a: RawCompressed<'_>) -> bool {
        a.rows <= self.caps().compute_units * self.limits().many_rows_per_unit
    }
}

/// The rows in words.
fn describe(a: RawCompressed<'_>) -> String {
    format!("{} rows have {} entries on average", a.rows, a.mean_length())
}
