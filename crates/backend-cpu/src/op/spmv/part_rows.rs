//! The rows of a part as `segmented_sums` sums them: short ones by scans or by runs, long ones one by one.

use super::thresholds::SpmvThresholds;
use crate::primitive::partition::Part;
use sparse_core::Index;

/// The longest rows of runs. Rows of 18 to 27 entries, one thread of an EPYC (Zen 5), time over that of vectors of
/// loads: 0.57 to 0.85 (`f32`) and 0.75 to 1.0 (`f64`).
pub(super) const MAX_LEN: usize = 32;

/// The rows of a part that have entries there: of a row that begins in an earlier part or ends in a later one, the
/// entries of this part.
#[derive(Default)]
pub(super) struct PartRows {
    /// A bit for each entry of short rows, set for the first ones of rows; those behind a long row begin with a new
    /// word.
    pub(super) starts: Vec<u64>,
    /// Runs of rows of one length, if these are not scanned; then there are no bits, and no longer rows.
    pub(super) runs: Vec<EqualRows>,
    /// The entries of the longest short row.
    pub(super) longest: usize,
    /// The rows with more entries than a scan sums.
    pub(super) long: Vec<LongRow>,
    /// A bit for each row, set for those with entries; `None` if all have some.
    pub(super) filled: Option<Vec<u64>>,
}

/// Neighbouring rows with as many entries each, but for those without entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EqualRows {
    pub(super) len: u16,
    pub(super) rows: u16,
}

/// The first entry of a row in the part, and the number of its entries.
pub(super) struct LongRow {
    pub(super) start: u16,
    pub(super) len: u16,
}

impl PartRows {
    /// The rows of a part: by runs if there are kernels and these take less time, else those of up to `short` entries
    /// by scans.
    pub(super) fn new<T, O: Index>(part: &Part, offsets: &[O], short: usize, has_kernels: bool) -> Self {
        let filled = filled(part, offsets);
        match has_kernels.then(|| runs_of::<T, O>(part, offsets)).flatten() {
            Some(runs) => Self { runs, filled, ..Self::default() },
            None => Self { filled, ..Self::scanned(part, offsets, short) },
        }
    }

    /// Scanned rows, and those with more than `short` entries.
    fn scanned<O: Index>(part: &Part, offsets: &[O], short: usize) -> Self {
        let mut rows = Self::default();
        // As many words as there may be; a long row leaves one unfinished.
        let mut starts = vec![0; part.entries.len() / 64 + part.entries.len() / short + 1];
        // The first entry of short rows since the last long one, and its bit.
        let (mut start, mut first, mut bit) = (0, 0, 0);
        for end in ends(part, offsets).map(|end| end - part.entries.start) {
            let len = end - start;
            if len > short {
                rows.long.push(LongRow { start: start as u16, len: len as u16 });
                (first, bit) = (end, (bit + start - first).next_multiple_of(64));
            } else if len > 0 {
                rows.longest = rows.longest.max(len);
                let bit = bit + start - first;
                starts[bit / 64] |= 1 << (bit % 64);
            }
            start = end;
        }
        rows.starts = starts[..(bit + start - first).div_ceil(64)].to_vec();
        rows
    }

    pub(super) fn bytes(&self) -> usize {
        let filled = self.filled.as_ref().map_or(0, Vec::len);
        size_of::<u64>() * (self.starts.len() + filled)
            + size_of_val(self.runs.as_slice())
            + size_of_val(self.long.as_slice())
    }
}

/// The ends of the rows of a part, the last of which may end in a later one.
fn ends<O: Index>(part: &Part, offsets: &[O]) -> impl Iterator<Item = usize> {
    part.rows.clone().map(|row| offsets[row + 1].as_usize()).chain([part.entries.end])
}

/// The runs of rows with entries, if none is longer than [`MAX_LEN`], and sums of runs take less time than scans of
/// values of type `T`.
fn runs_of<T, O: Index>(part: &Part, offsets: &[O]) -> Option<Vec<EqualRows>> {
    let (mut start, mut rows, mut unforeseen) = (part.entries.start, 0, 0);
    let mut runs: Vec<EqualRows> = vec![];
    for end in ends(part, offsets) {
        let len = end - std::mem::replace(&mut start, end);
        match runs.last_mut() {
            _ if len > MAX_LEN => return None,
            _ if len == 0 => continue,
            Some(run) if usize::from(run.len) == len => run.rows += 1,
            _ => {
                // Processors foresee the end of a run that repeats the one before the last, as on the lines of a grid.
                unforeseen +=
                    usize::from(!runs.last_chunk().is_some_and(|[a, _, c]: &[EqualRows; 3]| a == c));
                runs.push(EqualRows { len: len as u16, rows: 1 });
            }
        }
        rows += 1;
    }
    let SpmvThresholds { bytes_of_run, bytes_of_unforeseen_run, bytes_of_row, .. } = SpmvThresholds::CPU;
    let bytes_of = |numbers| numbers * size_of::<T>();
    let pays_off = bytes_of(rows) >= bytes_of_run * runs.len()
        && bytes_of(part.entries.len()) >= bytes_of_row * rows
        && bytes_of(part.entries.len()) >= bytes_of_unforeseen_run * unforeseen;
    pays_off.then_some(runs)
}

/// A bit for each row that ends in a part, and for that which ends later, set for those with entries there; `None` if
/// all that end in the part have some.
fn filled<O: Index>(part: &Part, offsets: &[O]) -> Option<Vec<u64>> {
    let mut bits = vec![0; part.rows.len() / 64 + 1];
    let (mut start, mut has_empty) = (part.entries.start, false);
    for (row, end) in ends(part, offsets).enumerate() {
        bits[row / 64] |= u64::from(start != end) << (row % 64);
        has_empty |= start == end && row < part.rows.len();
        start = end;
    }
    has_empty.then_some(bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows_of<T>(lengths: &[usize]) -> PartRows {
        let mut offsets = vec![0];
        for len in lengths {
            offsets.push(offsets[offsets.len() - 1] + *len as i32);
        }
        let entries = 0..offsets[lengths.len()] as usize;
        PartRows::new::<T, i32>(&Part { member: 0, rows: 0..lengths.len(), entries }, &offsets, 16, true)
    }

    #[test]
    fn rows_of_one_length_are_summed_by_runs() {
        let rows = rows_of::<f32>(&[[5; 20].as_slice(), &[0; 3], &[5; 20]].concat());
        assert_eq!((rows.runs, rows.starts), (vec![EqualRows { len: 5, rows: 40 }], vec![]));
        assert!(rows.filled.is_some());
    }

    #[test]
    fn rows_of_unlike_lengths_and_beside_longer_ones_are_scanned() {
        let unlike: Vec<_> = (0..200).map(|k| 1 + k * k % 7).collect();
        for lengths in [unlike, [[5; 40].as_slice(), &[MAX_LEN + 1]].concat()] {
            let rows = rows_of::<f32>(&lengths);
            assert_eq!((rows.runs.len(), rows.starts.is_empty()), (0, false), "{lengths:?}");
        }
    }

    #[test]
    fn rows_of_few_bytes_are_scanned() {
        let lengths = [2; 400];
        assert!(rows_of::<f32>(&lengths).runs.is_empty() && !rows_of::<f64>(&lengths).runs.is_empty());
    }

    #[test]
    fn ends_of_runs_that_repeat_are_foreseen() {
        let line = [[4; 2].as_slice(), &[5; 22]].concat();
        let grid = vec![line; 20].concat();
        assert_eq!(rows_of::<f64>(&grid).runs.len(), 40);
        // Two runs of each line are shorter than the ones before.
        let lines = (0..20).flat_map(|k| [vec![4; 2 + k % 3], vec![5; 3 + k % 7]].concat());
        assert!(rows_of::<f64>(&lines.collect::<Vec<_>>()).runs.is_empty());
    }
}
