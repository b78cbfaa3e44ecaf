//! The description of a batch of matrices.

use crate::analysis::RowLengths;
use crate::dispatch::with_type;
use crate::text::bytes;
use anyhow::Result;
use nnz::io::MatrixFile;
use nnz::io::npz::NpzFormat;
use nnz::op::RowStatistics;
use nnz::{Accumulator, Axis, BatchCompressed, Col, DType, Error, Host, Index, Row};
use serde::Serialize;
use std::fmt::{Display, Formatter};

/// Describes the batch in a file, whose members are of this format.
pub(crate) fn describe(file: &MatrixFile, format: NpzFormat, dtype: DType) -> Result<Description> {
    with_type!(dtype, T => match format {
        NpzFormat::Csc => describe_along::<Col, T>(file),
        NpzFormat::Csr | NpzFormat::Coo => describe_along::<Row, T>(file),
    })
}

fn describe_along<A: Axis, T: Accumulator>(file: &MatrixFile) -> Result<Description> {
    match file.read_batch::<A, T, i32, i32>() {
        Err(Error::IndexOverflow { .. }) => Ok(Description::new(file, &file.read_batch::<A, T, i64, i64>()?)),
        narrow => Ok(Description::new(file, &narrow?)),
    }
}

/// A summary of the members of a batch.
#[derive(Debug, Serialize)]
pub(crate) struct Description {
    path: String,
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
    fn new<A: Axis, T: Accumulator, I: Index, O: Index>(
        file: &MatrixFile,
        batch: &BatchCompressed<A, T, Host, I, O>,
    ) -> Self {
        let (rows, cols) = batch.member_shape();
        let lines = A::swap(rows, cols).0 + 1;
        let lengths = batch
            .offsets()
            .chunks(lines)
            .flat_map(|offsets| offsets.windows(2).map(|offset| offset[1].as_usize() - offset[0].as_usize()));
        let starts = batch.member_ptr();
        let arrays = size_of_val(&batch.values()[..])
            + size_of_val(&batch.indices()[..])
            + size_of_val(&batch.offsets()[..])
            + size_of_val(starts);
        Self {
            path: file.path().display().to_string(),
            format: A::BATCH_FORMAT,
            members: batch.count(),
            rows,
            cols,
            nnz: batch.values().len(),
            dtype: T::DTYPE.name(),
            index_type: I::NAME,
            member_entries: RowStatistics::from_lengths(starts.windows(2).map(|pair| pair[1] - pair[0]))
                .into(),
            axis: A::MAJOR,
            lengths: RowStatistics::from_lengths(lengths).into(),
            explicit_zeros: batch.values().iter().filter(|value| value.is_zero()).count(),
            bytes: arrays as u64,
        }
    }
}

impl Display for Description {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let Self { path, format, members, rows, cols, nnz, dtype, index_type, axis, .. } = self;
        writeln!(f, "{path}")?;
        writeln!(f, "batch           {members} matrices of {rows} x {cols}, {format}")?;
        writeln!(f, "entries         {nnz}")?;
        writeln!(f, "types           values {dtype}, indices {index_type}")?;
        writeln!(f, "member entries  {}", self.member_entries)?;
        writeln!(f, "{:<16}{}", format!("{axis} lengths"), self.lengths)?;
        writeln!(f, "explicit zeros  {}", self.explicit_zeros)?;
        write!(f, "bytes           {} ({})", self.bytes, bytes(self.bytes))
    }
}
