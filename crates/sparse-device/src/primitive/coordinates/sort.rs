//! Pairs of indices sorted by their bits.

use super::onesweep;
use crate::Device;
use crate::buffer::RawBuffer;
use crate::defines::Defines;
use crate::index_type::IndexType;
use crate::primitive::positions::Positions;
use crate::primitive::radix_sort::{Sorted, sort_keys};
use sparse_core::Result;
use sparse_core::format::IndexOrder;

/// The file of the kernels.
pub(super) const FILE: &str = "coordinates";

/// The keys by which entries still have to be sorted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SortBy {
    /// By both indices.
    Both,
    /// By the major index: minor ones are in order, or need not be.
    Major,
    /// By no key: the entries are in order.
    Nothing,
}

impl SortBy {
    /// The keys that sort entries of this order by rows or by columns.
    pub(super) fn from_order(by_rows: bool, order: IndexOrder) -> Self {
        match (by_rows, order) {
            (true, IndexOrder { sorted: true, .. }) => Self::Nothing,
            (false, IndexOrder { major_sorted: true, .. }) => Self::Major,
            _ => Self::Both,
        }
    }
}

/// Major and minor indices.
pub(super) type Indices<'a> = (&'a RawBuffer, &'a RawBuffer);

/// Major and minor indices, and their original positions.
pub(super) type Moved = (RawBuffer, RawBuffer, Positions);

/// The kernels that sort entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sorter {
    /// A pass per digit; entries [fit](onesweep::fits).
    Onesweep,
    /// Three launches per digit, on every device.
    RadixSort,
}

impl Sorter {
    /// True if it can sort this number of entries within `extents`, on a device that has its kernels.
    pub(crate) fn fits(self, extents: (usize, usize), entries: usize) -> bool {
        match self {
            Self::Onesweep => onesweep::fits(extents, entries),
            Self::RadixSort => true,
        }
    }

    /// The fastest sorter that the device has, and the reason.
    pub(crate) fn choose(backend: &Device, extents: (usize, usize), entries: usize) -> (Self, &'static str) {
        match backend.lacks(onesweep::FILE) {
            Some(_) => (Self::RadixSort, "there is no other"),
            None if Self::Onesweep.fits(extents, entries) => (Self::Onesweep, "it moves fewer bytes"),
            None => (Self::RadixSort, "an index and a position take more than 64 bits"),
        }
    }
}

/// Sorts the entries at (`major[k]`, `minor[k]`), which lie within `extents`.
pub(super) fn sort_indices(
    backend: &Device,
    extents: (usize, usize),
    indices: Indices<'_>,
    by: SortBy,
    sorter: Sorter,
) -> Result<Moved> {
    match sorter {
        _ if by == SortBy::Nothing => copies(backend, indices),
        Sorter::Onesweep => onesweep::sort(backend, extents, indices, by),
        Sorter::RadixSort => radix_sort(backend, extents, indices, by),
    }
}

/// [`sort_indices`] by a radix sort of one key of both indices where it fits.
fn radix_sort(backend: &Device, extents: (usize, usize), indices: Indices<'_>, by: SortBy) -> Result<Moved> {
    let bits = (bits_below(extents.0), bits_below(extents.1));
    match bits.0 + bits.1 {
        0..=32 if indices.0.index_type() == IndexType::I32 => {
            sort_together(backend, IndexType::I32, indices, bits, by)
        }
        0..=64 => sort_together(backend, IndexType::I64, indices, bits, by),
        _ => sort_apart(backend, indices, bits, by),
    }
}

/// Number of bits of the numbers below `extent`.
pub(crate) fn bits_below(extent: usize) -> u32 {
    usize::BITS - extent.saturating_sub(1).leading_zeros()
}

/// Copies of the indices in storage order.
fn copies(backend: &Device, (major, minor): Indices<'_>) -> Result<Moved> {
    let positions = Positions::counted(backend, 0..major.len, major.len)?;
    Ok((backend.duplicate(major)?, backend.duplicate(minor)?, positions))
}

/// Sorts the indices by one key of both.
fn sort_together(
    backend: &Device,
    key: IndexType,
    (major, minor): Indices<'_>,
    (major_bits, minor_bits): (u32, u32),
    by: SortBy,
) -> Result<Moved> {
    let (n, index) = (major.len, major.index_type());
    let kernel = |entry| backend.kernel(FILE, entry, Defines::default().index(index).offset(key));
    let keys = backend.allocate_raw(n, key.bytes())?;
    let pack = kernel("coordinates_pack")?;
    let launch = backend.launch(&pack).size(n).buffer(major).buffer(minor);
    launch.value(minor_bits as i32).buffer(&keys).items(n)?;
    let first = if by == SortBy::Both { 0 } else { minor_bits };
    let Sorted { keys, positions } = sort_keys(backend, keys, None, first..major_bits + minor_bits)?;
    let buffer = || backend.allocate_raw(n, index.bytes());
    let (major, minor) = (buffer()?, buffer()?);
    let split = kernel("coordinates_split")?;
    let launch = backend.launch(&split).size(n).buffer(&keys).value(minor_bits as i32);
    launch.buffer(&major).buffer(&minor).items(n)?;
    Ok((major, minor, positions))
}

/// Sorts the indices by one, then by the other.
fn sort_apart(
    backend: &Device,
    (major, minor): Indices<'_>,
    (major_bits, minor_bits): (u32, u32),
    by: SortBy,
) -> Result<Moved> {
    let mut positions = Positions::counted(backend, 0..major.len, major.len)?;
    if by == SortBy::Both {
        positions = sort_keys(backend, backend.duplicate(minor)?, None, 0..minor_bits)?.positions;
    }
    let keys = backend.gathered(&positions, major)?;
    let Sorted { keys: major, positions } = sort_keys(backend, keys, Some(positions), 0..major_bits)?;
    Ok((major, backend.gathered(&positions, minor)?, positions))
}

impl Device {
    /// A copy.
    pub(crate) fn duplicate(&self, buffer: &RawBuffer) -> Result<RawBuffer> {
        self.joined(&[(buffer, buffer.len)])
    }
}
