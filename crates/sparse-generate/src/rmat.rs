//! Recursive matrices.

use super::builder::Builder;
use super::random::{Seed, Stream};
use sparse_core::backend::vec_with_capacity;
use sparse_core::error::{Error, Result, checked_product};
use sparse_core::format::Csr;
use sparse_core::index::Index;
use sparse_core::scalar::Scalar;

/// The quadrants' probabilities in the Graph500 benchmark.
pub const GRAPH500: [f64; 4] = [0.57, 0.19, 0.19, 0.05];

/// The largest scale: 2^30 vertices fit `i32`, 2^31 do not.
const MAX_SCALE: u32 = 30;

/// An R-MAT graph of 2^`scale` vertices (Chakrabarti, Zhan and Faloutsos 2004).
///
/// Each of the `edges`·2^`scale` edges starts with the whole matrix and chooses one of its quadrants `scale` times,
/// with the probabilities (top left, top right, bottom left, bottom right), until one element is left. An edge that
/// is drawn again is dropped, so that nnz is a little lower. Values are integers from −4 to 4, never 0.
///
/// ```
/// use sparse_core::SparseFormat;
///
/// let a = sparse_generate::rmat::<f64>(6, 8, sparse_generate::GRAPH500, 42)?;
/// assert_eq!(a.nrows(), 64);
/// assert!(a.nnz() <= 8 * 64); // edges that were drawn twice are dropped
/// # Ok::<(), sparse_core::Error>(())
/// ```
///
/// # Errors
/// [`Error::Unsupported`] if `scale` is above 30, or unless `quadrants` are probabilities with the sum 1;
/// [`Error::IndexOverflow`] if edges do not fit `i32`.
pub fn rmat<T: Scalar>(scale: u32, edges: usize, quadrants: [f64; 4], seed: u64) -> Result<Csr<T>> {
    check(quadrants)?;
    if scale > MAX_SCALE {
        let reason = format_args!("it is at most {MAX_SCALE}, since 2^scale vertices have to fit i32");
        return Err(Error::unsupported(format_args!("an R-MAT graph of scale {scale}"), reason));
    }
    let n = 1 << scale;
    i32::try_new("edges", checked_product("vertices x edges", n, edges)?)?;
    let seed = Seed::new(seed);
    let mut drawn = vec_with_capacity(n * edges)?;
    for block in 0..n {
        let mut stream = seed.row(block);
        drawn.extend((0..edges).map(|_| edge(scale, quadrants, &mut stream)));
    }
    drawn.sort_unstable();
    drawn.dedup();
    from_sorted(n, &drawn, &seed)
}

fn check(quadrants: [f64; 4]) -> Result<()> {
    let sum: f64 = quadrants.iter().sum();
    if quadrants.iter().all(|&p| p >= 0.0) && (sum - 1.0).abs() < 1e-9 {
        return Ok(());
    }
    let [a, b, c, d] = quadrants;
    let what = format_args!("R-MAT with the probabilities {a}, {b}, {c}, {d}");
    Err(Error::unsupported(what, "they must not be negative and have the sum 1"))
}

/// One edge, as (row, column); ordered as in CSR.
fn edge(scale: u32, [a, b, c, _]: [f64; 4], stream: &mut Stream) -> (u32, u32) {
    let (mut row, mut col) = (0, 0);
    for _ in 0..scale {
        let choice = stream.unit();
        let bottom = choice > a + b;
        let right = if bottom { choice > a + b + c } else { choice > a };
        row = 2 * row + u32::from(bottom);
        col = 2 * col + u32::from(right);
    }
    (row, col)
}

/// The matrix with entries at `edges`, which are sorted and unique.
fn from_sorted<T: Scalar>(n: usize, edges: &[(u32, u32)], seed: &Seed) -> Result<Csr<T>> {
    let mut builder = Builder::new(n, n, edges.len())?;
    let mut rest = edges;
    for row in 0..n {
        let (here, below) = rest.split_at(rest.partition_point(|edge| edge.0 as usize <= row));
        let mut stream = seed.row(n + row);
        for &(_, col) in here {
            builder.push(col as usize, stream.integer());
        }
        builder.end_row();
        rest = below;
    }
    builder.finish()
}
