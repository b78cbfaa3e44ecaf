//! Bytes of a matrix in each format, without building it.

use super::sell::SellLayout;
use crate::error::{Error, Result};
use crate::index::Index;
use crate::scalar::Scalar;

/// Bytes of the three types of a matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    /// A value.
    pub scalar: usize,
    /// A row or column index.
    pub index: usize,
    /// A row offset.
    pub offset: usize,
}

impl Sizes {
    /// The sizes of `T`, `I` and `O`.
    ///
    /// ```
    /// # use sparse_core::format::estimate::Sizes;
    /// assert_eq!(Sizes::of::<f64, i32, i64>(), Sizes { scalar: 8, index: 4, offset: 8 });
    /// ```
    pub fn of<T: Scalar, I: Index, O: Index>() -> Self {
        Self { scalar: size_of::<T>(), index: size_of::<I>(), offset: size_of::<O>() }
    }
}

/// The memory that a matrix takes in one format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Estimate {
    /// The format.
    pub format: &'static str,
    /// Bytes of all its arrays.
    pub bytes: u64,
    /// Stored elements, padding included.
    pub slots: u64,
}

/// Sums and products that fail on overflow, naming the format.
struct Bytes(Option<u64>);

impl Bytes {
    fn zero() -> Self {
        Self(Some(0))
    }

    fn add(self, count: usize, size: usize) -> Self {
        let bytes = (count as u64).checked_mul(size as u64);
        Self(self.0.and_then(|sum| sum.checked_add(bytes?)))
    }

    fn estimate(self, format: &'static str, slots: usize) -> Result<Estimate> {
        let bytes = self.0.ok_or_else(|| Error::IndexOverflow {
            what: format!("bytes of {format} with {slots} slots"),
            value: u128::MAX,
            target: "u64",
        })?;
        Ok(Estimate { format, bytes, slots: slots as u64 })
    }
}

/// `rows · cols` values.
///
/// ```
/// # use sparse_core::format::estimate::{self, Sizes};
/// let sizes = Sizes::of::<f64, i32, i32>();
/// assert_eq!(estimate::dense(3, 4, sizes)?.bytes, 96);
/// # Ok::<(), sparse_core::Error>(())
/// ```
///
/// # Errors
/// [`Error::IndexOverflow`] if a size does not fit, as for all functions of this module.
pub fn dense(rows: usize, cols: usize, sizes: Sizes) -> Result<Estimate> {
    let slots = crate::error::checked_product("rows x columns", rows, cols)?;
    Bytes::zero().add(slots, sizes.scalar).estimate("dense", slots)
}

/// Two indices and a value per entry.
///
/// ```
/// # use sparse_core::format::estimate::{self, Sizes};
/// let sizes = Sizes::of::<f64, i32, i32>();
/// assert_eq!(estimate::coo(5, sizes)?.bytes, 80);
/// # Ok::<(), sparse_core::Error>(())
/// ```
///
/// # Errors
/// As for [`dense`].
pub fn coo(nnz: usize, sizes: Sizes) -> Result<Estimate> {
    Bytes::zero().add(nnz, 2 * sizes.index + sizes.scalar).estimate("coo", nnz)
}

/// An index and a value per entry, an offset per row and one more.
///
/// ```
/// # use sparse_core::format::estimate::{self, Sizes};
/// let sizes = Sizes::of::<f64, i32, i32>();
/// assert_eq!(estimate::csr(3, 5, sizes)?.bytes, 76);
/// # Ok::<(), sparse_core::Error>(())
/// ```
///
/// # Errors
/// As for [`dense`].
pub fn csr(rows: usize, nnz: usize, sizes: Sizes) -> Result<Estimate> {
    compressed("csr", rows, nnz, sizes)
}

/// An index and a value per entry, an offset per column and one more.
///
/// ```
/// # use sparse_core::format::estimate::{self, Sizes};
/// let sizes = Sizes::of::<f64, i32, i32>();
/// assert_eq!(estimate::csc(4, 5, sizes)?.bytes, 80);
/// # Ok::<(), sparse_core::Error>(())
/// ```
///
/// # Errors
/// As for [`dense`].
pub fn csc(cols: usize, nnz: usize, sizes: Sizes) -> Result<Estimate> {
    compressed("csc", cols, nnz, sizes)
}

fn compressed(format: &'static str, major: usize, nnz: usize, sizes: Sizes) -> Result<Estimate> {
    Bytes::zero()
        .add(nnz, sizes.index + sizes.scalar)
        .add(major, sizes.offset)
        .add(1, sizes.offset)
        .estimate(format, nnz)
}

/// An index and a value per element, `rows · width` elements.
///
/// ```
/// # use sparse_core::format::estimate::{self, Sizes};
/// let sizes = Sizes::of::<f64, i32, i32>();
/// assert_eq!(estimate::ell(3, 2, sizes)?.bytes, 72);
/// # Ok::<(), sparse_core::Error>(())
/// ```
///
/// # Errors
/// As for [`dense`].
pub fn ell(rows: usize, width: usize, sizes: Sizes) -> Result<Estimate> {
    let slots = crate::error::checked_product("rows x width", rows, width)?;
    Bytes::zero().add(slots, sizes.index + sizes.scalar).estimate("ell", slots)
}

/// ELL of `width`, and COO for the overflow.
///
/// ```
/// # use sparse_core::format::estimate::{self, Sizes};
/// let sizes = Sizes::of::<f64, i32, i32>();
/// assert_eq!(estimate::hyb(&[1, 3, 1], 1, sizes)?.bytes, 68);
/// # Ok::<(), sparse_core::Error>(())
/// ```
///
/// # Errors
/// As for [`dense`].
pub fn hyb(row_lengths: &[usize], width: usize, sizes: Sizes) -> Result<Estimate> {
    let overflow: usize = row_lengths.iter().map(|length| length.saturating_sub(width)).sum();
    let slots = crate::error::checked_product("rows x width", row_lengths.len(), width)?;
    Bytes::zero()
        .add(slots, sizes.index + sizes.scalar)
        .add(overflow, 2 * sizes.index + sizes.scalar)
        .estimate("hyb", slots + overflow)
}

/// An index and a value per element, an offset per slice and one more, the row order.
///
/// ```
/// # use sparse_core::{SellLayout, format::estimate::{self, Sizes}};
/// let sizes = Sizes::of::<f64, i32, i32>();
/// let layout = SellLayout { slice_height: 2, sort_window: 2 };
/// assert_eq!(estimate::sell(&[1, 3], layout, sizes)?.slots, 6);
/// # Ok::<(), sparse_core::Error>(())
/// ```
///
/// # Errors
/// As for [`dense`]; [`Error::Format`] if C or σ is zero.
pub fn sell(row_lengths: &[usize], layout: SellLayout, sizes: Sizes) -> Result<Estimate> {
    let order = layout.row_order(row_lengths)?;
    let width: usize = layout.slice_widths(row_lengths, &order).sum();
    let slots = crate::error::checked_product("slice width x height", width, layout.slice_height)?;
    Bytes::zero()
        .add(slots, sizes.index + sizes.scalar)
        .add(row_lengths.len().div_ceil(layout.slice_height) + 1, sizes.offset)
        .add(row_lengths.len(), sizes.index)
        .estimate("sell", slots)
}

/// An error, naming the bytes and the longest row, if a padded format passes `max_bytes`; without it, the larger of
/// 256 MiB and 16 times the bytes of CSR.
///
/// ```
/// # use sparse_core::format::estimate::{self, Sizes};
/// let sizes = Sizes::of::<f64, i32, i32>();
/// let padded = estimate::ell(3, 100, sizes)?;
/// assert!(estimate::check_cap(padded, &[1, 1, 100], sizes, None).is_ok());
/// let error = estimate::check_cap(padded, &[1, 1, 100], sizes, Some(1000)).unwrap_err().to_string();
/// assert_eq!(error, "ell is not supported: 3600 bytes pass the cap of 1000; the longest row has 100 entries");
/// # Ok::<(), sparse_core::Error>(())
/// ```
///
/// # Errors
/// [`Error::Unsupported`] past the cap; else as [`dense`].
pub fn check_cap(
    padded: Estimate,
    row_lengths: &[usize],
    sizes: Sizes,
    max_bytes: Option<u64>,
) -> Result<()> {
    let csr = csr(row_lengths.len(), row_lengths.iter().sum(), sizes)?;
    let cap = max_bytes.unwrap_or((256 << 20).max(csr.bytes.saturating_mul(16)));
    if padded.bytes <= cap {
        return Ok(());
    }
    let longest = row_lengths.iter().max().unwrap_or(&0);
    let reason =
        format!("{} bytes pass the cap of {cap}; the longest row has {longest} entries", padded.bytes);
    Err(Error::unsupported(padded.format, reason))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::HybWidth;

    const F32: Sizes = Sizes { scalar: 4, index: 4, offset: 4 };
    const MIB: f64 = (1 << 20) as f64;

    /// 8192² and exactly 20 % non-zeros: 102.4 MiB of CSR, 121.6 of HYB at width 1024.
    #[test]
    fn storage_of_an_8192_square_one_fifth_full() {
        let rows = 8192;
        let lengths: Vec<usize> = (0..rows).map(|i| 1638 + usize::from(i % 5 < 2)).collect();
        let nnz = lengths.iter().sum();
        let in_mib = |estimate: Estimate| estimate.bytes as f64 / MIB;
        assert!((in_mib(csr(rows, nnz, F32).unwrap()) - 102.4).abs() < 0.1);
        assert!((in_mib(hyb(&lengths, 1024, F32).unwrap()) - 121.6).abs() < 0.1);
        assert_eq!(HybWidth::Fraction(0.125).resolve(&lengths, rows, F32), 1024);
    }

    /// 1000², 1 % dense, one row of 200.
    #[test]
    fn one_long_row_makes_ell_twenty_times_csr_by_entries() {
        let mut lengths = vec![10_usize; 1000];
        lengths[3] = 200;
        let dense = dense(1000, 1000, F32).unwrap();
        let ell = ell(1000, 200, F32).unwrap();
        assert_eq!(ell.bytes * 10, dense.bytes * 4);
        assert_eq!(ell.slots, 200_000);
    }

    #[test]
    fn sizes_that_overflow_are_errors() {
        assert!(dense(usize::MAX, 2, F32).is_err());
        assert!(csr(1, usize::MAX / 2, F32).is_err());
    }
}
