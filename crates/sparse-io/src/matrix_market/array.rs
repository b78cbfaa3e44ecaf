//! Reads the text of an array file to a dense matrix, or to its elements.

use super::entries::{Entries, mirror};
use super::header::{Header, MatrixInfo, Symmetry};
use crate::source::Text;
use sparse_core::{Dense, Order, Result, Scalar};

/// Reads an array file, column by column; the stored triangle is mirrored.
pub(super) fn read<T: Scalar>(text: Text<'_>, header: Header) -> Result<Dense<T>> {
    let MatrixInfo { rows, cols, .. } = header.info;
    let mut data = vec![T::ZERO; rows * cols];
    let mut elements = Elements::of(header.info);
    elements.read(text, header, |row, col, value| data[col * rows + row] = value)?;
    elements.check_all(text)?;
    Dense::new(data, rows, cols, Order::ColMajor)
}

/// The place in an array file up to which its elements were read: columns one after the other, each from the first row
/// of the stored triangle.
#[derive(Debug)]
pub(super) struct Elements {
    info: MatrixInfo,
    /// Number of elements that were read.
    read: usize,
    /// The row and the column of the next one.
    row: usize,
    col: usize,
}

impl Elements {
    pub(super) fn of(info: MatrixInfo) -> Self {
        Self { info, read: 0, row: first_row(info.symmetry, 0), col: 0 }
    }

    /// Reads the next lines; `each` is called with every element, and with mirror images after their originals.
    pub(super) fn read<T: Scalar>(
        &mut self,
        text: Text<'_>,
        header: Header,
        mut each: impl FnMut(usize, usize, T),
    ) -> Result<()> {
        let MatrixInfo { stored, symmetry, .. } = self.info;
        let mut entries = Entries::new(text, &header);
        while entries.next_line() {
            if self.read == stored {
                return Err(entries.error(format!("the array has {stored} elements; this is one more")));
            }
            let (row, col) = (self.row, self.col);
            let value = entries.value(row == col)?;
            each(row, col, entries.convert(value)?);
            if symmetry != Symmetry::General && row != col {
                each(col, row, T::from_c64(mirror(symmetry, value)));
            }
            self.advance();
        }
        Ok(())
    }

    fn advance(&mut self) {
        self.read += 1;
        self.row += 1;
        while self.row >= self.info.rows && self.col < self.info.cols {
            self.col += 1;
            self.row = first_row(self.info.symmetry, self.col);
        }
    }

    /// Fails if elements are missing at the end of the file, which is that of `text`.
    pub(super) fn check_all(&self, text: Text<'_>) -> Result<()> {
        if self.read == self.info.stored {
            return Ok(());
        }
        let reason = format!("the file ends before element ({}, {})", self.row + 1, self.col + 1);
        Err(text.error(text.bytes.len() - 1, reason))
    }
}

/// The first row of which an element is stored in a column.
fn first_row(symmetry: Symmetry, col: usize) -> usize {
    match symmetry {
        Symmetry::General => 0,
        Symmetry::Symmetric | Symmetry::Hermitian => col,
        Symmetry::SkewSymmetric => col + 1,
    }
}
