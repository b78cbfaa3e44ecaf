//! Matrices row by row, from columns that a structure draws.

use crate::builder::Builder;
use crate::random::{Seed, Stream};
use sparse_core::error::Result;
use sparse_core::format::Csr;
use sparse_core::scalar::Scalar;

/// The seed of all families.
pub(super) const SEED: u64 = 1;

/// A matrix of random values in the columns that `draw` leaves in an empty vector, row by row, in any order. Repeated
/// columns are dropped. `most` is about the number of entries of all rows.
pub(super) fn by_rows<T: Scalar>(
    (rows, cols): (usize, usize),
    most: usize,
    mut draw: impl FnMut(usize, &mut Stream, &mut Vec<u32>),
) -> Result<Csr<T>> {
    let seed = Seed::new(SEED);
    let mut builder = Builder::new(rows, cols, most)?;
    let mut columns = vec![];
    for row in 0..rows {
        let mut stream = seed.row(row);
        columns.clear();
        draw(row, &mut stream, &mut columns);
        columns.sort_unstable();
        columns.dedup();
        columns.iter().for_each(|&col| builder.push(col as usize, stream.integer()));
        builder.end_row();
    }
    builder.finish()
}

/// A number below `bound` from a window of `width` around `center`, which moves inward at the ends.
pub(super) fn near(center: usize, width: usize, bound: usize, stream: &mut Stream) -> u32 {
    let width = width.clamp(1, bound);
    let start = center.saturating_sub(width / 2).min(bound - width);
    (start + stream.below(width)) as u32
}
