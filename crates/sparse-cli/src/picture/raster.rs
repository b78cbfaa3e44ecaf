//! Bins of entries: the memory of a picture depends on the number of bins, not of entries.

use nnz::{Matrix, Result};
use serde::Serialize;

/// The number of entries in each bin of a grid over a matrix.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Raster {
    /// Bins across; at least 1.
    pub(crate) width: usize,
    /// Bins down; at least 1.
    pub(crate) height: usize,
    counts: Vec<u64>,
    /// The largest count.
    most: u64,
}

impl Raster {
    /// Counts the entries of `a` in a grid of the matrix's proportions, at most `limit` bins wide and high and no
    /// finer than the matrix.
    pub(crate) fn of(a: &Matrix, limit: usize) -> Result<Self> {
        let (rows, cols) = a.shape();
        let (width, height) = grid(rows, cols, limit);
        let mut counts = vec![0_u64; width * height];
        a.for_each_entry(&mut |row, col, _| {
            counts[bin(row, height, rows) * width + bin(col, width, cols)] += 1;
        })?;
        Ok(Self::new(width, height, counts))
    }

    fn new(width: usize, height: usize, counts: Vec<u64>) -> Self {
        let most = counts.iter().copied().max().unwrap_or(0);
        Self { width, height, counts, most }
    }

    /// The entries of a bin.
    pub(crate) fn count(&self, x: usize, y: usize) -> u64 {
        self.counts[y * self.width + x]
    }

    /// The darkness of a bin, from 0 without entries to 1 for the fullest; logarithmic, so that single entries are
    /// visible.
    pub(crate) fn shade(&self, x: usize, y: usize) -> f64 {
        const FAINTEST: f64 = 0.25;
        match self.count(x, y) {
            0 => 0.0,
            count if count == self.most => 1.0,
            count => FAINTEST + (1.0 - FAINTEST) * (count as f64).ln() / (self.most as f64).ln(),
        }
    }
}

/// The bin of position `k` of `extent`, out of `bins`.
fn bin(k: usize, bins: usize, extent: usize) -> usize {
    match k.checked_mul(bins) {
        Some(product) => product / extent,
        None => (k as u128 * bins as u128 / extent as u128) as usize,
    }
}

/// (width, height) of a grid in the proportions of a matrix.
fn grid(rows: usize, cols: usize, limit: usize) -> (usize, usize) {
    let longest = rows.max(cols).max(1);
    let side = longest.min(limit.max(1));
    let scaled = |extent: usize| (extent as u128 * side as u128).div_ceil(longest as u128) as usize;
    (scaled(cols).max(1), scaled(rows).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::Context;
    use nnz::Csr;

    impl Raster {
        /// As [`of`](Raster::of), of a typed matrix.
        pub(in crate::picture) fn of_csr(a: Csr<f64>, limit: usize) -> Self {
            Self::of(&Matrix::from_typed(&Context::host().unwrap(), a).unwrap(), limit).unwrap()
        }
    }

    #[test]
    fn every_entry_is_counted_once() {
        let a = Csr::<f64>::new(3, 6, vec![0, 2, 2, 4], vec![0, 1, 4, 5], vec![1.0; 4]).unwrap();
        let fine = Raster::of_csr(a.clone(), 100);
        assert_eq!((fine.width, fine.height), (6, 3));
        assert_eq!((fine.count(0, 0), fine.count(5, 2), fine.count(2, 1)), (1, 1, 0));
        let coarse = Raster::of_csr(a, 3);
        assert_eq!((coarse.width, coarse.height), (3, 2));
        assert_eq!(coarse.counts, [2, 0, 0, 0, 0, 2]);
    }

    #[test]
    fn empty_matrices_have_a_blank_bin() {
        for (rows, cols) in [(0, 0), (0, 5), (5, 0)] {
            let raster = Raster::of_csr(Csr::zeros(rows, cols).unwrap(), 4);
            assert!(raster.counts.iter().all(|&count| count == 0));
            assert!(raster.width >= 1 && raster.height >= 1);
        }
    }

    #[test]
    fn shades_rise_with_the_count() {
        let raster = Raster::new(4, 1, vec![0, 1, 10, 100]);
        let shades: Vec<f64> = (0..4).map(|x| raster.shade(x, 0)).collect();
        assert_eq!((shades[0], shades[1], shades[3]), (0.0, 0.25, 1.0));
        assert!(shades.is_sorted());
    }
}
