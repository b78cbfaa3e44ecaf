//! The lines that a compressed format stores.

use crate::build::Build;

/// The lines of a compressed format: the rows of CSR, the columns of CSC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lines {
    Rows,
    Columns,
}

impl Lines {
    /// The lines of format `H`.
    pub(super) fn of<H: Build>() -> Self {
        if H::FORMAT == "csr" { Self::Rows } else { Self::Columns }
    }

    /// The value for lines and that for positions in a line, from those for rows and for columns.
    pub(super) fn orient<X>(self, rows: X, columns: X) -> (X, X) {
        match self {
            Self::Rows => (rows, columns),
            Self::Columns => (columns, rows),
        }
    }
}
