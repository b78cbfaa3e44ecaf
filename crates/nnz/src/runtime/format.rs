//! Formats and index types by name.

use sparse_core::{EllLayout, Error, HybWidth, Index, SellLayout};
use std::fmt::Display;
use std::str::FromStr;

/// A sparse format of one matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// Compressed rows: [`Csr`](crate::Csr).
    Csr,
    /// Compressed columns: [`Csc`](crate::Csc).
    Csc,
    /// Coordinates: [`Coo`](crate::Coo).
    Coo,
    /// Rows padded to one width: [`Ell`](crate::Ell).
    Ell,
    /// ELL with the overflow as COO: [`Hyb`](crate::Hyb).
    Hyb,
    /// Slices of rows, each padded to its own width: [`Sell`](crate::Sell).
    Sell,
}

impl Format {
    /// All of them.
    pub const ALL: [Self; 6] = [Self::Csr, Self::Csc, Self::Coo, Self::Ell, Self::Hyb, Self::Sell];

    /// The name, as in the names of operations.
    ///
    /// ```
    /// use nnz::Format;
    /// assert_eq!(Format::Csr.name(), "csr");
    /// assert_eq!("sell".parse::<Format>()?, Format::Sell);
    /// # Ok::<(), nnz::Error>(())
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            Self::Csr => "csr",
            Self::Csc => "csc",
            Self::Coo => "coo",
            Self::Ell => "ell",
            Self::Hyb => "hyb",
            Self::Sell => "sell",
        }
    }
}

impl Display for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Format {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        Self::ALL.into_iter().find(|format| format.name() == name).ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            Error::unsupported(format_args!("format `{name}`"), format_args!("the formats are {names}"))
        })
    }
}

/// A format with what it needs to know of its layout.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Layout {
    /// [`Format::Csr`]; duplicates are added.
    Csr,
    /// [`Format::Csc`]; duplicates are added.
    Csc,
    /// [`Format::Coo`], sorted by rows.
    Coo,
    /// [`Format::Ell`] of this width.
    Ell(EllLayout),
    /// [`Format::Hyb`] of this width.
    Hyb(HybWidth),
    /// [`Format::Sell`] with slices of this height.
    Sell(SellLayout),
}

impl Layout {
    /// The format.
    pub fn format(&self) -> Format {
        match self {
            Self::Csr => Format::Csr,
            Self::Csc => Format::Csc,
            Self::Coo => Format::Coo,
            Self::Ell(_) => Format::Ell,
            Self::Hyb(_) => Format::Hyb,
            Self::Sell(_) => Format::Sell,
        }
    }
}

/// The default layout of a format.
impl From<Format> for Layout {
    fn from(format: Format) -> Self {
        match format {
            Format::Csr => Self::Csr,
            Format::Csc => Self::Csc,
            Format::Coo => Self::Coo,
            Format::Ell => Self::Ell(EllLayout::default()),
            Format::Hyb => Self::Hyb(HybWidth::default()),
            Format::Sell => Self::Sell(SellLayout::default()),
        }
    }
}

/// The name of an index type at run time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IndexType {
    /// 32 bits.
    I32,
    /// 64 bits.
    I64,
}

impl IndexType {
    /// The name of `I`.
    pub fn of<I: Index>() -> Self {
        if size_of::<I>() == size_of::<i32>() { Self::I32 } else { Self::I64 }
    }

    /// The bytes of an index.
    pub fn bytes(self) -> usize {
        match self {
            Self::I32 => size_of::<i32>(),
            Self::I64 => size_of::<i64>(),
        }
    }

    /// The name of the type, as in Rust.
    pub fn name(self) -> &'static str {
        match self {
            Self::I32 => i32::NAME,
            Self::I64 => i64::NAME,
        }
    }
}

impl Display for IndexType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}
