//! Descriptions of matrices, which the manifest has beside their files.

use nnz::Matrix;
use serde::{Deserialize, Serialize};

/// Everything about a matrix that is known without it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Description {
    pub(crate) format: String,
    pub(crate) dtype: String,
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    pub(crate) nnz: usize,
    /// Bytes in the device's memory.
    pub(crate) bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) members: Option<usize>,
    /// Seconds since 1970 at which it is deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) expires: Option<u64>,
}

impl Description {
    pub(crate) fn of(matrix: &Matrix) -> Self {
        Self {
            format: matrix.format().name().into(),
            dtype: matrix.dtype().name().into(),
            rows: matrix.nrows(),
            cols: matrix.ncols(),
            nnz: matrix.nnz(),
            bytes: matrix.bytes() as u64,
            members: matrix.members(),
            expires: None,
        }
    }
}
