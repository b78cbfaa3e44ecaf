//! Hypersparse COO: far more rows or columns than entries, so that offsets would take more memory than the entries.

use crate::runtime::{Format, Matrix};
use sparse_core::backend::vec_with_capacity;
use sparse_core::op::{Elementwise, RowStatistics};
use sparse_core::{Error, Result, Selection, c64};
use std::ops::Range;

/// Up to this number of rows or columns, arrays with an element for each are always allowed. A conversion to CSR takes
/// 12 bytes for each: 200 MB.
const MAX_COUNTED_LINES: usize = 1 << 24;

/// Beyond that, arrays with an element for each row or column are allowed up to this number of them per entry.
const COUNTED_LINES_PER_ENTRY: usize = 16;

/// True if `lines` rows or columns are too many, for `nnz` entries, to allocate an array with an element for each: most
/// must be empty.
///
/// ```
/// assert!(nnz::are_mostly_empty(1_000_000_000, 1) && !nnz::are_mostly_empty(1_000, 1));
/// ```
pub fn are_mostly_empty(lines: usize, nnz: usize) -> bool {
    lines > MAX_COUNTED_LINES.max(nnz.saturating_mul(COUNTED_LINES_PER_ENTRY))
}

impl Matrix {
    /// True for COO with too many rows or columns, for its entries, to allocate an array with an element for each.
    /// Norms, symmetries, statistics, selections, sums and products with another such matrix element by element,
    /// transposes and copies take memory proportional to the entries; products with vectors and conversions to other
    /// formats do not.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let far = Coo::<f64>::from_triplets(2_000_000_000, 3, [(1_999_999_999, 2, 1.0)])?;
    /// assert!(Matrix::from_typed(&Device::host()?, far)?.is_hypersparse());
    /// # Ok::<(), Error>(())
    /// ```
    pub fn is_hypersparse(&self) -> bool {
        let (rows, cols) = self.shape();
        self.format() == Format::Coo && are_mostly_empty(rows.max(cols), self.nnz())
    }

    /// The entries in a matrix without those rows and columns of hypersparse COO that are empty both as a row and as a
    /// column; another matrix itself. Norms and symmetries of both are the same.
    pub(in crate::runtime) fn without_empty_lines(&self) -> Result<Self> {
        if !self.is_hypersparse() {
            return Ok(self.clone());
        }
        let lines = lines_with_entries(&[self], |row, column| [row, column])?;
        let number = |line| position(&lines, line);
        self.renumbered((lines.len(), lines.len()), number, number)
    }

    /// The statistics of the rows of hypersparse COO; `None` for another matrix.
    pub(in crate::runtime) fn hypersparse_row_statistics(&self) -> Result<Option<RowStatistics>> {
        let Some((a, rows)) = self.without_empty_rows()? else { return Ok(None) };
        let mut counts: Vec<_> = a.row_lengths()?.into_iter().map(|length| (length, 1)).collect();
        // In place of the empty row at the end.
        counts.pop();
        counts.push((0, self.nrows() - rows.len()));
        Ok(Some(RowStatistics::from_counts(counts)))
    }

    /// The elements of hypersparse COO in `rows` and `cols`, in COO where these are a range of very many rows; `None`
    /// for another matrix, and for a list of as many rows.
    pub(in crate::runtime) fn hypersparse_selection(
        &self,
        rows: &Selection<'_>,
        cols: &Selection<'_>,
    ) -> Result<Option<Self>> {
        let are_many = are_mostly_empty(rows.len(), self.nnz());
        if are_many && matches!(rows, Selection::List(_)) {
            return Ok(None);
        }
        let Some((a, numbers)) = self.without_empty_rows()? else { return Ok(None) };
        rows.check_below("row", self.nrows())?;
        let a = a.to_format(Format::Csr)?;
        match rows {
            Selection::Range(range) if are_many => a.select_range(range, &numbers, cols).map(Some),
            _ => {
                let mut chosen = vec_with_capacity(rows.len())?;
                chosen.extend((0..rows.len()).map(|place| position(&numbers, rows.at(place))));
                a.inner.select(&Selection::List(chosen.into()), cols).map(Some)
            }
        }
    }

    /// The elements in `range` and `cols` of the matrix whose rows with these numbers are those of `self`, in COO.
    fn select_range(&self, range: &Range<usize>, numbers: &[usize], cols: &Selection<'_>) -> Result<Self> {
        let first = numbers.partition_point(|&row| row < range.start);
        let end = numbers.partition_point(|&row| row < range.end);
        let chosen = self.inner.select(&Selection::Range(first..end), cols)?;
        let number = |row: usize| numbers[first + row] - range.start;
        chosen.renumbered((range.len(), chosen.ncols()), number, |column| column)
    }

    /// The sum or the element-wise product of hypersparse COO, each with its factor, in COO; `None` for other matrices.
    pub(in crate::runtime) fn hypersparse_elementwise(
        &self,
        op: Elementwise,
        alpha: c64,
        b: &Self,
        beta: c64,
    ) -> Result<Option<Self>> {
        let are_coordinates = self.format() == Format::Coo && b.format() == Format::Coo;
        let has_few_rows = !are_mostly_empty(self.nrows(), self.nnz().saturating_add(b.nnz()));
        if !are_coordinates || has_few_rows {
            return Ok(None);
        }
        if self.nrows() != b.nrows() {
            let (found, needed) = (b.nrows(), self.nrows());
            let reason = format_args!("the number of rows of B is {found} where {needed} is needed");
            return Err(Error::shape(op.name(), reason));
        }
        let rows = lines_with_entries(&[self, b], |row, _| [row])?;
        let compacted = |matrix: &Self| {
            let shape = (rows.len(), matrix.ncols());
            matrix.renumbered(shape, |row| position(&rows, row), |column| column)?.to_format(Format::Csr)
        };
        let c = compacted(self)?.elementwise(op, alpha, &compacted(b)?, beta)?;
        c.renumbered(self.shape(), |row| rows[row], |column| column).map(Some)
    }

    /// The rows of hypersparse COO that have entries, followed by an empty one, and their numbers in this matrix.
    fn without_empty_rows(&self) -> Result<Option<(Self, Vec<usize>)>> {
        if self.format() != Format::Coo || !are_mostly_empty(self.nrows(), self.nnz()) {
            return Ok(None);
        }
        let rows = lines_with_entries(&[self], |row, _| [row])?;
        let a =
            self.renumbered((rows.len() + 1, self.ncols()), |row| position(&rows, row), |column| column)?;
        Ok(Some((a, rows)))
    }

    /// The same entries, in COO, with other numbers of rows and columns.
    fn renumbered(
        &self,
        shape: (usize, usize),
        row: impl Fn(usize) -> usize,
        column: impl Fn(usize) -> usize,
    ) -> Result<Self> {
        let mut entries = vec_with_capacity(self.nnz())?;
        self.for_each_entry(&mut |i, j, value| entries.push((row(i), column(j), value)))?;
        Self::from_triplets(self.device(), self.dtype(), self.index_type(), shape, &entries)
    }
}

/// The numbers, ascending, that `lines` gives for rows and columns of the entries of all `matrices`.
fn lines_with_entries<const N: usize>(
    matrices: &[&Matrix],
    lines: impl Fn(usize, usize) -> [usize; N],
) -> Result<Vec<usize>> {
    let entries: usize = matrices.iter().map(|matrix| matrix.nnz()).sum();
    let mut numbers = vec_with_capacity(N * entries)?;
    for matrix in matrices {
        matrix.for_each_entry(&mut |row, column, _| numbers.extend(lines(row, column)))?;
    }
    numbers.sort_unstable();
    numbers.dedup();
    Ok(numbers)
}

/// The position of a number in an ascending list; the length of the list if it is not there.
fn position(numbers: &[usize], number: usize) -> usize {
    numbers.binary_search(&number).unwrap_or(numbers.len())
}
