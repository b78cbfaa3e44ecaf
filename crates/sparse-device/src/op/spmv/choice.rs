//! The choice of an algorithm for compressed rows ([`PlannedRows::prefer`]).

use super::choice_by_lengths::{DeltaPatterns, RowLengths};
use super::node_blocks::NodeBlocks;
use super::row_algorithm::RowAlgorithm;
use super::row_deltas::{self, ColumnPattern, Columns, RowDeltas};
use super::row_patterns::RowPatterns;
use super::row_strategy::{RowProduct, RowStrategy};
use super::thresholds::SpmvThresholds;
use crate::Device;
use crate::lanes::{LANES, WARPS_AT_ONCE};
use crate::primitive::planned_rows::PlannedRows;
use sparse_core::{Backend, Result};

/// The algorithm that suits the rows.
pub(super) struct Preference {
    pub(super) algorithm: RowAlgorithm,
    /// The reason for it.
    pub(super) reason: String,
    /// The pattern of the columns, if the choice has read them.
    pub(super) pattern: ColumnPattern,
    /// The algorithm's kernels and workspace, if the choice has made them.
    pub(super) strategy: Option<RowStrategy>,
}

impl Preference {
    /// The preference for an algorithm whose workspace is made already.
    fn made(algorithm: RowAlgorithm, reason: String, product: impl RowProduct + 'static) -> Self {
        let strategy = Some(RowStrategy::of(product));
        Self { algorithm, reason, pattern: ColumnPattern::Other, strategy }
    }
}

impl PlannedRows<'_> {
    /// Chooses an algorithm: by blocks of unknowns, by the lengths of the rows, or, in a plan that runs often, by
    /// patterns of rows and of columns.
    ///
    /// Each step reads more of the matrix than the one before. A plan whose algorithm is forced takes none that depends
    /// on columns.
    pub(super) fn prefer(&self) -> Result<Preference> {
        let unknowns = self.unknowns_worth_blocks()?;
        if unknowns > 1 {
            let reason = format!("entries are in blocks of {unknowns} x {unknowns}");
            let blocks = NodeBlocks::new(self, unknowns)?;
            return Ok(Preference::made(RowAlgorithm::NodeBlocks, reason, blocks));
        }
        let (algorithm, reason) = self.choose_by_rows()?;
        let patterns = self.patterns_for_deltas(algorithm)?;
        if patterns != DeltaPatterns::None
            && let Some(found) = RowPatterns::if_few(self)?
        {
            let reason = reason + ", whose columns have few patterns";
            return Ok(Preference::made(RowAlgorithm::RowPatterns, reason, found));
        }
        match RowDeltas::of_patterns(self, patterns)? {
            Columns::Deltas(deltas) => {
                let reason = reason + ", whose columns fit 16 bits";
                Ok(Preference::made(RowAlgorithm::Delta16, reason, deltas))
            }
            Columns::Plain(pattern) => {
                let algorithm = self.algorithm_of_classes(algorithm, pattern)?.unwrap_or(algorithm);
                Ok(Preference { algorithm, reason, pattern, strategy: None })
            }
        }
    }

    /// The algorithm for the rows, with the reason: by blocks of columns, by the longest row, or by the average length.
    fn choose_by_rows(&self) -> Result<(RowAlgorithm, String)> {
        let &Self { backend, a, options, ref lengths, .. } = self;
        if backend.caps().is_cpu {
            return Ok((RowAlgorithm::RowPerThread, "the device is a CPU".into()));
        }
        if options.algorithm.is_none() {
            if let Some(reason) = self.reason_for_blocks_of_columns()? {
                return Ok((RowAlgorithm::ColumnBlocks, reason));
            }
            if (options.expected_calls > 1 || lengths.has_hub(a.nnz())?)
                && let Some(algorithm) = self.choose_by_longest()?
            {
                let reason = format!("{}, one has {}", self.describe(), lengths.longest()?);
                return Ok((algorithm, reason));
            }
        }
        Ok((self.choose_by_average(), self.describe()))
    }

    /// The numbers that steer the choice.
    fn limits(&self) -> SpmvThresholds {
        self.backend.thresholds().spmv
    }

    /// The reason for blocks of columns, if the plan runs often and the columns are worth it.
    fn reason_for_blocks_of_columns(&self) -> Result<Option<String>> {
        let is_often = self.options.expected_calls >= self.limits().column_blocks.calls;
        if !is_often || !self.backend.has_column_blocks() || self.are_few() {
            return Ok(None);
        }
        self.backend.reason_for_column_blocks(self.a)
    }

    /// The patterns for which a plan that runs often takes columns of 16 bits in place of `algorithm`. To find them
    /// takes the time of one or two products.
    fn patterns_for_deltas(&self, algorithm: RowAlgorithm) -> Result<DeltaPatterns> {
        let &Self { backend, a, options, ref lengths, .. } = self;
        let limits = self.limits().deltas;
        let is_often = options.algorithm.is_none() && options.expected_calls >= limits.calls;
        if !is_often || backend.caps().is_cpu || !self.are_busy_with_lanes() {
            return Ok(DeltaPatterns::None);
        }
        let lengths = RowLengths::measure(a, lengths)?;
        let cache_bytes = backend.properties().cache_bytes;
        let reads_words = backend.reads_words(a.values.element_bytes);
        Ok(lengths.patterns_for_deltas(algorithm, cache_bytes, reads_words, &limits))
    }

    /// Classes of lengths, with a copy of the columns or without, if they take less time than `algorithm`.
    fn algorithm_of_classes(
        &self,
        algorithm: RowAlgorithm,
        pattern: ColumnPattern,
    ) -> Result<Option<RowAlgorithm>> {
        if !self.take_length_classes(algorithm, pattern)? {
            return Ok(None);
        }
        let are_copied = self.lanes_for_sliced_columns(pattern)?.is_some();
        Ok(Some(if are_copied { RowAlgorithm::SlicedColumns } else { RowAlgorithm::LengthClasses }))
    }

    /// True if classes of lengths take less time than `algorithm`, where a plan reads the lengths.
    fn take_length_classes(&self, algorithm: RowAlgorithm, pattern: ColumnPattern) -> Result<bool> {
        let &Self { backend, a, options, ref lengths, .. } = self;
        if options.algorithm.is_some() || options.expected_calls <= 1 || backend.has_barriers() {
            return Ok(false);
        }
        let (properties, limits) = (backend.properties(), self.limits());
        let measured = RowLengths::measure(a, lengths)?;
        let (units, cache_bytes) = (properties.caps.compute_units, properties.cache_bytes);
        Ok(measured.take_classes((algorithm, pattern), units, cache_bytes, &limits)
            && !(algorithm == RowAlgorithm::Segmented
                && measured.mean <= limits.length_classes.sparse_up_to
                && lengths.filled()? * limits.length_classes.rows_per_filled <= a.rows))
    }

    /// The algorithm by the length of the longest row, if that decides.
    fn choose_by_longest(&self) -> Result<Option<RowAlgorithm>> {
        let properties = self.backend.properties();
        let lengths = RowLengths::measure(self.a, &self.lengths)?;
        let (cache_bytes, limits) = (properties.cache_bytes, self.limits());
        Ok(if self.are_mostly_empty(lengths)? {
            Some(RowAlgorithm::ListedRows)
        } else if self.backend.has_barriers() {
            lengths.algorithm_with_barriers(self.are_few(), cache_bytes, &limits)
        } else {
            Some(lengths.algorithm(properties.caps.compute_units, cache_bytes, &limits))
        })
    }

    /// True if most rows are empty and none of the others is much longer; counts them if they have few entries.
    fn are_mostly_empty(&self, lengths: RowLengths) -> Result<bool> {
        let may_be = lengths.mean <= 1 && !self.are_few();
        Ok(may_be && lengths.are_mostly_empty(self.lengths.filled()?, &self.limits().listed_rows))
    }

    /// The algorithm by the number of rows and their average length.
    fn choose_by_average(&self) -> RowAlgorithm {
        let mean = self.a.mean_length();
        let several_lanes = mean >= self.limits().lanes_from || self.are_few() && mean > 1;
        match several_lanes {
            true if mean >= self.limits().warp_from && !self.backend.has_barriers() => {
                RowAlgorithm::RowPerWarp
            }
            true => RowAlgorithm::RowPerVector,
            false => RowAlgorithm::RowPerThread,
        }
    }

    /// True if the lanes that rows have with columns of 16 bits fill half of the device, or short rows all of it.
    pub(super) fn are_busy_with_lanes(&self) -> bool {
        let &Self { backend, a, .. } = self;
        let value_bytes = a.values.element_bytes;
        let lanes = row_deltas::lanes_for(a.mean_length(), value_bytes, backend.reads_words(value_bytes));
        !self.are_few() || lanes > 1 && backend.is_half_filled_by(a.rows * lanes)
    }

    /// True if short rows are too few to fill the device.
    fn are_few(&self) -> bool {
        self.a.rows <= self.backend.caps().compute_units * self.limits().many_rows_per_unit
    }

    /// The number of rows and their average length, as part of a reason.
    fn describe(&self) -> String {
        format!("{} rows have {} entries on average", self.a.rows, self.a.mean_length())
    }
}

impl Device {
    /// True if this number of lanes fills half of the device.
    pub(super) fn is_half_filled_by(&self, lanes: usize) -> bool {
        2 * lanes >= self.caps().compute_units * WARPS_AT_ONCE * LANES
    }
}
