//! Rows side by side: ELL and the slices of SELL, one lane a row.

use sparse_core::Index;

/// Rows summed at a time.
pub(crate) const LANES: usize = 32;

/// The columns of a padded format.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Columns<'a, I> {
    /// One column per element, or padding.
    Plain(&'a [I]),
    /// Column = base of `height` neighbouring elements + delta of the element; [`NO_DELTA`] is padding.
    Deltas { bases: &'a [I], deltas: &'a [u16], height: usize },
}

/// The delta of padding.
pub(crate) const NO_DELTA: u16 = u16::MAX;

impl<I: Index> Columns<'_, I> {
    /// The column at `position`, unless it is padding.
    #[inline(always)]
    pub(crate) fn at(&self, position: usize) -> Option<usize> {
        match *self {
            Self::Plain(columns) => (columns[position] != I::PADDING).then(|| columns[position].as_usize()),
            Self::Deltas { bases, deltas, height } => {
                let delta = deltas[position];
                (delta != NO_DELTA).then(|| bases[position / height].as_usize() + usize::from(delta))
            }
        }
    }
}

/// Up to [`LANES`] rows: element `k` of row `lane` is at `start + k·stride + lane`.
pub(crate) struct Slab<'a, T, I> {
    pub(crate) columns: Columns<'a, I>,
    pub(crate) values: &'a [T],
    pub(crate) start: usize,
    pub(crate) stride: usize,
    pub(crate) width: usize,
    pub(crate) lanes: usize,
}
