//! The choice of an algorithm for a sampled product, from the properties of the matrix.

use super::quads::{self, Quads};
use super::{ALIGNED, LINE, RawEntries, RowOf, SddmmAlgorithm};
use crate::Device;
use crate::lanes::vector;
use crate::primitive::column_blocks::Cut;
use crate::primitive::raw::RawCompressed;
use sparse_core::{AlgorithmSet, Backend, DType, PlanOptions, Result};

/// Bytes of a slice of columns; also the bytes of a row of V up to which a plan of several calls stores the row of each
/// entry. Measured on an H100, f32: without stored rows 1.06 to 1.22 of the time with 32 columns, 1.00 to 1.06 with
/// 256; 256 columns at once take 1.08 to 1.35 of the time of two slices where V does not fit the cache, 0.97 where it
/// does.
const SLICE: usize = 512;

/// Bytes of a slice of columns for [`ALIGNED`] and quads. Measured on an H200, f32, 256 columns, ten matrices whose V
/// does not fit the cache: slices of 512 bytes take 1.03 to 1.2 of the time on stencils and bands.
pub(super) const ALIGNED_SLICE: usize = 1024;

/// Bytes of a slice where the columns of a row are far from each other, by the widest slice whose part of V fits the
/// cache. Measured on an H200, f32, 256 columns: 0.74 to 0.82 of the time with rows of 30 to 300 random columns and a
/// power law, 1 with rows of 8 in 10⁶ columns, where no slice fits the cache.
const FAR_SLICES: [usize; 3] = [ALIGNED_SLICE, 512, 256];

/// True if rows of `inner` elements have whole words, and `least` bytes at least.
pub(super) fn has_whole_words(dtype: DType, inner: usize, least: usize) -> bool {
    inner.is_multiple_of(vector(dtype.bytes())) && inner.saturating_mul(dtype.bytes()) >= least
}

/// Bytes of a slice of columns for whole words, of a V with `cols` rows that does not fit the cache.
fn slice_of_words(cols: usize, cache: usize, is_far: bool) -> usize {
    let [widest, .., narrowest] = FAR_SLICES;
    let fits_cache = |slice: &usize| cols.saturating_mul(*slice) <= cache;
    if is_far { FAR_SLICES.into_iter().find(fits_cache).unwrap_or(narrowest) } else { widest }
}

/// The properties of a product that decide the algorithm of its plan.
#[derive(Debug)]
pub(super) struct Inspection {
    /// Bytes of a row of V.
    row_bytes: usize,
    /// True if V fits the device's cache.
    fits_cache: bool,
    /// True if [`ALIGNED`] can run: the rows of entries are known, and those of V have whole words.
    is_aligned: bool,
    /// The panels, if they are the better choice.
    panels: Option<Cut>,
    /// Bytes of a slice of columns.
    slice: usize,
}

impl Inspection {
    pub(super) fn new(
        backend: &Device,
        p: RawEntries<'_>,
        inner: usize,
        options: &PlanOptions,
    ) -> Result<Self> {
        let row_bytes = inner.saturating_mul(p.dtype.bytes());
        let repeats = options.expected_calls > 1;
        let knows_rows = matches!(p.row_of, RowOf::Coordinates(_)) || repeats;
        let is_aligned = knows_rows && backend.has(ALIGNED) && has_whole_words(p.dtype, inner, LINE);
        let cache = backend.properties().cache_bytes;
        let fits_cache = p.shape.1.saturating_mul(row_bytes) <= cache;
        let compressed = p.row_of.compressed();
        let [.., narrowest] = FAR_SLICES;
        let is_far = match compressed {
            Some(a) if is_aligned && repeats && !fits_cache && row_bytes > narrowest => {
                !backend.has_near_columns(a)?
            }
            _ => false,
        };
        let forced = options.algorithm.as_deref().and_then(SddmmAlgorithm::named);
        let panels = match compressed {
            Some(a) if forced.map_or(repeats, |forced| forced == SddmmAlgorithm::ColumnPanels) => {
                quads::choose_panels(backend, a, inner)?
            }
            _ => None,
        };
        let slice = if is_aligned { slice_of_words(p.shape.1, cache, is_far) } else { SLICE };
        Ok(Self { row_bytes, fits_cache, is_aligned, panels, slice })
    }

    /// The automatic choice and its reason.
    pub(super) fn preferred(&self, backend: &Device) -> (SddmmAlgorithm, &'static str) {
        match self.panels {
            _ if backend.caps().is_cpu => (SddmmAlgorithm::ChunkPerThread, "the device is a CPU"),
            Some(Cut { blocks: 1, .. }) => {
                (SddmmAlgorithm::ColumnPanels, "rows are long, or those of V short")
            }
            Some(_) => (SddmmAlgorithm::ColumnPanels, "rows have several entries in a panel of columns"),
            None if self.row_bytes > self.slice && !self.fits_cache => {
                (SddmmAlgorithm::ColumnSlices, "the cache does not hold V")
            }
            None => (SddmmAlgorithm::LanesPerEntry, "the cache holds V, or its rows are short"),
        }
    }

    /// True if a plan of several calls stores the row of each entry.
    pub(super) fn stores_rows(&self, algorithm: SddmmAlgorithm) -> bool {
        match algorithm {
            SddmmAlgorithm::LanesPerEntry => self.is_aligned || self.row_bytes <= SLICE,
            SddmmAlgorithm::ColumnSlices => true,
            SddmmAlgorithm::ColumnPanels | SddmmAlgorithm::ChunkPerThread => false,
        }
    }

    /// True if the algorithm runs [`ALIGNED`].
    pub(super) fn takes_aligned(&self, algorithm: SddmmAlgorithm) -> bool {
        self.is_aligned && matches!(algorithm, SddmmAlgorithm::LanesPerEntry | SddmmAlgorithm::ColumnSlices)
    }

    /// The quads of `column_panels`, if rows of V have whole words.
    pub(super) fn quads(
        &self,
        backend: &Device,
        p: RawEntries<'_>,
        algorithm: SddmmAlgorithm,
    ) -> Result<Option<Quads>> {
        match (p.row_of, quads::team(self.row_bytes)) {
            (RowOf::Compressed(a), Some(lanes)) if algorithm == SddmmAlgorithm::ColumnPanels => {
                Quads::new(backend, a, lanes, self.panels.unwrap_or(one_panel(a))).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Columns of U and V that are multiplied at a time; `None` for all. Half precision has one slice, since C is
    /// rounded after each.
    pub(super) fn slice(&self, algorithm: SddmmAlgorithm, dtype: DType) -> Option<usize> {
        let has_panels = self.panels.is_some_and(|cut| cut.blocks > 1);
        let bytes = match algorithm {
            SddmmAlgorithm::ColumnSlices => Some(self.slice),
            SddmmAlgorithm::ColumnPanels if has_panels => Some(ALIGNED_SLICE),
            SddmmAlgorithm::ColumnPanels if !self.fits_cache => Some(self.slice),
            _ => None,
        };
        bytes.filter(|_| dtype.accumulator() == dtype).map(|bytes| bytes / dtype.bytes())
    }
}

/// All columns in one panel.
fn one_panel(a: RawCompressed<'_>) -> Cut {
    Cut { blocks: 1, width: a.cols }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(panels: Option<Cut>, fits_cache: bool) -> Inspection {
        Inspection { row_bytes: 2048, fits_cache, is_aligned: true, panels, slice: 512 }
    }

    #[test]
    fn slices_of_far_columns_are_the_widest_that_the_cache_holds() {
        let cache = 60 << 20;
        assert_eq!(slice_of_words(80_000, cache, true), 512);
        assert_eq!(slice_of_words(250_000, cache, true), 256);
        assert_eq!(slice_of_words(1_000_000, cache, true), 256);
        assert_eq!(slice_of_words(1_000_000, cache, false), ALIGNED_SLICE);
        assert_eq!(slice_of_words(1000, cache, true), ALIGNED_SLICE);
    }

    #[test]
    fn panels_have_slices_of_their_own_and_half_precision_has_none() {
        let panels = Cut { blocks: 4, width: 64 };
        let one = Cut { blocks: 1, width: 256 };
        let slice = |found: Inspection, dtype| found.slice(SddmmAlgorithm::ColumnPanels, dtype);
        assert_eq!(slice(found(Some(panels), true), DType::F32), Some(256));
        assert_eq!(slice(found(Some(one), true), DType::F32), None);
        assert_eq!(slice(found(Some(one), false), DType::F64), Some(64));
        assert_eq!(slice(found(Some(panels), false), DType::F16), None);
        assert_eq!(found(None, false).slice(SddmmAlgorithm::ColumnSlices, DType::F32), Some(128));
        assert_eq!(found(None, false).slice(SddmmAlgorithm::LanesPerEntry, DType::F32), None);
    }

    #[test]
    fn rows_of_entries_are_stored_for_kernels_without_quads() {
        assert!(found(None, true).stores_rows(SddmmAlgorithm::LanesPerEntry));
        assert!(!found(None, true).stores_rows(SddmmAlgorithm::ColumnPanels));
        assert!(!found(None, true).takes_aligned(SddmmAlgorithm::ColumnPanels));
    }
}
