//! The thresholds of the choice of algorithms on a device: by name, with storage for those fitted on a machine.

use crate::op::spmm::thresholds::SpmmThresholds;
use crate::op::spmv::thresholds::SpmvThresholds;
use disk_cache::{Cache, Kind};
use sparse_core::{Caps, Error, Result};
use std::fmt::{self, Display, Formatter};
use std::io;

/// The environment variable that names the folder of stored thresholds, by an absolute path; empty, none are read or
/// stored. Without it the folder is `nnz/thresholds` in the user's cache folder.
pub const THRESHOLDS_VARIABLE: &str = "NNZ_THRESHOLDS";

const ENTRIES: Kind = Kind { magic: *b"nnzthr01", extension: "thresholds" };

/// The crossovers from one algorithm to another of products on a device: lengths of rows, numbers of rows, bytes.
///
/// They decide which algorithm runs, never whether its result is right. A device has those [stored](Self::store) for
/// its kind, else those fitted on an H100.
///
/// ```
/// use sparse_device::Thresholds;
///
/// let mut thresholds = Thresholds::H100;
/// thresholds.set("spmv.long_rows.block_from", 500)?;
/// assert_eq!(thresholds.get("spmv.long_rows.block_from"), Some(500));
/// assert!(thresholds.set("spmv.colour", 1).is_err());
/// # Ok::<(), sparse_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Thresholds {
    pub(crate) spmv: SpmvThresholds,
    pub(crate) spmm: SpmmThresholds,
}

/// A threshold by its name.
struct Named {
    name: &'static str,
    of: fn(&mut Thresholds) -> &mut usize,
}

/// Lists thresholds by their paths.
macro_rules! named {
    ($($op:ident $(. $part:ident)+;)+) => {
        &[$(Named {
            name: concat!(stringify!($op) $(, ".", stringify!($part))+),
            of: |thresholds| &mut thresholds.$op$(.$part)+,
        }),+]
    };
}

/// All thresholds that depend on the device. Numbers of calls (`calls_for_…`) are not among them: they depend on the
/// time of a plan.
const NAMED: &[Named] = named! {
    spmv.many_rows_per_unit;
    spmv.lanes_from;
    spmv.warp_from;
    spmv.long_rows.block_from;
    spmv.long_rows.skew_ratio;
    spmv.few_rows.long_steps;
    spmv.few_rows.skew_ratio;
    spmv.few_rows.rows_per_unit_for_blocks;
    spmv.few_rows.rows_per_unit_for_warps;
    spmv.few_rows.block_from;
    spmv.few_rows.block_up_to;
    spmv.few_rows.warp_up_to_bytes;
    spmv.many_rows.never_skewed;
    spmv.many_rows.skew_ratio_in_cache;
    spmv.many_rows.skew_ratio_in_memory;
    spmv.many_rows.row_blocks_from;
    spmv.many_rows.row_blocks_up_to;
    spmv.many_rows.row_blocks_from_x_bytes;
    spmv.many_rows.thread_below_in_cache;
    spmv.many_rows.thread_below_bytes;
    spmv.many_rows.vector_from;
    spmv.barriers.merge_path_below;
    spmv.barriers.skew_ratio;
    spmv.barriers.never_skewed;
    spmv.barriers.like_ratio;
    spmv.barriers.thread_below_bytes;
    spmv.barriers.thread_below_bytes_in_cache;
    spmv.listed_rows.rows_per_filled;
    spmv.listed_rows.steps;
    spmv.deltas.lanes_from;
    spmv.deltas.wide_lanes_from;
    spmv.deltas.short_x_bytes;
    spmv.length_classes.alike_from;
    spmv.length_classes.skewed_from;
    spmv.length_classes.vector_up_to;
    spmv.length_classes.alike_ratio;
    spmv.length_classes.near_x_bytes;
    spmv.length_classes.alike.two_lanes;
    spmv.length_classes.alike.four_lanes;
    spmv.length_classes.alike.eight_lanes;
    spmv.length_classes.skewed.two_lanes;
    spmv.length_classes.skewed.four_lanes;
    spmv.length_classes.skewed.eight_lanes;
    spmv.length_classes.four_lanes_up_to;
    spmv.column_blocks.entries_per_unit;
    spmv.column_blocks.entries_per_block;
    spmm.filled_percent_for_panels;
    spmm.short_for_blocks.one_sector;
    spmm.short_for_blocks.one_line;
    spmm.short_for_blocks.lines;
    spmm.mostly_empty;
    spmm.whole_from;
    spmm.near_for_blocks;
    spmm.far_bytes;
    spmm.reuses;
    spmm.entries_per_unit_for_column_blocks;
    spmm.long_for_column_blocks;
    spmm.most_column_blocks;
};

impl Thresholds {
    /// Thresholds fitted on an H100 by `cargo xtask bench --suite choice`.
    pub const H100: Self = Self { spmv: SpmvThresholds::H100, spmm: SpmmThresholds::H100 };

    /// The names: the operation first, as in `spmv.long_rows.block_from`.
    pub fn names() -> impl ExactSizeIterator<Item = &'static str> {
        NAMED.iter().map(|named| named.name)
    }

    /// The threshold of this name, if there is one.
    pub fn get(&self, name: &str) -> Option<usize> {
        let named = NAMED.iter().find(|named| named.name == name)?;
        Some(*(named.of)(&mut self.clone()))
    }

    /// Sets the threshold of this name.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if no threshold has this name.
    pub fn set(&mut self, name: &str, value: usize) -> Result<()> {
        let named = NAMED.iter().find(|named| named.name == name);
        let named =
            named.ok_or_else(|| Error::unsupported(format!("threshold `{name}`"), "there is none"))?;
        *(named.of)(self) = value;
        Ok(())
    }

    /// Stores the thresholds for devices of this kind, replacing stored ones. False if the user has no folder for them,
    /// or [`THRESHOLDS_VARIABLE`] is empty.
    ///
    /// # Errors
    /// An error of the operating system.
    pub fn store(&self, caps: &Caps) -> io::Result<bool> {
        cache().map_or(Ok(false), |cache| self.write_to(&cache, caps).map(|()| true))
    }

    /// The thresholds that were stored for devices of this kind, if any were.
    pub fn stored(caps: &Caps) -> Option<Self> {
        Self::read_from(&cache()?, caps)
    }

    /// Removes the thresholds that were stored for devices of this kind.
    ///
    /// # Errors
    /// An error of the operating system.
    pub fn forget(caps: &Caps) -> io::Result<()> {
        cache().map_or(Ok(()), |cache| cache.remove(&key(caps)))
    }

    fn write_to(&self, cache: &Cache, caps: &Caps) -> io::Result<()> {
        cache.write(&key(caps), self.to_string().as_bytes())
    }

    fn read_from(cache: &Cache, caps: &Caps) -> Option<Self> {
        Self::parse(&String::from_utf8(cache.read(&key(caps))?).ok()?)
    }

    /// Reads lines of a name and a number, as [`Display`] writes them: each name once.
    fn parse(text: &str) -> Option<Self> {
        let mut thresholds = Self::H100;
        for line in text.lines() {
            let (name, value) = line.split_once(' ')?;
            thresholds.set(name, value.parse().ok()?).ok()?;
        }
        (text.lines().count() == NAMED.len()).then_some(thresholds)
    }
}

/// A line with the name and the number of each.
impl Display for Thresholds {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut copy = *self;
        NAMED.iter().try_for_each(|named| writeln!(f, "{} {}", named.name, (named.of)(&mut copy)))
    }
}

fn cache() -> Option<Cache> {
    Cache::of_user(THRESHOLDS_VARIABLE, "thresholds", ENTRIES)
}

/// The kind of a device.
fn key(caps: &Caps) -> String {
    format!("{}\n{}\n{}", caps.backend, caps.device, caps.compute_units)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_read_as_it_is_written() {
        let mut thresholds = Thresholds::H100;
        for (value, name) in Thresholds::names().enumerate() {
            thresholds.set(name, value).unwrap();
        }
        let text = thresholds.to_string();
        assert_eq!(Thresholds::parse(&text), Some(thresholds));
        assert_ne!(thresholds, Thresholds::H100);
    }

    #[test]
    fn each_kind_of_device_has_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::in_folder(folder.path().join("thresholds"), ENTRIES);
        let device = crate::Device::without_hardware("none", &[], 32).unwrap();
        let caps = sparse_core::Backend::caps(&device).clone();
        let mut thresholds = Thresholds::H100;
        thresholds.set("spmm.reuses", 5).unwrap();
        thresholds.write_to(&cache, &caps).unwrap();
        assert_eq!(Thresholds::read_from(&cache, &caps), Some(thresholds));
        assert_eq!(Thresholds::read_from(&cache, &Caps { compute_units: 2, ..caps }), None);
    }

    #[test]
    fn text_that_lacks_a_line_or_has_another_name_is_not_read() {
        let text = Thresholds::H100.to_string();
        let (first, rest) = text.split_once('\n').unwrap();
        assert_eq!(Thresholds::parse(rest), None);
        assert_eq!(Thresholds::parse(&text.replacen("spmv", "spmw", 1)), None);
        assert_eq!(Thresholds::parse(&format!("{first}s\n{rest}")), None);
    }
}
