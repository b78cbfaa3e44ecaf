//! The order of a dense matrix and the positions of its elements.

use crate::error::{Error, Result, checked_product};

/// The memory order of a dense matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Order {
    /// Elements of a row are contiguous: C order.
    #[default]
    RowMajor,
    /// Elements of a column are contiguous: Fortran order.
    ColMajor,
}

impl Order {
    /// The order of the transpose.
    ///
    /// ```
    /// # use sparse_core::Order;
    /// assert_eq!(Order::RowMajor.transposed(), Order::ColMajor);
    /// ```
    #[must_use]
    pub fn transposed(self) -> Self {
        match self {
            Self::RowMajor => Self::ColMajor,
            Self::ColMajor => Self::RowMajor,
        }
    }
}

/// The position of element (i, j) of a dense matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::format) struct DenseLayout {
    pub(in crate::format) rows: usize,
    pub(in crate::format) cols: usize,
    pub(in crate::format) leading_dimension: usize,
    pub(in crate::format) order: Order,
}

impl DenseLayout {
    pub(in crate::format) fn checked(
        rows: usize,
        cols: usize,
        ld: usize,
        order: Order,
        len: usize,
    ) -> Result<Self> {
        let layout = Self { rows, cols, leading_dimension: ld, order };
        let (_, minor) = layout.major_minor();
        if ld < minor {
            let line = if order == Order::RowMajor { "row" } else { "column" };
            let reason = format_args!("the leading dimension {ld} is below {minor}, the length of a {line}");
            return Err(Error::format("dense", reason));
        }
        let needed = layout.required_len()?;
        if len < needed {
            return Err(Error::format(
                "dense",
                format_args!("{len} elements where {rows} x {cols} needs {needed}"),
            ));
        }
        Ok(layout)
    }

    pub(in crate::format) fn major_minor(&self) -> (usize, usize) {
        match self.order {
            Order::RowMajor => (self.rows, self.cols),
            Order::ColMajor => (self.cols, self.rows),
        }
    }

    pub(in crate::format) fn required_len(&self) -> Result<usize> {
        let (major, minor) = self.major_minor();
        if major == 0 || minor == 0 {
            return Ok(0);
        }
        let before_last = checked_product("rows x leading dimension", major - 1, self.leading_dimension)?;
        before_last.checked_add(minor).ok_or_else(|| Error::IndexOverflow {
            what: "dense size".into(),
            value: before_last as u128 + minor as u128,
            target: "usize",
        })
    }

    #[inline(always)]
    pub(in crate::format) fn position(&self, row: usize, col: usize) -> usize {
        match self.order {
            Order::RowMajor => row * self.leading_dimension + col,
            Order::ColMajor => col * self.leading_dimension + row,
        }
    }

    /// As [`position`](Self::position), with a bounds check: an element outside of the matrix panics, since its
    /// position may be that of another element.
    #[inline(always)]
    pub(super) fn position_inside(&self, row: usize, col: usize) -> usize {
        let (rows, cols) = (self.rows, self.cols);
        assert!(row < rows && col < cols, "element ({row}, {col}) of a {rows} x {cols} matrix");
        self.position(row, col)
    }

    pub(in crate::format) fn transposed(self) -> Self {
        Self { rows: self.cols, cols: self.rows, order: self.order.transposed(), ..self }
    }
}

macro_rules! layout_accessors {
    () => {
        /// The number of rows.
        #[doc(alias = "m")]
        pub fn nrows(&self) -> usize {
            self.layout.rows
        }

        /// The number of columns.
        #[doc(alias = "n")]
        pub fn ncols(&self) -> usize {
            self.layout.cols
        }

        /// (rows, columns).
        #[doc(alias = "dim")]
        pub fn shape(&self) -> (usize, usize) {
            (self.layout.rows, self.layout.cols)
        }

        /// The distance between the first elements of two neighbouring rows (row-major) or columns (column-major).
        pub fn leading_dimension(&self) -> usize {
            self.layout.leading_dimension
        }

        /// The memory order.
        pub fn order(&self) -> Order {
            self.layout.order
        }

        /// The position of element (row, col), counted from the start of the view.
        #[inline(always)]
        pub fn position(&self, row: usize, col: usize) -> usize {
            self.layout.position(row, col)
        }

        /// (rows, columns) if row-major, (columns, rows) if column-major.
        pub fn major_minor(&self) -> (usize, usize) {
            self.layout.major_minor()
        }
    };
}

pub(in crate::format) use layout_accessors;
