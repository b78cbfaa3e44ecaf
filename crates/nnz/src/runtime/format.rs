//! Layouts of formats, and index types by name.

pub use sparse_core::catalog::Format;
use sparse_core::{EllLayout, Error, HybWidth, Index, SellLayout};
use std::fmt::Display;

/// A format of one matrix, with the parameters of its layout.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Layout {
    /// [`Format::Csr`]; duplicates are added.
    Csr,
    /// [`Format::Csc`]; duplicates are added.
    Csc,
    /// [`Format::Coo`]; from another format sorted by rows.
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
    ///
    /// ```
    /// # use nnz::{Layout, prelude::*};
    /// assert_eq!(Layout::Sell(Default::default()).format(), Format::Sell);
    /// # Ok::<(), Error>(())
    /// ```
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

/// The default layout of a format; an error for a batch, which is no format of one matrix.
impl TryFrom<Format> for Layout {
    type Error = Error;

    fn try_from(format: Format) -> Result<Self, Error> {
        Ok(match format {
            Format::Csr => Self::Csr,
            Format::Csc => Self::Csc,
            Format::Coo => Self::Coo,
            Format::Ell => Self::Ell(EllLayout::default()),
            Format::Hyb => Self::Hyb(HybWidth::default()),
            Format::Sell => Self::Sell(SellLayout::default()),
            Format::BatchCsr | Format::BatchCsc => {
                return Err(Error::unsupported(format!("a matrix as {format}"), "it is a format of batches"));
            }
        })
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
    ///
    /// ```
    /// # use nnz::{IndexType, prelude::*};
    /// assert_eq!(IndexType::of::<i64>(), IndexType::I64);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn of<I: Index>() -> Self {
        if size_of::<I>() == size_of::<i32>() { Self::I32 } else { Self::I64 }
    }

    /// The bytes of an index.
    ///
    /// ```
    /// # use nnz::{IndexType, prelude::*};
    /// assert_eq!(IndexType::I64.bytes(), 8);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn bytes(self) -> usize {
        match self {
            Self::I32 => size_of::<i32>(),
            Self::I64 => size_of::<i64>(),
        }
    }

    /// The name of the type, as in Rust.
    ///
    /// ```
    /// # use nnz::{IndexType, prelude::*};
    /// assert_eq!(IndexType::I32.name(), "i32");
    /// # Ok::<(), Error>(())
    /// ```
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
