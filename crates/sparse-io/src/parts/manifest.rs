//! The manifest of a set: its contents, and the checks that need no other file.

use crate::any::AnyValues;
use crate::npz::NpzFormat;
use serde::{Deserialize, Serialize};
use sparse_core::DType;
use std::ops::Range;

/// The version of manifests that this crate reads and writes.
const VERSION: u64 = 1;

/// The contents of a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum SetKind {
    /// Matrices of one shape.
    Batch {
        /// The number of matrices.
        members: usize,
    },
    /// Matrices of any shapes, in order. Read as one matrix, they are the blocks of its diagonal.
    Matrices {
        /// The number of matrices.
        members: usize,
    },
    /// Matrices of any shapes, in order, each cut into blocks. Read as one matrix, they are the blocks of its diagonal.
    MatricesInBlocks {
        /// The number of matrices.
        members: usize,
        /// The number of blocks that the rows of each are cut into.
        row_blocks: usize,
        /// The number of blocks that the columns of each are cut into.
        col_blocks: usize,
    },
    /// One matrix, cut into blocks.
    Matrix {
        /// The number of blocks that the rows are cut into.
        row_blocks: usize,
        /// The number of blocks that the columns are cut into.
        col_blocks: usize,
    },
}

/// The position of a part in its set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Cover {
    /// Members of a batch, or matrices of one shape.
    Members(Range<usize>),
    /// A block of a matrix.
    Block {
        /// The rows, as numbered in the whole matrix.
        rows: Range<usize>,
        /// The columns, as numbered in the whole matrix.
        cols: Range<usize>,
    },
}

/// A part of a set, as the manifest describes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// The name of the file in the folder of the set.
    pub file: String,
    /// The members, or the rows and columns.
    pub covers: Cover,
    /// Rows and columns: of the block, or of each member.
    pub shape: (usize, usize),
    /// The number of stored entries.
    pub nnz: usize,
    /// The bytes of the file.
    pub bytes: u64,
    /// The CRC-32C of the file.
    pub crc32c: u32,
}

/// A manifest. What [`parse`](Self::parse) returns has passed [`check`](Self::check).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Manifest {
    version: u64,
    pub(super) kind: SetKind,
    pub(super) format: NpzFormat,
    #[serde(with = "dtype_name")]
    pub(super) dtype: DType,
    pub(super) shape: (usize, usize),
    pub(super) parts: Vec<Part>,
}

/// The version of a manifest of any version.
#[derive(Deserialize)]
struct AnyVersion {
    version: u64,
}

impl Manifest {
    /// A manifest without parts.
    pub(super) fn new(kind: SetKind, format: NpzFormat, dtype: DType, shape: (usize, usize)) -> Self {
        Self { version: VERSION, kind, format, dtype, shape, parts: vec![] }
    }

    /// Reads and checks a manifest.
    pub(super) fn parse(json: &[u8]) -> Result<Self, String> {
        let syntax = |error: serde_json::Error| format!("not a manifest of parts: {error}");
        let AnyVersion { version } = serde_json::from_slice(json).map_err(syntax)?;
        if version != VERSION {
            return Err(format!("the manifest has version {version} where {VERSION} is needed"));
        }
        let manifest: Self = serde_json::from_slice(json).map_err(syntax)?;
        manifest.check()?;
        Ok(manifest)
    }

    /// Fails unless names stay in the folder and the parts cover the set, without gaps or overlaps.
    pub(super) fn check(&self) -> Result<(), String> {
        if self.format == NpzFormat::Coo {
            return Err("the format is coo where csr or csc is needed".into());
        }
        self.no_values()?;
        let (rows, cols) = self.shape;
        if i64::try_from(rows.max(cols)).is_err() {
            return Err(format!("a shape of {rows} x {cols} does not fit i64"));
        }
        self.parts.iter().try_for_each(|part| check_name(&part.file))?;
        match self.kind {
            SetKind::Batch { members } => {
                self.check_members(members)?;
                self.parts.iter().try_for_each(|part| part.check_shape(self.shape))?;
            }
            SetKind::Matrices { members } => {
                self.check_members(members)?;
                self.check_diagonal()?;
            }
            SetKind::MatricesInBlocks { members, row_blocks, col_blocks } => {
                self.check_matrices_in_blocks(members, row_blocks, col_blocks)?;
            }
            SetKind::Matrix { row_blocks, col_blocks } => {
                self.check_number_of_blocks(1, row_blocks, col_blocks)?;
                check_grid(&self.parts, col_blocks, 0..self.shape.0, 0..self.shape.1)?;
            }
        }
        let nnz = self.parts.iter().try_fold(0_usize, |nnz, part| nnz.checked_add(part.nnz));
        nnz.map(drop).ok_or_else(|| "the parts have more entries than can be counted".into())
    }

    /// The number of stored entries.
    pub(super) fn nnz(&self) -> usize {
        self.parts.iter().map(|part| part.nnz).sum()
    }

    /// An array without values of the set's type.
    pub(super) fn no_values(&self) -> Result<AnyValues, String> {
        match self.dtype {
            DType::F32 => Ok(AnyValues::F32(vec![])),
            DType::F64 => Ok(AnyValues::F64(vec![])),
            DType::C32 => Ok(AnyValues::C32(vec![])),
            DType::C64 => Ok(AnyValues::C64(vec![])),
            other => Err(format!("the values are {other} where f32, f64, c32 or c64 is needed")),
        }
    }

    fn check_members(&self, members: usize) -> Result<(), String> {
        let ranges = self.parts.iter().map(|part| match &part.covers {
            Cover::Members(range) => Ok((part, range)),
            Cover::Block { .. } => Err(part.error("covers a block where members are needed")),
        });
        let ranges: Vec<_> = ranges.collect::<Result<_, _>>()?;
        check_cuts("members", 0..members, &ranges)
    }

    /// Fails unless the shape is that of the matrix with all members on its diagonal.
    fn check_diagonal(&self) -> Result<(), String> {
        match self.diagonal_shape() {
            Some(shape) if shape == self.shape => Ok(()),
            _ => Err(self.not_the_sum()),
        }
    }

    /// The rows and the columns of all members together; `None` if they cannot be counted.
    pub(super) fn diagonal_shape(&self) -> Option<(usize, usize)> {
        self.parts.iter().try_fold((0_usize, 0_usize), |(rows, cols), part| {
            let members = part.members();
            Some((
                rows.checked_add(part.shape.0.checked_mul(members)?)?,
                cols.checked_add(part.shape.1.checked_mul(members)?)?,
            ))
        })
    }

    /// Fails unless the blocks of each matrix begin where those of the matrix before end.
    fn check_matrices_in_blocks(
        &self,
        members: usize,
        row_blocks: usize,
        col_blocks: usize,
    ) -> Result<(), String> {
        self.check_number_of_blocks(members, row_blocks, col_blocks)?;
        let mut corner = (0, 0);
        for blocks in self.parts.chunks(row_blocks * col_blocks) {
            let last = &blocks[blocks.len() - 1];
            let (rows, cols) = last.block()?;
            check_grid(blocks, col_blocks, corner.0..rows.end, corner.1..cols.end)?;
            corner = (rows.end, cols.end);
        }
        match corner == self.shape {
            true => Ok(()),
            false => Err(self.not_the_sum()),
        }
    }

    fn check_number_of_blocks(
        &self,
        members: usize,
        row_blocks: usize,
        col_blocks: usize,
    ) -> Result<(), String> {
        let blocks = row_blocks.checked_mul(col_blocks).filter(|&blocks| blocks > 0);
        let found = self.parts.len();
        if blocks.and_then(|blocks| blocks.checked_mul(members)) == Some(found) {
            return Ok(());
        }
        let matrices = if members == 1 { String::new() } else { format!(" of {members} matrices") };
        Err(format!(
            "{found} parts where {row_blocks} x {col_blocks} blocks{matrices} are needed, one at least"
        ))
    }

    fn not_the_sum(&self) -> String {
        let (rows, cols) = self.shape;
        format!("the shape {rows} x {cols} is not the sum of those of the members")
    }
}

impl Part {
    /// The number of members; 0 of a block.
    pub(super) fn members(&self) -> usize {
        match &self.covers {
            Cover::Members(range) => range.len(),
            Cover::Block { .. } => 0,
        }
    }

    /// Rows and columns of a block.
    fn block(&self) -> Result<(&Range<usize>, &Range<usize>), String> {
        match &self.covers {
            Cover::Block { rows, cols } => Ok((rows, cols)),
            Cover::Members(_) => Err(self.error("covers members where a block is needed")),
        }
    }

    fn check_shape(&self, needed: (usize, usize)) -> Result<(), String> {
        if self.shape == needed {
            return Ok(());
        }
        let ((rows, cols), needed) = (self.shape, format!("{} x {}", needed.0, needed.1));
        Err(self.error(format_args!("has shape {rows} x {cols} where {needed} is needed")))
    }

    fn error(&self, reason: impl std::fmt::Display) -> String {
        format!("`{}` {reason}", self.file)
    }
}

/// Fails unless the parts are a grid of blocks, row-major, of these rows and columns.
fn check_grid(
    parts: &[Part],
    col_blocks: usize,
    rows: Range<usize>,
    cols: Range<usize>,
) -> Result<(), String> {
    let blocks: Vec<_> = parts.iter().map(|part| Ok((part, part.block()?))).collect::<Result<_, String>>()?;
    // The first block of each row of blocks has the cuts of the rows, the first row those of the columns.
    let row_cuts: Vec<_> = blocks.iter().step_by(col_blocks).map(|&(part, (rows, _))| (part, rows)).collect();
    let col_cuts: Vec<_> = blocks[..col_blocks].iter().map(|&(part, (_, cols))| (part, cols)).collect();
    check_cuts("rows", rows, &row_cuts)?;
    check_cuts("columns", cols, &col_cuts)?;
    for (k, &(part, (found_rows, found_cols))) in blocks.iter().enumerate() {
        let (needed_rows, needed_cols) = (row_cuts[k / col_blocks].1, col_cuts[k % col_blocks].1);
        if (found_rows, found_cols) != (needed_rows, needed_cols) {
            return Err(part.error(format_args!(
                "covers rows {found_rows:?} and columns {found_cols:?} where {needed_rows:?} and {needed_cols:?} are needed"
            )));
        }
        part.check_shape((found_rows.len(), found_cols.len()))?;
    }
    Ok(())
}

/// Fails unless the ranges follow each other from the start of `whole` to its end.
fn check_cuts(what: &str, whole: Range<usize>, ranges: &[(&Part, &Range<usize>)]) -> Result<(), String> {
    let (mut next, end) = (whole.start, whole.end);
    for (part, range) in ranges {
        if range.start != next || range.end < range.start || range.end > end {
            return Err(part.error(format_args!(
                "covers {what} {range:?} where a range from {next} to at most {end} is needed"
            )));
        }
        next = range.end;
    }
    if next != end {
        return Err(format!("the parts cover {what} {}..{next} where {whole:?} is needed", whole.start));
    }
    Ok(())
}

/// Fails unless a file of this name is in the same folder on every system.
fn check_name(name: &str) -> Result<(), String> {
    let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
    if is_plain && !name.starts_with('.') && name.ends_with(".npz") {
        return Ok(());
    }
    let name = name.escape_debug();
    Err(format!(
        "`{name}` is not the name of a part: letters, digits, -, _ and . are allowed, .npz at the end"
    ))
}

/// Types of values by their names.
mod dtype_name {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};
    use sparse_core::DType;

    pub(super) fn serialize<S: Serializer>(dtype: &DType, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(dtype.name())
    }

    pub(super) fn deserialize<'a, D: Deserializer<'a>>(deserializer: D) -> Result<DType, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}
