//! Columns drawn uniformly.

use super::builder::Builder;
use super::random::{Seed, Stream};
use sparse_core::error::{Error, Result, checked_product};
use sparse_core::format::Csr;
use sparse_core::scalar::Scalar;

/// A matrix with `per_row` entries in every row, in columns drawn uniformly without repetition.
///
/// Values are integers from −4 to 4, never 0.
///
/// ```
/// use sparse_core::SparseFormat;
///
/// let a = sparse_generate::uniform::<f32>(1000, 500, 8, 42)?;
/// assert_eq!((a.nrows(), a.ncols(), a.nnz()), (1000, 500, 8000));
/// # Ok::<(), sparse_core::Error>(())
/// ```
///
/// # Errors
/// As for [`with_row_lengths`].
pub fn uniform<T: Scalar>(rows: usize, cols: usize, per_row: usize, seed: u64) -> Result<Csr<T>> {
    let nnz = checked_product("rows x entries of a row", rows, per_row)?;
    generate(std::iter::repeat_n(per_row, rows), cols, nnz, seed)
}

/// A matrix with `lengths[i]` entries in row `i`, in columns drawn uniformly without repetition.
///
/// Values are integers from −4 to 4, never 0.
///
/// ```
/// let a = sparse_generate::with_row_lengths::<f64>(&[2, 0, 5], 10, 42)?;
/// assert_eq!(a.row_ptr(), &[0, 2, 2, 7]);
/// # Ok::<(), sparse_core::Error>(())
/// ```
///
/// # Errors
/// [`Error::Shape`] if a row is longer than `cols`; [`Error::IndexOverflow`] if rows, columns or entries do not fit
/// `i32`.
pub fn with_row_lengths<T: Scalar>(lengths: &[usize], cols: usize, seed: u64) -> Result<Csr<T>> {
    let nnz = lengths.iter().fold(0, |sum: usize, &length| sum.saturating_add(length));
    generate(lengths.iter().copied(), cols, nnz, seed)
}

fn generate<T: Scalar>(
    lengths: impl ExactSizeIterator<Item = usize>,
    cols: usize,
    nnz: usize,
    seed: u64,
) -> Result<Csr<T>> {
    let seed = Seed::new(seed);
    let mut builder = Builder::new(lengths.len(), cols, nnz)?;
    let mut columns = vec![];
    for (row, length) in lengths.enumerate() {
        if length > cols {
            let reason = format_args!("row {row}: {length} entries do not fit {cols} columns");
            return Err(Error::shape("uniform", reason));
        }
        let mut stream = seed.row(row);
        distinct(length, cols, &mut columns, &mut stream);
        for &col in &columns {
            builder.push(col as usize, stream.integer());
        }
        builder.end_row();
    }
    builder.finish()
}

/// Fills `out` with `count` different numbers below `bound`, ascending; every such set is equally likely.
///
/// `count` is at most `bound`. Above half of `bound`, the complement is drawn.
pub(super) fn distinct(count: usize, bound: usize, out: &mut Vec<u32>, stream: &mut Stream) {
    if 2 * count <= bound {
        return fill_distinct(count, out, |_| stream.below(bound) as u32);
    }
    fill_distinct(bound - count, out, |_| stream.below(bound) as u32);
    let mut left_out = out.iter().copied().peekable();
    *out = (0..bound as u32).filter(|number| left_out.next_if_eq(number).is_none()).collect();
}

/// Fills `out` with `count` different numbers, ascending: draws the missing ones, drops repeated ones, and repeats.
/// `draw` gets the round, from 0.
pub(super) fn fill_distinct(count: usize, out: &mut Vec<u32>, mut draw: impl FnMut(usize) -> u32) {
    out.clear();
    let mut round = 0;
    while out.len() < count {
        out.extend((out.len()..count).map(|_| draw(round)));
        out.sort_unstable();
        out.dedup();
        round += 1;
    }
}
