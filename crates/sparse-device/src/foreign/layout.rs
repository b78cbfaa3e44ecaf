//! Strides of an array as number, distance and leading dimension of matrices.

use sparse_core::{Error, Order, Result};

/// Matrices of one shape in memory, with the meaning of [`DenseBatchView`](sparse_core::DenseBatchView).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StackLayout {
    /// The number of matrices.
    pub count: usize,
    /// The elements between the first ones of neighbouring matrices.
    pub stride: usize,
    /// The rows of each matrix.
    pub rows: usize,
    /// The columns of each matrix.
    pub cols: usize,
    /// The elements between the first ones of neighbouring rows, or columns in column-major order.
    pub leading_dimension: usize,
    /// The order of the elements of a matrix.
    pub order: Order,
}

impl StackLayout {
    /// The layout of an array with these extents, and with the elements between neighbours along each axis.
    pub(super) fn new(shape: &[usize], strides: Option<&[isize]>) -> Result<Self> {
        let (count, rows, cols) = match *shape {
            [rows] => (1, rows, 1),
            [rows, cols] => (1, rows, cols),
            [count, rows, cols] => (count, rows, cols),
            _ => return Err(refused(format!("it has {} axes, not one to three", shape.len()))),
        };
        let packed = Self { count, stride: 0, rows, cols, leading_dimension: cols, order: Order::RowMajor };
        let packed = Self { stride: packed.member_len()?, ..packed };
        let layout = match strides {
            Some(strides) if strides.len() != shape.len() => {
                return Err(refused(format!("it has {} axes and {} strides", shape.len(), strides.len())));
            }
            Some(strides) if packed.has_elements() => packed.with_strides(shape, strides)?,
            _ => packed,
        };
        layout.checked_len()?;
        Ok(layout)
    }

    /// (rows, columns) of each matrix.
    pub fn shape(&self) -> (usize, usize) {
        (self.rows, self.cols)
    }

    /// The elements from the first to the last, padding included.
    pub fn len(&self) -> usize {
        // The constructor has found that it fits.
        self.checked_len().unwrap_or(usize::MAX)
    }

    /// True if there are no elements.
    pub fn is_empty(&self) -> bool {
        !self.has_elements()
    }

    fn has_elements(&self) -> bool {
        self.count > 0 && self.rows > 0 && self.cols > 0
    }

    /// The layout with these strides instead of contiguous elements. That of an axis with one element says nothing.
    fn with_strides(self, shape: &[usize], strides: &[isize]) -> Result<Self> {
        let Self { count, rows, cols, .. } = self;
        let mut steps = vec![];
        for (axis, (&extent, &stride)) in shape.iter().zip(strides).enumerate() {
            match usize::try_from(stride) {
                _ if extent == 1 => steps.push(None),
                Ok(stride) if stride > 0 => steps.push(Some(stride)),
                _ => return Err(refused(format!("the stride of axis {axis} is {stride}, not positive"))),
            }
        }
        let (row_step, col_step) = match steps[..] {
            [row] => (row, None),
            [.., row, col] => (row, col),
            [] => (None, None),
        };
        let (leading_dimension, order) = match (row_step, col_step) {
            (row, None | Some(1)) => (row.unwrap_or(cols), Order::RowMajor),
            (None | Some(1), Some(col)) => (col, Order::ColMajor),
            (Some(row), Some(col)) => {
                let reason =
                    format!("neither rows nor columns are contiguous: their strides are {row} and {col}");
                return Err(refused(reason));
            }
        };
        let (line, length) = if order == Order::RowMajor { ("rows", cols) } else { ("columns", rows) };
        if leading_dimension < length {
            return Err(refused(format!("its {line} overlap: {length} elements, {leading_dimension} apart")));
        }
        let layout = Self { leading_dimension, order, ..self };
        let member = layout.member_len()?;
        let stride = if shape.len() == 3 { steps[0].unwrap_or(member) } else { member };
        if count > 1 && stride < member {
            let reason =
                format!("its matrices interleave: {member} elements, {stride} apart; copy it to C order");
            return Err(refused(reason));
        }
        Ok(Self { stride, ..layout })
    }

    /// The elements of a matrix, padding included.
    fn member_len(&self) -> Result<usize> {
        let (lines, length) =
            if self.order == Order::RowMajor { (self.rows, self.cols) } else { (self.cols, self.rows) };
        if lines == 0 || length == 0 {
            return Ok(0);
        }
        let before = (lines - 1).checked_mul(self.leading_dimension);
        before
            .and_then(|before| before.checked_add(length))
            .ok_or_else(|| overflow(lines, self.leading_dimension))
    }

    fn checked_len(&self) -> Result<usize> {
        if !self.has_elements() {
            return Ok(0);
        }
        let (before, last) = ((self.count - 1).checked_mul(self.stride), self.member_len()?);
        before.and_then(|before| before.checked_add(last)).ok_or_else(|| overflow(self.count, self.stride))
    }
}

fn overflow(count: usize, distance: usize) -> Error {
    let value = count as u128 * distance as u128;
    Error::IndexOverflow { what: "the size of a foreign array".into(), value, target: "usize" }
}

fn refused(reason: impl std::fmt::Display) -> Error {
    Error::format("a foreign array", reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(shape: &[usize], strides: &[isize]) -> (usize, usize, usize, Order) {
        let StackLayout { count, stride, leading_dimension, order, .. } =
            StackLayout::new(shape, Some(strides)).unwrap();
        (count, stride, leading_dimension, order)
    }

    #[test]
    fn strides_become_a_leading_dimension_and_an_order() {
        use Order::{ColMajor, RowMajor};
        assert_eq!(layout(&[3, 4], &[4, 1]), (1, 12, 4, RowMajor));
        assert_eq!(layout(&[3, 4], &[1, 3]), (1, 12, 3, ColMajor));
        assert_eq!(layout(&[3, 4], &[9, 1]), (1, 22, 9, RowMajor)); // some columns of a wider matrix
        assert_eq!(layout(&[2, 3, 4], &[12, 4, 1]), (2, 12, 4, RowMajor));
        assert_eq!(layout(&[2, 3, 4], &[40, 1, 5]), (2, 40, 5, ColMajor)); // transposed, padded
        assert_eq!(layout(&[5], &[1]), (1, 5, 1, RowMajor));
        assert_eq!(layout(&[5], &[3]), (1, 13, 3, RowMajor)); // a column of a matrix
    }

    #[test]
    fn strides_of_single_elements_say_nothing() {
        use Order::{ColMajor, RowMajor};
        assert_eq!(layout(&[1, 4], &[0, 1]), (1, 4, 4, RowMajor));
        assert_eq!(layout(&[4, 1], &[1, -7]), (1, 4, 1, RowMajor));
        assert_eq!(layout(&[1, 4], &[99, 2]), (1, 7, 2, ColMajor)); // every second element of a row
        assert_eq!(layout(&[1, 2, 2], &[0, 2, 1]), (1, 4, 2, RowMajor));
        assert_eq!(layout(&[1, 1], &[0, 0]), (1, 1, 1, RowMajor));
    }

    #[test]
    fn without_elements_strides_say_nothing() {
        for shape in [&[0, 4][..], &[3, 0], &[0, 3, 4], &[2, 3, 0], &[0]] {
            let layout = StackLayout::new(shape, Some(&vec![-1; shape.len()])).unwrap();
            assert_eq!((layout.is_empty(), layout.len()), (true, 0));
        }
    }

    #[test]
    fn what_no_leading_dimension_expresses_is_refused() {
        let reported = |shape: &[usize], strides: &[isize]| {
            StackLayout::new(shape, Some(strides)).unwrap_err().to_string()
        };
        for (shape, strides, reason) in [
            (&[3, 4][..], &[-4, 1][..], "the stride of axis 0 is -4"),
            (&[3, 4], &[0, 1], "the stride of axis 0 is 0"), // one row, broadcast
            (&[3, 4], &[8, 2], "their strides are 8 and 2"),
            (&[3, 4], &[3, 1], "its rows overlap: 4 elements, 3 apart"),
            (&[3, 4], &[1, 2], "its columns overlap: 3 elements, 2 apart"),
            (&[2, 3, 4], &[1, 8, 2], "their strides are 8 and 2"),
            (&[2, 3, 4], &[4, 8, 1], "its matrices interleave: 20 elements, 4 apart"),
            (&[3, 4], &[4], "2 axes and 1 strides"),
            (&[], &[], "0 axes"),
            (&[2, 2, 2, 2], &[8, 4, 2, 1], "4 axes"),
        ] {
            let reported = reported(shape, strides);
            assert!(reported.contains(reason), "{reported}");
        }
        let huge = StackLayout::new(&[2, usize::MAX / 2, 3], None).unwrap_err();
        assert!(matches!(huge, Error::IndexOverflow { .. }), "{huge}");
    }
}
