//! Band matrices.

use super::builder::Builder;
use super::random::Seed;
use sparse_core::error::Result;
use sparse_core::format::Csr;
use sparse_core::index::Index;
use sparse_core::scalar::Scalar;

/// The full band of an `n × n` matrix: an entry wherever `−lower ≤ column − row ≤ upper`.
///
/// Values are integers from −4 to 4, never 0.
///
/// ```
/// let a = sparse_generate::band::<f64>(4, 1, 0, 7)?; // lower bidiagonal
/// assert_eq!(a.col_idx(), &[0, 0, 1, 1, 2, 2, 3]);
/// # Ok::<(), sparse_core::Error>(())
/// ```
///
/// # Errors
/// [`IndexOverflow`](sparse_core::Error::IndexOverflow) if rows or entries do not fit `i32`.
pub fn band<T: Scalar>(n: usize, lower: usize, upper: usize, seed: u64) -> Result<Csr<T>> {
    i32::try_new("rows", n)?;
    let last = n.saturating_sub(1);
    let (lower, upper) = (lower.min(last), upper.min(last));
    let side = |diagonals: usize| diagonals * n - diagonals * (diagonals + 1) / 2;
    let seed = Seed::new(seed);
    let mut builder = Builder::new(n, n, n + side(lower) + side(upper))?;
    for row in 0..n {
        let mut stream = seed.row(row);
        for col in row.saturating_sub(lower)..(row + upper + 1).min(n) {
            builder.push(col, stream.integer());
        }
        builder.end_row();
    }
    builder.finish()
}
