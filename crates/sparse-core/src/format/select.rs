//! Chosen rows and columns of a matrix on the host: slices, gathers and permutations.

use super::{Axis, Compressed};
use crate::backend::{vec_with_capacity, zeroed_vec};
use crate::error::{Error, Result};
use crate::index::Index;
use crate::scalar::Scalar;
use crate::space::Host;
use std::ops::Range;

/// Chosen rows or columns: a range, or a list in any order that may repeat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selection<'a> {
    /// Neighbours in their order. No memory is taken for each.
    Range(Range<usize>),
    /// Any, in the order of the list.
    List(&'a [usize]),
}

impl Selection<'_> {
    /// The number of chosen rows or columns.
    ///
    /// ```
    /// use sparse_core::Selection;
    /// assert_eq!((Selection::from(3..7).len(), Selection::from(&[5, 0, 5]).len()), (4, 3));
    /// ```
    pub fn len(&self) -> usize {
        match self {
            Self::Range(range) => range.len(),
            Self::List(list) => list.len(),
        }
    }

    /// True if nothing is chosen.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The chosen row or column at a place below `len`.
    fn at(&self, place: usize) -> usize {
        match self {
            Self::Range(range) => range.start + place,
            Self::List(list) => list[place],
        }
    }

    fn check_below(&self, what: &str, extent: usize) -> Result<()> {
        let outside = match self {
            Self::Range(range) => (!range.is_empty() && range.end > extent).then(|| range.start.max(extent)),
            Self::List(list) => list.iter().copied().find(|&index| index >= extent),
        };
        match outside {
            Some(index) => Err(Error::shape("select", format_args!("{what} {index} is not below {extent}"))),
            None => Ok(()),
        }
    }
}

impl From<Range<usize>> for Selection<'_> {
    fn from(range: Range<usize>) -> Self {
        Self::Range(range)
    }
}

impl<'a> From<&'a [usize]> for Selection<'a> {
    fn from(list: &'a [usize]) -> Self {
        Self::List(list)
    }
}

impl<'a> From<&'a Vec<usize>> for Selection<'a> {
    fn from(list: &'a Vec<usize>) -> Self {
        Self::List(list)
    }
}

impl<'a, const N: usize> From<&'a [usize; N]> for Selection<'a> {
    fn from(list: &'a [usize; N]) -> Self {
        Self::List(list)
    }
}

impl<A: Axis, T: Scalar, I: Index, O: Index> Compressed<A, T, Host, I, O> {
    /// The elements in `rows` and `cols`, ranges or lists, in their order: row `k` of the result is row `rows[k]`. A
    /// list may leave out rows or columns and repeat them. O(chosen rows + entries of the chosen rows + nnz of the
    /// result), of CSC with columns in place of rows; a list of columns (CSR) or rows (CSC) takes time and memory for
    /// all of them, or where it is short, a search for each entry.
    ///
    /// Entries of a row (CSR) or column (CSC) come in the order in which they are stored, copies of one by their new
    /// places: sorted operands give a sorted result where the columns (CSR) or rows (CSC) ascend.
    ///
    /// ```
    /// use sparse_core::Csr;
    /// let a = Csr::<f64>::from_triplets(2, 3, [(0, 0, 1.0), (0, 2, 2.0), (1, 1, 3.0)])?;
    /// assert!(a.select(&[1, 0, 0], &[0, 1])?.triplets().eq([(0, 1, 3.0), (1, 0, 1.0), (2, 0, 1.0)]));
    /// assert!(a.select(0..2, 1..3)?.triplets().eq([(0, 1, 2.0), (1, 0, 3.0)]));
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
    pub fn select<'s>(&self, rows: impl Into<Selection<'s>>, cols: impl Into<Selection<'s>>) -> Result<Self> {
        let (rows, cols) = (rows.into(), cols.into());
        rows.check_below("row", self.nrows())?;
        cols.check_below("column", self.ncols())?;
        let (majors, minors) = if A::IS_ROW { (&rows, &cols) } else { (&cols, &rows) };
        let places = Places::new(minors, self.pattern().minor())?;
        let mut offsets = vec_with_capacity(majors.len().saturating_add(1))?;
        offsets.push(O::default());
        let (mut indices, mut values) = (vec![], vec![]);
        for k in 0..majors.len() {
            for (index, value) in self.major_entries(majors.at(k)) {
                places.of(index, |place| {
                    indices.push(I::try_new("index", place)?);
                    values.push(value);
                    Ok(())
                })?;
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

/// The places of each index in a selection.
enum Places<'a> {
    Range(&'a Range<usize>),
    /// Those of `index` are `places[starts[index]..starts[index + 1]]`.
    Table {
        starts: Vec<usize>,
        places: Vec<usize>,
    },
    /// The places of a list by the index there, and those of one index in their order.
    Sorted {
        list: &'a [usize],
        places: Vec<usize>,
    },
}

/// Lists that are shorter than the extent by this factor are searched, since a table has a number for each index.
const SEARCHED_BELOW: usize = 64;

impl<'a> Places<'a> {
    fn new(selection: &'a Selection<'_>, extent: usize) -> Result<Self> {
        let list = match selection {
            Selection::Range(range) => return Ok(Self::Range(range)),
            Selection::List(list) => *list,
        };
        if list.len() < extent / SEARCHED_BELOW {
            let mut places = vec_with_capacity(list.len())?;
            places.extend(0..list.len());
            places.sort_by_key(|&place| list[place]);
            return Ok(Self::Sorted { list, places });
        }
        let mut starts: Vec<usize> = zeroed_vec(extent.saturating_add(1))?;
        list.iter().for_each(|&index| starts[index + 1] += 1);
        (0..extent).for_each(|index| starts[index + 1] += starts[index]);
        let mut next = vec_with_capacity(starts.len())?;
        next.extend_from_slice(&starts);
        let mut places = zeroed_vec(list.len())?;
        for (place, &index) in list.iter().enumerate() {
            places[next[index]] = place;
            next[index] += 1;
        }
        Ok(Self::Table { starts, places })
    }

    /// Calls `visit` with each place of `index`, in their order.
    fn of(&self, index: usize, mut visit: impl FnMut(usize) -> Result<()>) -> Result<()> {
        match self {
            Self::Range(range) if range.contains(&index) => visit(index - range.start),
            Self::Range(_) => Ok(()),
            Self::Table { starts, places } => {
                places[starts[index]..starts[index + 1]].iter().try_for_each(|&place| visit(place))
            }
            Self::Sorted { list, places } => {
                let first = places.partition_point(|&place| list[place] < index);
                let found = places[first..].iter().take_while(|&&place| list[place] == index);
                found.copied().try_for_each(visit)
            }
        }
    }
}
