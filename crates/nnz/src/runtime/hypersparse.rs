//! COO with far more rows or columns than entries, whose offsets would take more memory than all else.

use super::{Format, Matrix};
use sparse_core::backend::vec_with_capacity;
use sparse_core::op::RowStatistics;
use sparse_core::{Result, Selection};

/// Rows or columns that are counted one by one, however few entries they have. A conversion to CSR takes 12 bytes for
/// each: 200 MB.
const MAX_COUNTED_LINES: usize = 1 << 24;

/// Rows or columns for each entry that are counted one by one.
const COUNTED_LINES_PER_ENTRY: usize = 16;

/// True if most of so many rows or columns must be empty, and memory for each is more than the entries are worth.
pub(super) fn are_mostly_empty(lines: usize, nnz: usize) -> bool {
    lines > MAX_COUNTED_LINES.max(nnz.saturating_mul(COUNTED_LINES_PER_ENTRY))
}

impl Matrix {
    /// The entries in a matrix without those rows and columns of hypersparse COO that are empty both as a row and as a
    /// column; another matrix itself. Norms and symmetries of both are the same.
    pub(super) fn without_empty_lines(&self) -> Result<Self> {
        let (rows, cols) = self.shape();
        if self.format() != Format::Coo || !are_mostly_empty(rows.max(cols), self.nnz()) {
            return Ok(self.clone());
        }
        let lines = self.lines_with_entries(|row, column| [row, column])?;
        let number = |line| position(&lines, line);
        self.renumbered((lines.len(), lines.len()), number, number)
    }

    /// The statistics of the rows of hypersparse COO; `None` for another matrix.
    pub(super) fn hypersparse_row_statistics(&self) -> Result<Option<RowStatistics>> {
        let Some((a, rows)) = self.without_empty_rows()? else { return Ok(None) };
        let mut counts: Vec<_> = a.row_lengths()?.into_iter().map(|length| (length, 1)).collect();
        // In place of the empty row at the end.
        counts.pop();
        counts.push((0, self.nrows() - rows.len()));
        Ok(Some(RowStatistics::from_counts(counts)))
    }

    /// The elements of hypersparse COO in `rows` and `cols`; `None` for another matrix, and for as many rows.
    pub(super) fn hypersparse_selection(
        &self,
        rows: &Selection<'_>,
        cols: &Selection<'_>,
    ) -> Result<Option<Self>> {
        if are_mostly_empty(rows.len(), self.nnz()) {
            return Ok(None);
        }
        let Some((a, numbers)) = self.without_empty_rows()? else { return Ok(None) };
        rows.check_below("row", self.nrows())?;
        let mut chosen = vec_with_capacity(rows.len())?;
        chosen.extend((0..rows.len()).map(|place| position(&numbers, rows.at(place))));
        a.to_format(Format::Csr)?.inner.select(&Selection::List(chosen.into()), cols).map(Some)
    }

    /// The rows of hypersparse COO that have entries, followed by an empty one, and their numbers in this matrix.
    fn without_empty_rows(&self) -> Result<Option<(Self, Vec<usize>)>> {
        if self.format() != Format::Coo || !are_mostly_empty(self.nrows(), self.nnz()) {
            return Ok(None);
        }
        let rows = self.lines_with_entries(|row, _| [row])?;
        let a =
            self.renumbered((rows.len() + 1, self.ncols()), |row| position(&rows, row), |column| column)?;
        Ok(Some((a, rows)))
    }

    /// The numbers, ascending, that `lines` gives for rows and columns of entries.
    fn lines_with_entries<const N: usize>(
        &self,
        lines: impl Fn(usize, usize) -> [usize; N],
    ) -> Result<Vec<usize>> {
        let mut numbers = vec_with_capacity(N * self.nnz())?;
        self.for_each_entry(&mut |row, column, _| numbers.extend(lines(row, column)))?;
        numbers.sort_unstable();
        numbers.dedup();
        Ok(numbers)
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

/// The position of a number in an ascending list; the length of the list if it is not there.
fn position(numbers: &[usize], number: usize) -> usize {
    numbers.binary_search(&number).unwrap_or(numbers.len())
}
