//! Reductions: one partial result per work-group, whose number depends only on the length.

use crate::launch::Launch;
use crate::{Buffer, Device};
use sparse_core::{Backend, Result};

/// The most work-groups of a reduction.
pub(crate) const MAX_PARTIALS: usize = 1024;

/// The fewest elements per work-item: another work-group is worth it only beyond.
pub(crate) const ITEMS_PER_LANE: usize = 8;

impl Device {
    /// The number of work-groups of a reduction over `len` elements, and of its partial results.
    pub(crate) fn partial_count(&self, len: usize) -> usize {
        len.div_ceil(self.inner.block * ITEMS_PER_LANE).min(MAX_PARTIALS)
    }

    /// Runs a reduction over `len` elements, whose launch lacks only the last argument, and reads the partial results.
    pub(crate) fn partials(&self, reduction: Launch<'_>, len: usize) -> Result<Vec<i64>> {
        let groups = self.partial_count(len);
        let partial: Buffer<i64> = self.allocate(groups)?;
        reduction.buffer(&partial).groups(groups, self.inner.block)?;
        self.download(&partial)
    }
}
