//! The parts of a matrix or a batch, in descriptions.

use crate::text::bytes;
use nnz::io::MatrixFile;
use nnz::io::parts::SetKind;
use serde::Serialize;
use std::fmt::{Display, Formatter};

/// The files of a set.
#[derive(Debug, Serialize)]
pub(crate) struct Parts {
    files: usize,
    /// Blocks that rows and columns of each matrix are cut into; none for whole matrices and for a batch.
    #[serde(skip_serializing_if = "Option::is_none")]
    blocks: Option<(usize, usize)>,
    /// Matrices on the diagonal; none for one matrix and for a batch.
    #[serde(skip_serializing_if = "Option::is_none")]
    matrices: Option<usize>,
    /// The bytes of all files.
    file_bytes: u64,
}

impl Parts {
    /// The parts of `file`, if it is a set.
    pub(crate) fn of(file: &MatrixFile) -> Option<Self> {
        let set = file.parts()?;
        let (blocks, matrices) = match set.kind() {
            SetKind::Matrix { row_blocks, col_blocks } => (Some((row_blocks, col_blocks)), None),
            SetKind::Matrices { members } => (None, Some(members)),
            SetKind::MatricesInBlocks { members, row_blocks, col_blocks } => {
                (Some((row_blocks, col_blocks)), Some(members))
            }
            SetKind::Batch { .. } => (None, None),
        };
        let file_bytes = set.parts().iter().map(|part| part.bytes).sum();
        Some(Self { files: set.parts().len(), blocks, matrices, file_bytes })
    }
}

impl Display for Parts {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} files, {}", self.files, bytes(self.file_bytes))?;
        if let Some(matrices) = self.matrices {
            write!(f, ", {matrices} matrices on the diagonal")?;
        }
        match (self.blocks, self.matrices) {
            (None, _) => Ok(()),
            (Some((rows, cols)), None) => write!(f, ", {rows} x {cols} blocks"),
            (Some((rows, cols)), Some(_)) => write!(f, ", {rows} x {cols} blocks each"),
        }
    }
}
