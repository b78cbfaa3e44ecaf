//! The lines that a compressed format stores.

use crate::build::Build;

/// The lines of a compressed format: the rows of CSR, the columns of CSC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lines {
    Rows,
    Columns,
}

impl Lines {
    /// Those of format `H`.
    pub(super) fn of<H: Build>() -> Self {
        if H::FORMAT == "csr" { Self::Rows } else { Self::Columns }
    }

    /// What belongs to lines, and to the places in them, of what belongs to rows and to columns.
    pub(super) fn orient<X>(self, rows: X, columns: X) -> (X, X) {
        match self {
            Self::Rows => (rows, columns),
            Self::Columns => (columns, rows),
        }
    }
}
