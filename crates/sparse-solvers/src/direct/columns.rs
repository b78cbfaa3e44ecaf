//! The pattern of a matrix by columns, and what follows from it.

use faer::sparse::SymbolicSparseColMatRef;
use sparse_core::{Csc, Error, Host, Index, IndexOrder, PatternId, Result, Scalar, SparseFormat, c64};

/// A pattern by columns, in the index type that faer takes.
#[derive(Debug)]
pub(super) struct Columns {
    pub(super) rows: usize,
    pub(super) cols: usize,
    pub(super) id: PatternId,
    offsets: Vec<usize>,
    indices: Vec<usize>,
}

impl Columns {
    pub(super) fn of<T: Scalar, I: Index, O: Index>(a: &Csc<T, Host, I, O>) -> Result<Self> {
        if a.order() != IndexOrder::CANONICAL {
            let needed = "rows have to ascend in each column, without duplicates";
            return Err(Error::unsupported("a direct solver of unsorted columns", needed));
        }
        Ok(Self {
            rows: a.nrows(),
            cols: a.ncols(),
            id: a.pattern_id(),
            offsets: a.offsets().iter().map(|offset| offset.as_usize()).collect(),
            indices: a.indices().iter().map(|index| index.as_usize()).collect(),
        })
    }

    /// True if `a` has these columns.
    pub(super) fn are_those_of<T: Scalar, I: Index, O: Index>(&self, a: &Csc<T, Host, I, O>) -> bool {
        let are_equal = || {
            let offsets = a.offsets().iter().map(|offset| offset.as_usize());
            let indices = a.indices().iter().map(|index| index.as_usize());
            offsets.eq(self.offsets.iter().copied()) && indices.eq(self.indices.iter().copied())
        };
        a.pattern_id() == self.id || (a.nrows() == self.rows && are_equal())
    }

    pub(super) fn as_faer(&self) -> SymbolicSparseColMatRef<'_, usize> {
        SymbolicSparseColMatRef::new_checked(self.rows, self.cols, &self.offsets, None, &self.indices)
    }

    /// The rows of a column.
    fn column(&self, col: usize) -> &[usize] {
        &self.indices[self.offsets[col]..self.offsets[col + 1]]
    }

    /// (row, column, position) of all entries.
    pub(super) fn entries(&self) -> impl Iterator<Item = (usize, usize, usize)> {
        let of_column = |col| {
            let first = self.offsets[col];
            self.column(col).iter().enumerate().map(move |(k, &row)| (row, col, first + k))
        };
        (0..self.cols).flat_map(of_column)
    }

    fn position(&self, row: usize, col: usize) -> Option<usize> {
        self.column(col).binary_search(&row).ok().map(|k| self.offsets[col] + k)
    }

    /// The first row whose diagonal element is not positive, with that element.
    pub(super) fn diagonal_not_positive(&self, values: &Values) -> Option<(usize, f64)> {
        let element = |k: usize| self.position(k, k).map_or(0.0, |at| values.get(at).re);
        (0..self.cols).map(|k| (k, element(k))).find(|&(_, element)| element <= 0.0)
    }

    /// True if the matrix is Hermitian with a positive diagonal, as positive definite ones are.
    pub(super) fn may_be_positive_definite(&self, values: &Values) -> bool {
        let mirrored = |(row, col, at): (usize, usize, usize)| {
            self.position(col, row).is_some_and(|image| values.get(image) == values.get(at).conj())
        };
        self.rows == self.cols && self.diagonal_not_positive(values).is_none() && self.entries().all(mirrored)
    }

    /// A column that is left without a pivot by every choice of one pivot in each row.
    pub(super) fn column_without_pivot(&self) -> Option<usize> {
        let mut column_of: Vec<Option<usize>> = vec![None; self.rows];
        let mut seen = vec![usize::MAX; self.rows];
        (0..self.cols).find(|&col| !self.assign(col, &mut column_of, &mut seen))
    }

    /// Finds a row for column `first`, and other rows for those that have it now, by depth-first search; `column_of`
    /// has the column of each row, and `seen` the last search that met it.
    fn assign(&self, first: usize, column_of: &mut [Option<usize>], seen: &mut [usize]) -> bool {
        // Each column of the path, with the next of its entries to try.
        let mut path = vec![(first, 0)];
        while let Some((col, next)) = path.last_mut() {
            let Some(&row) = self.column(*col).get(*next) else {
                path.pop();
                continue;
            };
            *next += 1;
            if std::mem::replace(&mut seen[row], first) == first {
                continue;
            }
            if let Some(other) = column_of[row] {
                path.push((other, 0));
                continue;
            }
            for (col, next) in path {
                column_of[self.column(col)[next - 1]] = Some(col);
            }
            return true;
        }
        false
    }
}

/// The values of a matrix in double precision.
#[derive(Debug, Clone)]
pub(super) enum Values {
    Real(Vec<f64>),
    Complex(Vec<c64>),
}

impl Values {
    pub(super) fn of<T: Scalar, I: Index, O: Index>(a: &Csc<T, Host, I, O>) -> Self {
        let values = a.values().iter().map(|value| value.to_c64());
        match T::DTYPE.is_complex() {
            false => Self::Real(values.map(|value| value.re).collect()),
            true => Self::Complex(values.collect()),
        }
    }

    pub(super) fn get(&self, position: usize) -> c64 {
        match self {
            Self::Real(values) => values[position].into(),
            Self::Complex(values) => values[position],
        }
    }

    pub(super) fn to_complex(&self) -> Vec<c64> {
        match self {
            Self::Real(values) => values.iter().map(|&value| value.into()).collect(),
            Self::Complex(values) => values.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(rows: usize, columns: &[&[usize]]) -> Columns {
        let mut offsets = vec![0];
        columns.iter().for_each(|column| offsets.push(offsets[offsets.len() - 1] + column.len()));
        let id = Csc::<f64>::zeros(1, 1).unwrap().pattern_id();
        Columns { rows, cols: columns.len(), id, offsets, indices: columns.concat() }
    }

    #[test]
    fn pivots_are_exchanged_until_all_columns_have_one() {
        assert_eq!(columns(3, &[&[0, 1], &[0], &[1, 2]]).column_without_pivot(), None);
        assert_eq!(columns(3, &[&[0, 1, 2], &[0, 1], &[0]]).column_without_pivot(), None);
    }

    #[test]
    fn a_column_that_is_left_over_is_found() {
        assert_eq!(columns(2, &[&[0], &[]]).column_without_pivot(), Some(1));
        assert_eq!(columns(3, &[&[0, 1], &[0, 1], &[0, 1]]).column_without_pivot(), Some(2));
    }
}
