//! Lanes of a warp, and words: the 16-byte loads of a lane.

/// Lanes of a warp, in the kernels that give a row to one.
pub(crate) const LANES: usize = 32;

/// Warps that a compute unit of a GPU runs at once.
pub(crate) const WARPS_AT_ONCE: usize = 64;

/// The first number of lanes per row with which all rows run at the same time on `units` compute units.
pub(crate) fn lanes_at_once(numbers: &[usize], rows: usize, units: usize) -> Option<usize> {
    let at_once = units * WARPS_AT_ONCE * LANES;
    numbers.iter().copied().find(|lanes| rows * lanes <= at_once)
}

/// Bytes of a word: the alignment of memory and the widest load of a lane.
pub const WORD_BYTES: usize = 16;

/// Elements of `bytes` bytes per word.
pub(crate) const fn vector(bytes: usize) -> usize {
    WORD_BYTES / bytes
}

/// True if kernels can read a row in whole words: its elements of `bytes` bytes are contiguous, and the positions
/// `starts` and the stride between rows are multiples of a word.
pub(crate) fn in_words(bytes: usize, starts: &[usize], (row, col): (usize, usize)) -> bool {
    let whole = |position: &usize| position.is_multiple_of(vector(bytes));
    col == 1 && whole(&row) && starts.iter().all(whole)
}
