//! Small matrices that break kernels: empty shapes and rows, extremes of length, sizes around block edges.

use super::builder::Builder;
use super::stencil::stencil_5;
use super::uniform::{uniform, with_row_lengths};
use sparse_core::error::{Error, Result};
use sparse_core::format::Csr;
use sparse_core::index::Index;
use sparse_core::scalar::Scalar;

/// The seed of all matrices of this module.
const SEED: u64 = 0;

/// Rows of 3 entries, every `period`-th of them empty, counted from `first`.
///
/// ```
/// use sparse_generate::adversarial;
///
/// let a = adversarial::empty_rows::<f64>(5, 1, 2)?;
/// assert_eq!(a.row_lengths(), [3, 0, 3, 0, 3]);
/// # Ok::<(), sparse_core::Error>(())
/// ```
///
/// # Errors
/// As for [`with_row_lengths`].
pub fn empty_rows<T: Scalar>(rows: usize, first: usize, period: usize) -> Result<Csr<T>> {
    let empty = |row: usize| row >= first && (row - first).is_multiple_of(period);
    lengths_by(rows, rows, |row| if empty(row) { 0 } else { 3 })
}

/// Empty and full rows in turn.
///
/// ```
/// use sparse_generate::adversarial;
///
/// assert_eq!(adversarial::alternating::<f64>(4, 9)?.row_lengths(), [0, 9, 0, 9]);
/// # Ok::<(), sparse_core::Error>(())
/// ```
///
/// # Errors
/// As for [`empty_rows`].
pub fn alternating<T: Scalar>(rows: usize, cols: usize) -> Result<Csr<T>> {
    lengths_by(rows, cols, |row| if row % 2 == 0 { 0 } else { cols })
}

/// Row `i` has `i mod (cols + 1)` entries: every length from none to all.
///
/// ```
/// use sparse_generate::adversarial;
///
/// assert_eq!(adversarial::staircase::<f64>(5, 3)?.row_lengths(), [0, 1, 2, 3, 0]);
/// # Ok::<(), sparse_core::Error>(())
/// ```
///
/// # Errors
/// As for [`empty_rows`].
pub fn staircase<T: Scalar>(rows: usize, cols: usize) -> Result<Csr<T>> {
    lengths_by(rows, cols, |row| row % cols.saturating_add(1))
}

/// The 5-point Laplacian on an `nx × ny` grid, with the middle row full.
///
/// ```
/// use sparse_generate::adversarial;
///
/// assert_eq!(adversarial::long_row_in_stencil::<f64>(3, 3)?.row_lengths(), [3, 4, 3, 4, 9, 4, 3, 4, 3]);
/// # Ok::<(), sparse_core::Error>(())
/// ```
///
/// # Errors
/// As for [`empty_rows`].
pub fn long_row_in_stencil<T: Scalar>(nx: usize, ny: usize) -> Result<Csr<T>> {
    let stencil = stencil_5::<T>(nx, ny)?;
    let n = stencil.nrows();
    let full = uniform::<T>(1, n, n, SEED)?;
    rows_of(
        n,
        (0..n).map(|row| if row == n / 2 { full.major_entries(0).collect() } else { entries(&stencil, row) }),
    )
}

/// Every element stored.
///
/// ```
/// use sparse_core::SparseFormat;
/// use sparse_generate::adversarial;
///
/// assert_eq!(adversarial::dense::<f64>(3, 4)?.nnz(), 12);
/// # Ok::<(), sparse_core::Error>(())
/// ```
///
/// # Errors
/// As for [`empty_rows`].
pub fn dense<T: Scalar>(rows: usize, cols: usize) -> Result<Csr<T>> {
    uniform(rows, cols, cols, SEED)
}

/// Every row has one entry, all in the same column.
///
/// ```
/// use sparse_generate::adversarial;
///
/// assert_eq!(adversarial::one_column_hit_by_all::<f64>(4, 9)?.col_idx(), &[4, 4, 4, 4]);
/// # Ok::<(), sparse_core::Error>(())
/// ```
///
/// # Errors
/// As for [`empty_rows`].
pub fn one_column_hit_by_all<T: Scalar>(rows: usize, cols: usize) -> Result<Csr<T>> {
    let values = uniform::<T>(rows, 1, 1, SEED)?;
    rows_of(
        cols,
        (0..rows).map(|row| entries(&values, row).into_iter().map(|(_, v)| (cols / 2, v)).collect()),
    )
}

/// Every third stored entry is a zero.
///
/// ```
/// use sparse_generate::adversarial;
///
/// let a = adversarial::stored_zeros::<f64>(3, 6)?;
/// assert_eq!(a.values().iter().filter(|&&value| value == 0.0).count(), 3);
/// # Ok::<(), sparse_core::Error>(())
/// ```
///
/// # Errors
/// As for [`empty_rows`].
pub fn stored_zeros<T: Scalar>(rows: usize, cols: usize) -> Result<Csr<T>> {
    let mut a = uniform::<T>(rows, cols, cols / 2, SEED)?;
    a.values_mut().iter_mut().step_by(3).for_each(|value| *value = T::ZERO);
    Ok(a)
}

/// Columns descend within each row.
///
/// ```
/// use sparse_generate::adversarial;
///
/// assert!(!adversarial::unsorted::<f64>(5, 3)?.order().sorted);
/// # Ok::<(), sparse_core::Error>(())
/// ```
///
/// # Errors
/// As for [`empty_rows`].
pub fn unsorted<T: Scalar>(rows: usize, cols: usize) -> Result<Csr<T>> {
    let sorted = staircase::<T>(rows, cols)?;
    rows_of(cols, (0..rows).map(|row| entries(&sorted, row).into_iter().rev().collect()))
}

/// Every entry is stored twice, with the same value; rows are sorted.
///
/// ```
/// use sparse_generate::adversarial;
///
/// assert_eq!(adversarial::duplicates::<f64>(4, 3)?.row_lengths(), [0, 2, 4, 6]);
/// # Ok::<(), sparse_core::Error>(())
/// ```
///
/// # Errors
/// As for [`empty_rows`].
pub fn duplicates<T: Scalar>(rows: usize, cols: usize) -> Result<Csr<T>> {
    let unique = staircase::<T>(rows, cols)?;
    rows_of(cols, (0..rows).map(|row| entries(&unique, row).into_iter().flat_map(|e| [e, e]).collect()))
}

/// An `n × n` matrix with rows of 0 to 3 entries in turn, the last row full: for sizes around the edge of a block.
///
/// ```
/// use sparse_generate::adversarial;
///
/// assert_eq!(adversarial::full_last_row::<f64>(6)?.row_lengths(), [0, 1, 2, 3, 0, 6]);
/// # Ok::<(), sparse_core::Error>(())
/// ```
///
/// # Errors
/// As for [`empty_rows`].
pub fn full_last_row<T: Scalar>(n: usize) -> Result<Csr<T>> {
    lengths_by(n, n, |row| if row + 1 == n { n } else { (row % 4).min(n) })
}

/// All cases with their names.
///
/// ```
/// use sparse_generate::adversarial;
///
/// assert!(adversarial::all::<f32>()?.iter().any(|(name, _)| name == "0x0"));
/// # Ok::<(), sparse_core::Error>(())
/// ```
///
/// # Errors
/// None in practice: the sizes are fixed and small.
pub fn all<T: Scalar>() -> Result<Vec<(String, Csr<T>)>> {
    let mut cases = vec![
        ("0x0", Csr::zeros(0, 0)?),
        ("0x2", Csr::zeros(0, 2)?),
        ("2x0", Csr::zeros(2, 0)?),
        ("no_entries", Csr::zeros(5, 7)?),
        ("1x1", dense(1, 1)?),
        ("1xn", uniform(1, 300, 40, SEED)?),
        ("nx1", staircase(300, 1)?),
        ("empty_first_row", empty_rows(40, 0, 40)?),
        ("empty_middle_row", empty_rows(40, 20, 40)?),
        ("empty_last_row", empty_rows(40, 39, 40)?),
        ("empty_every_third_row", empty_rows(40, 1, 3)?),
        ("fixed_lengths", uniform(50, 60, 7, SEED)?),
        ("varying_lengths", staircase(70, 33)?),
        ("alternating_lengths", alternating(64, 100)?),
        ("long_row_in_stencil", long_row_in_stencil(20, 20)?),
        ("dense", dense(33, 17)?),
        ("one_column_hit_by_all", one_column_hit_by_all(300, 9)?),
        ("stored_zeros", stored_zeros(40, 30)?),
        ("unsorted", unsorted(40, 30)?),
        ("duplicates", duplicates(40, 30)?),
    ]
    .into_iter()
    .map(|(name, a)| (name.to_string(), a))
    .collect::<Vec<_>>();
    for edge in [32, 256, 1024] {
        for n in [edge - 1, edge, edge + 1] {
            cases.push((format!("full_last_row_{n}"), full_last_row(n)?));
        }
    }
    Ok(cases)
}

/// The case called `name`.
///
/// ```
/// use sparse_core::SparseFormat;
/// use sparse_generate::adversarial;
///
/// assert_eq!(adversarial::find::<f64>("no_entries")?.nnz(), 0);
/// # Ok::<(), sparse_core::Error>(())
/// ```
///
/// # Errors
/// [`Error::Unsupported`], with all names, if there is none.
pub fn find<T: Scalar>(name: &str) -> Result<Csr<T>> {
    let cases = all()?;
    let names = cases.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ");
    let found = cases.into_iter().find(|case| case.0 == name);
    found.map(|case| case.1).ok_or_else(|| {
        Error::unsupported(format_args!("the case `{name}`"), format_args!("there are {names}"))
    })
}

/// A matrix whose row `i` has `length(i)` entries.
fn lengths_by<T: Scalar>(rows: usize, cols: usize, length: impl Fn(usize) -> usize) -> Result<Csr<T>> {
    i32::try_new("rows", rows)?;
    let lengths: Vec<usize> = (0..rows).map(length).collect();
    with_row_lengths(&lengths, cols, SEED)
}

fn entries<T: Scalar>(a: &Csr<T>, row: usize) -> Vec<(usize, T)> {
    a.major_entries(row).collect()
}

/// A matrix from the (column, value) pairs of its rows.
fn rows_of<T: Scalar>(cols: usize, rows: impl ExactSizeIterator<Item = Vec<(usize, T)>>) -> Result<Csr<T>> {
    let mut builder = Builder::new(rows.len(), cols, 0)?;
    for row in rows {
        row.into_iter().for_each(|(col, value)| builder.push(col, value));
        builder.end_row();
    }
    builder.finish()
}
