//! Reads the text of an array file to a dense matrix.

use super::entries::{Entries, mirror};
use super::header::{Header, MatrixInfo, Symmetry};
use crate::source::Text;
use sparse_core::{Dense, Order, Result, Scalar};

/// Reads an array file, column by column; the stored triangle is mirrored.
pub(super) fn read<T: Scalar>(text: Text<'_>, header: Header) -> Result<Dense<T>> {
    let MatrixInfo { rows, cols, stored, symmetry, .. } = header.info;
    let mut data = vec![T::ZERO; rows * cols];
    let mut entries = Entries::new(text, &header);
    let first_row = |col: usize| match symmetry {
        Symmetry::General => 0,
        Symmetry::Symmetric | Symmetry::Hermitian => col,
        Symmetry::SkewSymmetric => col + 1,
    };
    // Columns without elements may be claimed in any number.
    let filled_cols = if stored == 0 { 0 } else { cols };
    for col in 0..filled_cols {
        for row in first_row(col)..rows {
            if !entries.next_line() {
                let reason = format!("the file ends before element ({}, {})", row + 1, col + 1);
                return Err(text.error(text.bytes.len() - 1, reason));
            }
            let value = entries.value(row == col)?;
            data[col * rows + row] = entries.convert(value)?;
            if symmetry != Symmetry::General && row != col {
                data[row * rows + col] = T::from_c64(mirror(symmetry, value));
            }
        }
    }
    if entries.next_line() {
        return Err(entries.error(format!("the array has {stored} elements; this is one more")));
    }
    Dense::new(data, rows, cols, Order::ColMajor)
}
