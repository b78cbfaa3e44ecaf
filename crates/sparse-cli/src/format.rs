//! The sparse formats of `--as` and `--format`.

use clap::ValueEnum;

/// A sparse format that products are computed in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Compressed rows
    Csr,
    /// Compressed columns
    Csc,
    /// Coordinates
    Coo,
    /// Rows padded to the longest
    Ell,
    /// ELL of the cheapest width, the overflow as COO
    Hyb,
    /// SELL-C-σ: slices of 32 rows, each padded to its own width
    Sell,
}

/// The formats of `--format`, in which a matrix is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum StoredFormat {
    /// Compressed rows
    Csr,
    /// Coordinates, which need no row offsets
    Coo,
}

impl Format {
    /// All formats.
    pub(crate) const ALL: [Self; 6] = [Self::Csr, Self::Csc, Self::Coo, Self::Ell, Self::Hyb, Self::Sell];

    /// The name, as in `--as`.
    pub(crate) fn name(self) -> &'static str {
        nnz::Format::from(self).name()
    }
}

impl From<Format> for nnz::Format {
    fn from(format: Format) -> Self {
        match format {
            Format::Csr => Self::Csr,
            Format::Csc => Self::Csc,
            Format::Coo => Self::Coo,
            Format::Ell => Self::Ell,
            Format::Hyb => Self::Hyb,
            Format::Sell => Self::Sell,
        }
    }
}
