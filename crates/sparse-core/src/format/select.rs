//! Chosen rows and columns of a matrix on the host: slices, gathers and permutations.

use super::{Axis, Compressed};
use crate::backend::{vec_with_capacity, zeroed_vec};
use crate::error::{Error, Result};
use crate::index::Index;
use crate::scalar::Scalar;
use crate::space::Host;
use std::borrow::Cow;
use std::ops::{Bound, Range, RangeBounds, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

/// Chosen rows or columns: a range, or a list in any order that may repeat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selection<'a> {
    /// Consecutive rows or columns. Takes no memory per row or column.
    Range(Range<usize>),
    /// Any rows or columns, in the order of the list.
    List(Cow<'a, [usize]>),
}

impl Selection<'_> {
    /// The same selection with a list of its own.
    pub fn into_owned(self) -> Selection<'static> {
        match self {
            Self::Range(range) => Selection::Range(range),
            Self::List(list) => Selection::List(list.into_owned().into()),
        }
    }

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

    /// The chosen row or column at a place below [`len`](Self::len).
    #[inline(always)]
    pub fn at(&self, place: usize) -> usize {
        match self {
            Self::Range(range) => range.start + place,
            Self::List(list) => list[place],
        }
    }

    /// An error unless all of them are below `extent`; `what` is `row` or `column`.
    ///
    /// # Errors
    /// [`Error::Shape`], which names the first that is not.
    pub fn check_below(&self, what: &str, extent: usize) -> Result<()> {
        let outside = match self {
            Self::Range(range) => (!range.is_empty() && range.end > extent).then(|| range.start.max(extent)),
            Self::List(list) if all_below(list, extent) => None,
            Self::List(list) => list.iter().copied().find(|&index| index >= extent),
        };
        match outside {
            Some(index) => Err(Error::shape("select", format_args!("{what} {index} is not below {extent}"))),
            None => Ok(()),
        }
    }
}

/// True if all numbers are below `extent`. The loop combines sign bits instead of branching, so that it vectorizes.
fn all_below(list: &[usize], extent: usize) -> bool {
    let Some(last) = extent.checked_sub(1) else { return list.is_empty() };
    let signs = list.iter().fold(0, |signs, &index| signs | index | last.wrapping_sub(index));
    signs <= isize::MAX as usize
}

impl From<Range<usize>> for Selection<'_> {
    fn from(range: Range<usize>) -> Self {
        Self::Range(range)
    }
}

impl<'a> From<&'a [usize]> for Selection<'a> {
    fn from(list: &'a [usize]) -> Self {
        Self::List(list.into())
    }
}

impl<'a> From<&'a Vec<usize>> for Selection<'a> {
    fn from(list: &'a Vec<usize>) -> Self {
        Self::List(list.into())
    }
}

impl<'a, const N: usize> From<&'a [usize; N]> for Selection<'a> {
    fn from(list: &'a [usize; N]) -> Self {
        Self::List(list.into())
    }
}

/// A choice of rows or columns: a [`Selection`], any range of `usize`, or a list of them.
///
/// ```
/// use sparse_core::{Csr, Selection};
///
/// let a = Csr::<f64>::identity(4)?;
/// assert_eq!(a.select(2.., ..)?.shape(), (2, 4));
/// assert_eq!(a.select(..3, 1..=2)?.shape(), (3, 2));
/// assert_eq!(a.select(..=1, ..)?.shape(), (2, 4));
/// assert_eq!(a.select(&[0, 0, 3], Selection::Range(0..1))?.shape(), (3, 1));
/// # Ok::<(), sparse_core::Error>(())
/// ```
pub trait IntoSelection<'a> {
    /// The selection from `extent` rows or columns.
    fn into_selection(self, extent: usize) -> Selection<'a>;
}

impl<'a, S: Into<Selection<'a>>> IntoSelection<'a> for S {
    fn into_selection(self, _: usize) -> Selection<'a> {
        self.into()
    }
}

/// Implements [`IntoSelection`] for ranges that lack an end or include it.
macro_rules! open_ranges {
    ($($range:ty),*) => {$(
        impl<'a> IntoSelection<'a> for $range {
            fn into_selection(self, extent: usize) -> Selection<'a> {
                half_open(&self, extent).into()
            }
        }
    )*};
}

open_ranges!(RangeFull, RangeFrom<usize>, RangeTo<usize>, RangeInclusive<usize>, RangeToInclusive<usize>);

/// The range with an included start and an excluded end, `extent` where it has none.
fn half_open(range: &impl RangeBounds<usize>, extent: usize) -> Range<usize> {
    let start = match range.start_bound() {
        Bound::Included(&start) => start,
        Bound::Excluded(&before) => before.saturating_add(1),
        Bound::Unbounded => 0,
    };
    let end = match range.end_bound() {
        Bound::Included(&last) => last.saturating_add(1),
        Bound::Excluded(&end) => end,
        Bound::Unbounded => extent,
    };
    start..end
}

impl<A: Axis, T: Scalar, I: Index, O: Index> Compressed<A, T, Host, I, O> {
    /// The elements in `rows` and `cols`, ranges or lists, in their order: row `k` of the result is row `rows[k]`. A
    /// list may leave out rows or columns and repeat them. O(chosen rows + entries of the chosen rows + nnz of the
    /// result), of CSC with columns in place of rows; a list of columns (CSR) or rows (CSC) also takes time and memory
    /// proportional to all columns or rows, or, if it is short, a binary search for each entry.
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
    /// [`Error::Shape`] for a row or a column outside of the matrix; [`Error::IndexOverflow`] if an extent of the
    /// result does not fit `I` or its nnz does not fit `O`; [`Error::OutOfMemory`] if the host cannot allocate a table
    /// of all columns (CSR) or rows (CSC).
    #[doc(alias("slice", "gather"))]
    pub fn select<'s>(&self, rows: impl IntoSelection<'s>, cols: impl IntoSelection<'s>) -> Result<Self> {
        let (rows, cols) = (rows.into_selection(self.nrows()), cols.into_selection(self.ncols()));
        rows.check_below("row", self.nrows())?;
        cols.check_below("column", self.ncols())?;
        let (majors, minors) = A::swap(&rows, &cols);
        let places = Places::new(minors, self.pattern().minor())?;
        let mut offsets = vec_with_capacity(majors.len().saturating_add(1))?;
        offsets.push(O::default());
        let (mut indices, mut values) = (vec![], vec![]);
        for k in 0..majors.len() {
            for (index, value) in self.major_entries(majors.at(k)) {
                for place in places.of(index) {
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

/// The places of each index in a selection.
#[derive(Debug)]
pub enum Places<'a> {
    /// Index `k` of the range has one place, `k - start`.
    Range(&'a Range<usize>),
    /// The places of `index` are `places[starts[index]..starts[index + 1]]`.
    Table {
        /// The first place of each index, then the number of places.
        starts: Vec<usize>,
        /// The places of all indices, one index after the other.
        places: Vec<usize>,
    },
    /// The places of a list by the index there, and those of one index in their order.
    Sorted {
        /// The list.
        list: &'a [usize],
        /// The positions in the list, ordered by the index there.
        places: Vec<usize>,
    },
}

impl<'a> Places<'a> {
    /// Lists that are shorter than the extent by this factor are searched, since a table has a number for each index.
    pub const SEARCHED_BELOW: usize = 64;

    /// The places of the indices of `selection`, which are below `extent`.
    ///
    /// ```
    /// use sparse_core::{Places, Selection};
    /// let selection = Selection::from(&[3, 1, 3]);
    /// let places = Places::new(&selection, 4)?;
    /// let of = |index| places.of(index).collect::<Vec<_>>();
    /// assert_eq!([of(1), of(2), of(3)], [vec![1], vec![], vec![0, 2]]);
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    ///
    /// # Panics
    /// If an index of a list is not below `extent`.
    pub fn new(selection: &'a Selection<'_>, extent: usize) -> Result<Self> {
        let list: &[usize] = match selection {
            Selection::Range(range) => return Ok(Self::Range(range)),
            Selection::List(list) => list,
        };
        if list.len() < extent / Self::SEARCHED_BELOW {
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

    /// The places of `index`, ascending.
    #[inline(always)]
    pub fn of(&self, index: usize) -> impl Iterator<Item = usize> {
        let (place, places): (_, &[usize]) = match self {
            Self::Range(range) => (range.contains(&index).then(|| index - range.start), &[]),
            Self::Table { starts, places } => (None, &places[starts[index]..starts[index + 1]]),
            Self::Sorted { list, places } => {
                let first = places.partition_point(|&place| list[place] < index);
                let count = places[first..].partition_point(|&place| list[place] == index);
                (None, &places[first..first + count])
            }
        };
        place.into_iter().chain(places.iter().copied())
    }
}
