//! Products by merges: a work-item has a row of A, and merges the rows of B that it names.
//!
//! For rows of A of up to 32 entries, and rows of B in order without repetitions. The columns of C are found twice, to
//! count them and to write them, and once more with the values, of which nothing is stored between: no array is as
//! large as the number of products. Neighbouring work-items read the rows of B that neighbouring rows of A name, a
//! column at a time, so this takes less time than other methods where these rows of B are neighbours, too, as in
//! stencils and in products with grids of half the extent; where they are not, up to three times as much.
//!
//! Measured on H200, f32, kernels alone: A·A of a 5-point stencil of 1200², 306 µs in place of about 1230; A·P and
//! R·(A·P) of the same by interpolation, 211 and 176 µs.

use super::{Factors, largest_team};
use crate::buffer::RawBuffer;
use crate::index_type::IndexType;
use crate::lanes::LANES;
use crate::launch::Launch;
use crate::primitive::look_back::Tiles;
use crate::primitive::raw::RawCompressed;
use crate::{Buffer, Device, Kernel};
use sparse_core::{Backend, Result};

/// The file of the kernels that find the pattern.
pub(super) const FILE: &str = "spgemm_merge";

/// The file of the kernel that sums values.
const VALUES_FILE: &str = "spgemm_merge_values";

/// The most entries of a row of A that a work-item merges: the values of the kernels' macro `WAYS`.
const WAYS: [(usize, &str); 3] = [(8, "8"), (16, "16"), (32, "32")];

/// Bytes of C that a work-group collects before it writes them: the kernels' macro `STAGED`.
const STAGED_BYTES: usize = 16384;

/// Rows up to which they need not be like their neighbours, if they are short: the device works on all of them at once.
const FEW_ROWS: usize = 1 << 14;

/// Entries of a row of A on average up to which a plan looks for the longest, for few rows and for others.
const MAX_MEAN: [usize; 2] = [10, 28];

/// The most entries of a row, where rows are few: what takes time then is the longest.
const MAX_FEW_WAYS: usize = 16;

/// Warps of neighbouring rows that are looked at before.
const SAMPLES: usize = 256;

/// Rows of the sample per row that may name rows of B far from those of the row before.
const FAR_PART: i64 = 4;

/// Rows of the sample per row that must have a neighbour with entries.
const LONE_PART: i64 = 2;

/// The rows of A that are merged, if they fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rows {
    /// Any.
    All,
    /// Short ones that name rows of B near those of the row before, of a device that has the kernels.
    Alike,
}

/// Counts of the kernels: their structure `Summary`.
struct Summary {
    /// The entries of C.
    entries: usize,
    /// The most entries of a row of A, or more than any of [`WAYS`].
    most: usize,
    neighbours: i64,
    far: i64,
}

impl Summary {
    fn zeros(backend: &Device) -> Result<Buffer<i64>> {
        backend.zeros(4)
    }

    /// Waits for the device.
    fn of(backend: &Device, words: &Buffer<i64>) -> Result<Self> {
        let words = backend.download(words)?;
        Ok(Self { entries: words[0] as usize, most: words[1] as usize, neighbours: words[2], far: words[3] })
    }

    /// True if most rows of a sample have a neighbour, and most of these are like it.
    fn are_alike(&self) -> bool {
        self.neighbours * LONE_PART >= (SAMPLES * LANES) as i64 && self.far * FAR_PART <= self.neighbours
    }
}

/// The offsets and columns of C, and what finds its values.
pub(super) struct FoundMerge {
    pub(super) offsets: RawBuffer,
    pub(super) indices: RawBuffer,
    pub(super) rows: MergedRows,
}

/// The values of C by merges.
#[derive(Debug)]
pub(super) struct MergedRows {
    kernel: Kernel,
    /// The rows and work-items of a work-group.
    lanes: usize,
}

impl MergedRows {
    /// Finds the pattern of C with offsets of this type, unless rows do not fit, or are none of these.
    ///
    /// # Errors
    /// [`IndexOverflow`](sparse_core::Error::IndexOverflow) if offsets do not count the entries.
    pub(super) fn find(factors: Factors<'_>, offset: IndexType, rows: Rows) -> Result<Option<FoundMerge>> {
        let backend = factors.backend;
        if !can_merge(factors) || rows == Rows::Alike && !may_be_short(factors) {
            return Ok(None);
        }
        let words = Summary::zeros(backend)?;
        let ways = match rows {
            Rows::All => WAYS.last().copied(),
            Rows::Alike => sampled_ways(factors, &words)?,
        };
        let Some((ways, name)) = ways else { return Ok(None) };
        let offsets = backend.allocate_raw(factors.left.rows + 1, offset.bytes())?;
        let lanes = largest_team(backend);
        let tiles = Tiles::new(backend, factors.left.rows.div_ceil(lanes))?;
        let kernel = kernel(factors, "spgemm_merge_count", name)?;
        let launch = pattern_arguments(factors, &kernel).buffer(&offsets).buffer(&words);
        tiles.begin(backend, launch)?.group_per_row(tiles.count(), lanes)?;
        let found = Summary::of(backend, &words)?;
        if found.most > ways {
            return Ok(None);
        }
        offset.check("nnz", found.entries)?;
        let Some((_, name)) = ways_for(found.most) else { return Ok(None) };
        let indices = columns(factors, &offsets, found.entries, name)?;
        let defines = factors.left.defines().set("WAYS", name);
        let kernel = backend.kernel_of(factors.left.dtype, VALUES_FILE, VALUES_FILE, defines)?;
        let lanes = work_items(factors, found.entries, factors.left.values.element_bytes);
        Ok(Some(FoundMerge { offsets, indices, rows: Self { kernel, lanes } }))
    }

    /// Writes the values of C.
    pub(super) fn run(&self, factors: Factors<'_>, c: RawCompressed<'_>) -> Result<()> {
        let Factors { backend, left, right } = factors;
        let launch = backend.launch(&self.kernel).size(left.rows);
        let launch = launch.buffer(left.offsets).buffer(left.indices).buffer(left.values);
        let launch = launch.buffer(right.offsets).buffer(right.indices).buffer(right.values);
        let launch = launch.buffer(c.offsets).buffer(c.values);
        launch.group_per_row(left.rows.div_ceil(self.lanes), self.lanes)
    }
}

/// True if rows of B can be merged, by what the host knows.
fn can_merge(Factors { left, right, .. }: Factors<'_>) -> bool {
    left.nnz() > 0 && right.nnz() > 0 && right.order.sorted && right.order.unique
}

/// True if rows are few.
fn are_few(factors: Factors<'_>) -> bool {
    factors.left.rows <= FEW_ROWS
}

/// True if the device has the kernels, and rows are short on average.
fn may_be_short(factors: Factors<'_>) -> bool {
    let [of_few, of_many] = MAX_MEAN;
    let most = if are_few(factors) { of_few } else { of_many };
    factors.left.mean_length() <= most && factors.backend.lacks(FILE).is_none()
}

/// The ways for the longest row of a sample; none if it does not fit, or if many rows are unlike their neighbours.
fn sampled_ways(factors: Factors<'_>, words: &Buffer<i64>) -> Result<Option<(usize, &'static str)>> {
    let Factors { backend, left, right } = factors;
    let (_, most) = WAYS[WAYS.len() - 1];
    let kernel = kernel(factors, "spgemm_merge_sample", most)?;
    let launch = backend.launch(&kernel).size(left.rows).size(SAMPLES);
    let launch = launch.buffer(left.offsets).buffer(left.indices).buffer(right.offsets);
    launch.buffer(words).warps(SAMPLES)?;
    let sampled = Summary::of(backend, words)?;
    let fits = if are_few(factors) { sampled.most <= MAX_FEW_WAYS } else { sampled.are_alike() };
    Ok(ways_for(sampled.most).filter(|_| fits))
}

/// The least of [`WAYS`] for rows of up to `most` entries.
fn ways_for(most: usize) -> Option<(usize, &'static str)> {
    WAYS.into_iter().find(|(ways, _)| most <= *ways)
}

/// The columns of C, whose rows begin at `offsets`.
fn columns(
    factors: Factors<'_>,
    offsets: &RawBuffer,
    entries: usize,
    ways: &'static str,
) -> Result<RawBuffer> {
    let indices = factors.backend.allocate_raw(entries, factors.right.indices.element_bytes)?;
    if entries > 0 {
        let kernel = kernel(factors, "spgemm_merge_columns", ways)?;
        let launch = pattern_arguments(factors, &kernel).buffer(offsets).buffer(&indices);
        let lanes = work_items(factors, entries, indices.element_bytes);
        launch.group_per_row(factors.left.rows.div_ceil(lanes), lanes)?;
    }
    Ok(indices)
}

/// The rows and work-items of a work-group that collects the elements of C of its rows, which have so many in all.
fn work_items(factors: Factors<'_>, entries: usize, element_bytes: usize) -> usize {
    let bytes_of_row = entries.div_ceil(factors.left.rows) * element_bytes;
    let fitting = (STAGED_BYTES / bytes_of_row.max(1)).max(1);
    (1 << fitting.ilog2()).clamp(LANES, largest_team(factors.backend))
}

/// A launch with the patterns of A and B.
fn pattern_arguments<'a>(factors: Factors<'a>, kernel: &'a Kernel) -> Launch<'a> {
    let Factors { backend, left, right } = factors;
    let launch = backend.launch(kernel).size(left.rows).buffer(left.offsets).buffer(left.indices);
    launch.buffer(right.offsets).buffer(right.indices)
}

fn kernel(factors: Factors<'_>, entry: &'static str, ways: &'static str) -> Result<Kernel> {
    factors.backend.kernel(FILE, entry, factors.defines().set("WAYS", ways))
}

#[cfg(test)]
mod tests {
    use super::Summary;

    #[test]
    fn rows_are_alike_if_most_are_compared_and_few_are_far() {
        let are_alike = |neighbours, far| Summary { entries: 0, most: 0, neighbours, far }.are_alike();
        assert!(are_alike(7936, 0));
        assert!(are_alike(7936, 1984));
        assert!(!are_alike(7936, 1985));
        assert!(!are_alike(0, 0));
        assert!(!are_alike(100, 0));
    }
}
