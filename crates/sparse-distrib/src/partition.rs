//! Balanced partitions of a matrix: row blocks, column blocks and 2-D meshes.
//!
//! N items over p parts are cut into contiguous blocks of N/p items; the first N mod p blocks have one more. Ten rows
//! over four parts are blocks of 3, 3, 2 and 2 (blocks of ⌈N/p⌉ would be 3, 3, 3 and 1). A part may be empty.
//!
//! The same blocks divide a matrix among processors (partition) and among the tasks of one processor (dispatch).
//!
//! Source: Lin, Chung, Liu: Data distribution schemes of sparse arrays on distributed memory multicomputers. ICPP
//! Workshops 2002; J. Supercomputing 41 (2007).

use sparse_core::space::View;
use sparse_core::{Axis, DenseBatchView, DenseView, Element, Error, Order, Result, Space};
use std::fmt::Display;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::str::FromStr;

/// The items of block `index`, where `items` are cut into `blocks` balanced contiguous blocks.
///
/// Blocks after the last are empty.
///
/// ```
/// use sparse_distrib::partition::block;
/// use std::num::NonZeroUsize;
///
/// let four = NonZeroUsize::new(4).unwrap();
/// assert!((0..4).map(|k| block(10, four, k)).eq([0..3, 3..6, 6..8, 8..10]));
/// ```
pub fn block(items: usize, blocks: NonZeroUsize, index: usize) -> Range<usize> {
    let (length, longer) = (items / blocks, items % blocks);
    let index = index.min(blocks.get());
    let start = index * length + index.min(longer);
    let end = if index < blocks.get() { start + length + usize::from(index < longer) } else { start };
    start..end
}

/// A partition of matrices into a grid of blocks; parts are numbered row-major.
///
/// Row and column partitions are grids of one column and of one row.
///
/// ```
/// use sparse_distrib::Partition;
///
/// let mesh = Partition::mesh(2, 2)?;
/// assert_eq!(mesh.parts(), 4);
/// let second = mesh.part((4, 16), 1);
/// assert_eq!((second.rows, second.cols), (0..2, 8..16));
/// assert_eq!("mesh:2x2".parse::<Partition>()?, mesh);
/// # Ok::<(), sparse_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Partition {
    row_blocks: NonZeroUsize,
    col_blocks: NonZeroUsize,
}

impl Partition {
    /// One part.
    pub const WHOLE: Self = Self { row_blocks: NonZeroUsize::MIN, col_blocks: NonZeroUsize::MIN };

    /// `parts` blocks of rows.
    ///
    /// # Errors
    /// [`Error::Shape`] if there are no parts.
    pub fn rows(parts: usize) -> Result<Self> {
        Self::mesh(parts, 1)
    }

    /// `parts` blocks of columns.
    ///
    /// # Errors
    /// [`Error::Shape`] if there are no parts.
    pub fn cols(parts: usize) -> Result<Self> {
        Self::mesh(1, parts)
    }

    /// `row_blocks` times `col_blocks` blocks.
    ///
    /// # Errors
    /// [`Error::Shape`] if there are no parts, or more than `usize` counts.
    pub fn mesh(row_blocks: usize, col_blocks: usize) -> Result<Self> {
        let refuse =
            |why: &str| Error::shape("partition", format_args!("{row_blocks} x {col_blocks} parts; {why}"));
        if row_blocks.checked_mul(col_blocks).is_none() {
            return Err(refuse("fewer are needed: these cannot be counted"));
        }
        let at_least_one = || refuse("at least 1 x 1 is needed");
        Ok(Self {
            row_blocks: NonZeroUsize::new(row_blocks).ok_or_else(at_least_one)?,
            col_blocks: NonZeroUsize::new(col_blocks).ok_or_else(at_least_one)?,
        })
    }

    /// (blocks of rows, blocks of columns).
    pub fn grid(&self) -> (usize, usize) {
        (self.row_blocks.get(), self.col_blocks.get())
    }

    /// The number of parts.
    pub fn parts(&self) -> usize {
        self.row_blocks.get() * self.col_blocks.get()
    }

    /// Part `index` of matrices of shape `(rows, cols)`. Parts after the last are empty.
    pub fn part(&self, (rows, cols): (usize, usize), index: usize) -> Part {
        Part {
            rows: block(rows, self.row_blocks, index / self.col_blocks),
            cols: block(cols, self.col_blocks, index % self.col_blocks),
        }
    }

    /// All parts of matrices of one shape, in order.
    pub fn iter(self, shape: (usize, usize)) -> impl ExactSizeIterator<Item = Part> {
        (0..self.parts()).map(move |index| self.part(shape, index))
    }

    /// True if no two parts have entries of one row (CSR) or column (CSC): parts are stored one after the other.
    ///
    /// ```
    /// use sparse_core::{Col, Row};
    /// use sparse_distrib::Partition;
    ///
    /// let rows = Partition::rows(3)?;
    /// assert!(rows.is_along::<Row>() && !rows.is_along::<Col>());
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    pub fn is_along<A: Axis>(&self) -> bool {
        A::swap(self.row_blocks.get(), self.col_blocks.get()).1 == 1
    }
}

impl Display for Partition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.grid() {
            (rows, 1) => write!(f, "row:{rows}"),
            (1, cols) => write!(f, "col:{cols}"),
            (rows, cols) => write!(f, "mesh:{rows}x{cols}"),
        }
    }
}

impl FromStr for Partition {
    type Err = Error;

    /// Reads `row:P`, `col:P` or `mesh:PxQ`.
    fn from_str(text: &str) -> Result<Self> {
        let parsed = text.split_once(':').and_then(|(kind, sizes)| match kind {
            "row" => Some((sizes.parse().ok()?, 1)),
            "col" => Some((1, sizes.parse().ok()?)),
            "mesh" => {
                let (rows, cols) = sizes.split_once('x')?;
                Some((rows.parse().ok()?, cols.parse().ok()?))
            }
            _ => None,
        });
        let (rows, cols) = parsed.ok_or_else(|| {
            Error::unsupported(format_args!("the partition `{text}`"), "use row:P, col:P or mesh:PxQ")
        })?;
        Self::mesh(rows, cols)
    }
}

/// The rows and columns of a matrix that a part owns.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Part {
    /// The rows, as numbered in the whole matrix.
    pub rows: Range<usize>,
    /// The columns, as numbered in the whole matrix.
    pub cols: Range<usize>,
}

impl Part {
    /// A whole matrix as one part.
    pub fn whole((rows, cols): (usize, usize)) -> Self {
        Self { rows: 0..rows, cols: 0..cols }
    }

    /// (rows, columns) of the part.
    pub fn shape(&self) -> (usize, usize) {
        (self.rows.len(), self.cols.len())
    }

    /// True if the part has no elements.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty() || self.cols.is_empty()
    }

    /// Some of its lines: rows, or columns in column-major order, counted from its first.
    pub(crate) fn lines(&self, lines: Range<usize>, order: Order) -> Self {
        let some_of = |range: &Range<usize>| range.start + lines.start..range.start + lines.end;
        match order {
            Order::RowMajor => Self { rows: some_of(&self.rows), cols: self.cols.clone() },
            Order::ColMajor => Self { rows: self.rows.clone(), cols: some_of(&self.cols) },
        }
    }

    /// (major, minor) ranges: rows and columns for CSR, columns and rows for CSC.
    pub fn major_minor<A: Axis>(&self) -> (Range<usize>, Range<usize>) {
        let (rows, cols) = (self.rows.clone(), self.cols.clone());
        if A::IS_ROW { (rows, cols) } else { (cols, rows) }
    }

    /// The elements of the part, without a copy: a view with the leading dimension of `matrix`.
    ///
    /// ```
    /// use sparse_core::DenseView;
    /// use sparse_distrib::Partition;
    ///
    /// let elements: Vec<f64> = (0..12).map(f64::from).collect();
    /// let matrix = DenseView::row_major(&elements, 3, 4)?;
    /// let part = Partition::mesh(2, 2)?.part(matrix.shape(), 3);
    /// let view = part.view(matrix)?;
    /// assert_eq!((view.shape(), view.at(0, 0), view.at(0, 1)), ((1, 2), 10.0, 11.0));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Shape`] if the part reaches beyond the matrix.
    pub fn view<'a, T: Element, S: Space>(&self, matrix: DenseView<'a, T, S>) -> Result<DenseView<'a, T, S>> {
        self.check_inside(matrix.shape())?;
        let (rows, cols) = self.shape();
        let start = if self.is_empty() { 0 } else { matrix.position(self.rows.start, self.cols.start) };
        DenseView::new(
            suffix::<T, S>(matrix.data(), start),
            rows,
            cols,
            matrix.leading_dimension(),
            matrix.order(),
        )
    }

    /// The elements of the part in every matrix of a batch, without a copy.
    ///
    /// # Errors
    /// [`Error::Shape`] if the part reaches beyond the matrices.
    pub fn batch_view<'a, T: Element, S: Space>(
        &self,
        batch: DenseBatchView<'a, T, S>,
    ) -> Result<DenseBatchView<'a, T, S>> {
        self.check_inside(batch.shape())?;
        let start = if self.is_empty() { 0 } else { batch.position(self.rows.start, self.cols.start) };
        DenseBatchView::new(
            suffix::<T, S>(batch.data(), start),
            batch.count(),
            batch.stride(),
            self.shape(),
            batch.leading_dimension(),
            batch.order(),
        )
    }

    fn check_inside(&self, (rows, cols): (usize, usize)) -> Result<()> {
        if self.rows.end <= rows && self.cols.end <= cols {
            return Ok(());
        }
        let reason =
            format!("rows {:?} and columns {:?} of a matrix of {rows} x {cols}", self.rows, self.cols);
        Err(Error::shape("partition", reason))
    }
}

/// Block `index` of the matrices of a batch, where they are cut into `blocks` balanced contiguous blocks.
///
/// ```
/// use sparse_core::{DenseBatchView, Order};
/// use sparse_distrib::partition::members;
/// use std::num::NonZeroUsize;
///
/// let five = DenseBatchView::<f64>::new(&[0.0; 20][..], 5, 4, (2, 2), 2, Order::RowMajor)?;
/// let blocks = NonZeroUsize::new(2).unwrap();
/// assert_eq!((members(five, blocks, 0)?.count(), members(five, blocks, 1)?.count()), (3, 2));
/// # Ok::<(), sparse_core::Error>(())
/// ```
///
/// # Errors
/// None for batches that a constructor let through.
pub fn members<'a, T: Element, S: Space>(
    batch: DenseBatchView<'a, T, S>,
    blocks: NonZeroUsize,
    index: usize,
) -> Result<DenseBatchView<'a, T, S>> {
    let range = block(batch.count(), blocks, index);
    DenseBatchView::new(
        suffix::<T, S>(batch.data(), range.start.saturating_mul(batch.stride())),
        range.len(),
        batch.stride(),
        batch.shape(),
        batch.leading_dimension(),
        batch.order(),
    )
}

/// The elements of a view from `start` on: none where that lies beyond the end, as of empty parts.
fn suffix<'a, T: Element, S: Space>(view: S::View<'a, T>, start: usize) -> S::View<'a, T> {
    let end = view.len();
    S::slice(view, start.min(end)..end)
}
