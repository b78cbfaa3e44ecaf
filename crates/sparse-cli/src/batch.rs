//! The description of a batch of matrices.

use crate::analysis::RowLengths;
use crate::parts::Parts;
use crate::text::bytes;
use nnz::io::MatrixFile;
use nnz::op::RowStatistics;
use nnz::{Format, Matrix, Result, Scalar as _};
use serde::Serialize;
use std::fmt::{Display, Formatter};

/// A summary of the members of a batch.
#[derive(Debug, Serialize)]
pub(crate) struct Description {
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    parts: Option<Parts>,
    format: &'static str,
    members: usize,
    rows: usize,
    cols: usize,
    nnz: usize,
    dtype: &'static str,
    index_type: &'static str,
    /// The entries of each member.
    member_entries: RowLengths,
    /// `row` or `column`, the meaning of `lengths`.
    axis: &'static str,
    /// The lengths of the rows, or of the columns, of all members.
    lengths: RowLengths,
    explicit_zeros: usize,
    bytes: u64,
}

impl Description {
    /// Describes a batch of `count` members from a file.
    pub(crate) fn new(file: &MatrixFile, count: usize, batch: &Matrix) -> Result<Self> {
        let (rows, cols) = batch.member_shape();
        let by_rows = batch.format() == Format::BatchCsr;
        let mut member_entries = vec![0; count];
        let mut lengths = vec![0; if by_rows { batch.nrows() } else { batch.ncols() }];
        let mut explicit_zeros = 0;
        batch.for_each_entry(&mut |row, col, value| {
            member_entries[row / rows] += 1;
            lengths[if by_rows { row } else { col }] += 1;
            explicit_zeros += usize::from(value.is_zero());
        })?;
        Ok(Self {
            path: file.path().display().to_string(),
            parts: Parts::of(file),
            format: batch.format().name(),
            members: count,
            rows,
            cols,
            nnz: batch.nnz(),
            dtype: batch.dtype().name(),
            index_type: batch.index_type().name(),
            member_entries: RowStatistics::from_lengths(member_entries).into(),
            axis: if by_rows { "row" } else { "column" },
            lengths: RowStatistics::from_lengths(lengths).into(),
            explicit_zeros,
            bytes: batch.bytes() as u64,
        })
    }
}

impl Display for Description {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let Self { path, format, members, rows, cols, nnz, dtype, index_type, axis, .. } = self;
        writeln!(f, "{path}")?;
        if let Some(parts) = &self.parts {
            writeln!(f, "parts           {parts}")?;
        }
        writeln!(f, "batch           {members} matrices of {rows} x {cols}, {format}")?;
        writeln!(f, "entries         {nnz}")?;
        writeln!(f, "types           values {dtype}, indices {index_type}")?;
        writeln!(f, "member entries  {}", self.member_entries)?;
        writeln!(f, "{:<16}{}", format!("{axis} lengths"), self.lengths)?;
        writeln!(f, "explicit zeros  {}", self.explicit_zeros)?;
        write!(f, "bytes           {} ({})", self.bytes, bytes(self.bytes))
    }
}
