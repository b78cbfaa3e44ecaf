//! Chosen rows and columns of a matrix on the host: slices, gathers and permutations.

use super::{Axis, Compressed};
use crate::backend::{vec_with_capacity, zeroed_vec};
use crate::error::{Error, Result};
use crate::index::Index;
use crate::scalar::Scalar;
use crate::space::Host;

impl<A: Axis, T: Scalar, I: Index, O: Index> Compressed<A, T, Host, I, O> {
    /// The elements in `rows` and `cols`, in the order of these lists: row `k` of the result is row `rows[k]`. A list
    /// may leave out rows or columns and repeat them. O(rows + columns + entries of the chosen rows, of CSC columns, +
    /// nnz of the result).
    ///
    /// Entries of a row (CSR) or column (CSC) come in the order in which they are stored, copies of one by their new
    /// places: sorted operands give a sorted result where the columns (CSR) or rows (CSC) ascend.
    ///
    /// ```
    /// use sparse_core::Csr;
    /// let a = Csr::<f64>::from_triplets(2, 3, [(0, 0, 1.0), (0, 2, 2.0), (1, 1, 3.0)])?;
    /// assert!(a.select(&[1, 0, 0], &[0, 1])?.triplets().eq([(0, 1, 3.0), (1, 0, 1.0), (2, 0, 1.0)]));
    /// let error = a.select(&[2], &[0]).unwrap_err();
    /// assert_eq!(error.to_string(), "select: row 2 is not below 2");
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Shape`] for a row or a column that the matrix has not; [`Error::IndexOverflow`] if an extent of the
    /// result does not fit `I` or its nnz does not fit `O`; [`Error::OutOfMemory`] for more columns (CSR) or rows (CSC)
    /// than memory has places for.
    #[doc(alias("slice", "gather"))]
    pub fn select(&self, rows: &[usize], cols: &[usize]) -> Result<Self> {
        check_below("row", rows, self.nrows())?;
        check_below("column", cols, self.ncols())?;
        let (majors, minors) = if A::IS_ROW { (rows, cols) } else { (cols, rows) };
        let (starts, places) = places(minors, self.pattern().minor())?;
        let mut offsets = Vec::with_capacity(majors.len() + 1);
        offsets.push(O::default());
        let (mut indices, mut values) = (vec![], vec![]);
        for &k in majors {
            for (index, value) in self.major_entries(k) {
                for &place in &places[starts[index]..starts[index + 1]] {
                    indices.push(I::try_new("index", place)?);
                    values.push(value);
                }
            }
            offsets.push(O::try_new("nnz", indices.len())?);
        }
        Self::new_unsorted(rows.len(), cols.len(), offsets, indices, values)
    }
}

impl<A: Axis, T: Scalar, I: Index, O: Index> Compressed<A, T, Host, I, O> {
    /// The permuted matrix, whose row `k` is row `rows[k]` and whose column `k` is column `cols[k]`, as SciPy's
    /// `A[rows][:, cols]`; entries as in [`select`](Self::select).
    ///
    /// ```
    /// use sparse_core::{Csr, inverse_permutation};
    /// let a = Csr::<f64>::from_triplets(2, 3, [(0, 0, 1.0), (0, 2, 2.0), (1, 1, 3.0)])?;
    /// let b = a.permute(&[1, 0], &[2, 0, 1])?;
    /// assert!(b.triplets().eq([(0, 2, 3.0), (1, 1, 1.0), (1, 0, 2.0)]));
    /// assert_eq!(b.permute(&inverse_permutation(&[1, 0], 2)?, &inverse_permutation(&[2, 0, 1], 3)?)?, a);
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Shape`] for a list that is no permutation of the rows or columns.
    pub fn permute(&self, rows: &[usize], cols: &[usize]) -> Result<Self> {
        inverse_permutation(rows, self.nrows())?;
        inverse_permutation(cols, self.ncols())?;
        self.select(rows, cols)
    }
}

/// The inverse of the permutation `order`: the position of each of `0..extent` in it.
///
/// ```
/// use sparse_core::inverse_permutation;
/// assert_eq!(inverse_permutation(&[2, 0, 1], 3)?, [1, 2, 0]);
/// let error = inverse_permutation(&[0, 2, 0], 3).unwrap_err();
/// assert_eq!(error.to_string(), "permutation: 0 at place 2 is repeated; each of 0..3 is needed once");
/// # Ok::<(), sparse_core::Error>(())
/// ```
///
/// # Errors
/// [`Error::Shape`] unless each of `0..extent` is in it once.
pub fn inverse_permutation(order: &[usize], extent: usize) -> Result<Vec<usize>> {
    let fault = |fault: std::fmt::Arguments<'_>| {
        Err(Error::shape("permutation", format_args!("{fault}; each of 0..{extent} is needed once")))
    };
    if order.len() < extent {
        return fault(format_args!("it has {} of {extent} places", order.len()));
    }
    let mut inverse = vec![extent; extent];
    for (place, &index) in order.iter().enumerate() {
        match inverse.get_mut(index) {
            None => return fault(format_args!("{index} at place {place} is too large")),
            Some(known) if *known < extent => {
                return fault(format_args!("{index} at place {place} is repeated"));
            }
            Some(free) => *free = place,
        }
    }
    Ok(inverse)
}

fn check_below(what: &str, chosen: &[usize], extent: usize) -> Result<()> {
    match chosen.iter().find(|&&index| index >= extent) {
        Some(index) => Err(Error::shape("select", format_args!("{what} {index} is not below {extent}"))),
        None => Ok(()),
    }
}

/// The positions of each index below `extent` in a list: those of `index` are
/// `places[starts[index]..starts[index + 1]]`.
fn places(list: &[usize], extent: usize) -> Result<(Vec<usize>, Vec<usize>)> {
    let mut starts: Vec<usize> = zeroed_vec(extent.saturating_add(1))?;
    list.iter().for_each(|&index| starts[index + 1] += 1);
    (0..extent).for_each(|index| starts[index + 1] += starts[index]);
    let mut next = vec_with_capacity(starts.len())?;
    next.extend_from_slice(&starts);
    let mut places = vec![0; list.len()];
    for (place, &index) in list.iter().enumerate() {
        places[next[index]] = place;
        next[index] += 1;
    }
    Ok((starts, places))
}
