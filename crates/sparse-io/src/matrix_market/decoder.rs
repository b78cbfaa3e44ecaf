//! Decoding of texts from their bytes as they come.
//!
//! Data lines are collected until they are some for each thread, and parsed as those of a mapped file are. So neither
//! the text nor a dense array is in memory, but one block of lines and the entries.

use super::array::Elements;
use super::entries::{Body, Tally};
use super::header::{self, Field, Header, Layout, MatrixInfo, Symmetry};
use super::stream::DataLines;
use super::triplets::Triplets;
use super::{integers, parts};
use crate::any::{AnyIndices, AnyValues, RoundedIntegers};
use crate::csr_from_entries::{ENTRY_BYTES, check_row_claim};
use crate::npz::{AnySparse, NpzFormat};
use crate::source::{Contents, Text};
use crate::stream::{Reserve, wrong};
use sparse_core::{DType, Index, Result, Scalar, c64};
use std::path::Path;

/// Bytes of lines that are parsed at once.
const BLOCK_BYTES: usize = 512 << 10;

/// Decodes a coordinate or array file.
#[derive(Debug)]
pub(crate) struct TextDecoder {
    lines: DataLines,
    body: Option<Decoding>,
}

/// The entries of a text whose header is known.
#[derive(Debug)]
struct Decoding {
    header: Header,
    progress: Progress,
    rows: AnyIndices,
    cols: AnyIndices,
    values: AnyValues,
    rounded: Option<RoundedIntegers>,
}

/// The entries that have been read, counted by coordinates or by the position in an array.
#[derive(Debug)]
enum Progress {
    Coordinate(Tally),
    Array(Elements),
}

impl TextDecoder {
    pub(crate) fn new() -> Self {
        Self { lines: DataLines::new(usize::MAX), body: None }
    }

    pub(crate) fn push(&mut self, bytes: &[u8], reserve: &mut Reserve<'_>) -> Result<()> {
        for block in bytes.chunks(BLOCK_BYTES) {
            self.lines.add(block).map_err(|stop| stop.reading(path()))?;
            if self.lines.len() >= BLOCK_BYTES {
                let lines = self.lines.take_whole();
                self.decode(&lines, reserve)?;
            }
        }
        Ok(())
    }

    /// The entries, in the order of the file, once all bytes were decoded.
    pub(crate) fn finish(
        mut self,
        reserve: &mut Reserve<'_>,
    ) -> Result<(AnySparse, Option<RoundedIntegers>)> {
        let lines = std::mem::replace(&mut self.lines, DataLines::new(0)).finish();
        self.decode(&lines, reserve)?;
        let Some(decoding) = self.body else { return Err(wrong("the text has no header")) };
        decoding.finish(lines.text(path()))
    }

    /// Decodes whole lines, the first ones with the header.
    fn decode(&mut self, lines: &Contents, reserve: &mut Reserve<'_>) -> Result<()> {
        let text = lines.text(path());
        match &mut self.body {
            Some(decoding) => decoding.read(text, reserve),
            None => {
                let header = header::read(&text)?;
                let decoding = self.body.insert(Decoding::new(header)?);
                decoding.read(text, reserve)?;
                // The next blocks are entries alone.
                decoding.header.body_at = 0;
                Ok(())
            }
        }
    }
}

/// The path in errors.
fn path() -> &'static Path {
    Path::new("<stream>")
}

impl Decoding {
    fn new(header: Header) -> Result<Self> {
        let MatrixInfo { rows, cols, field, .. } = header.info;
        let is_narrow = [rows, cols].iter().all(|&extent| i32::try_from(extent).is_ok());
        let indices = || if is_narrow { AnyIndices::I32(vec![]) } else { AnyIndices::I64(vec![]) };
        i64::try_new("rows", rows)?;
        i64::try_new("columns", cols)?;
        Ok(Self {
            header,
            progress: match header.info.layout {
                Layout::Coordinate => Progress::Coordinate(Tally::default()),
                Layout::Array => Progress::Array(Elements::of(header.info)),
            },
            rows: indices(),
            cols: indices(),
            values: if field == Field::Complex { AnyValues::C64(vec![]) } else { AnyValues::F64(vec![]) },
            rounded: None,
        })
    }

    fn read(&mut self, text: Text<'_>, reserve: &mut Reserve<'_>) -> Result<()> {
        match (self.header.info.field == Field::Complex, &self.rows) {
            (false, AnyIndices::I32(_)) => {
                self.read_as::<f64, i32>(text, AnyValues::F64, AnyIndices::I32, reserve)?
            }
            (false, AnyIndices::I64(_)) => {
                self.read_as::<f64, i64>(text, AnyValues::F64, AnyIndices::I64, reserve)?
            }
            (true, AnyIndices::I32(_)) => {
                self.read_as::<c64, i32>(text, AnyValues::C64, AnyIndices::I32, reserve)?
            }
            (true, AnyIndices::I64(_)) => {
                self.read_as::<c64, i64>(text, AnyValues::C64, AnyIndices::I64, reserve)?
            }
        }
        if let Some(more) = integers::rounded(text, self.header, parts(&text), DType::F64) {
            let count = more.count + self.rounded.as_ref().map_or(0, |before| before.count);
            self.rounded.get_or_insert(more).count = count;
        }
        Ok(())
    }

    /// Adds the entries of a block.
    fn read_as<T: Scalar, I: Index>(
        &mut self,
        text: Text<'_>,
        of_values: fn(Vec<T>) -> AnyValues,
        of_indices: fn(Vec<I>) -> AnyIndices,
        reserve: &mut Reserve<'_>,
    ) -> Result<()> {
        let block: Triplets<T, I, I> = match &mut self.progress {
            Progress::Coordinate(tally) => Body::split(text, self.header, parts(&text)).read_block(tally)?,
            Progress::Array(elements) => nonzeros(elements, text, self.header)?,
        };
        let (more, most) = (block.values.len(), self.most_entries());
        self.values.grow(more, most, reserve)?;
        self.rows.grow(more, most, reserve)?;
        self.cols.grow(more, most, reserve)?;
        self.values.append(of_values(block.values));
        self.rows.append(of_indices(block.rows));
        self.cols.append(of_indices(block.cols));
        Ok(())
    }

    /// The most entries that the header claims, mirror images included.
    fn most_entries(&self) -> usize {
        let images = if self.header.info.symmetry == Symmetry::General { 1 } else { 2 };
        self.header.info.stored.saturating_mul(images)
    }

    fn finish(self, last: Text<'_>) -> Result<(AnySparse, Option<RoundedIntegers>)> {
        let MatrixInfo { rows, cols, .. } = self.header.info;
        match &self.progress {
            Progress::Coordinate(tally) => tally.check_all(last, self.header.info.stored)?,
            Progress::Array(elements) => elements.check_all(last)?,
        }
        check_row_claim(rows, size_of::<usize>(), self.values.len().saturating_mul(ENTRY_BYTES))
            .map_err(wrong)?;
        let (major, minor, values) = (self.rows, self.cols, self.values);
        Ok((AnySparse { format: NpzFormat::Coo, rows, cols, major, minor, values }, self.rounded))
    }
}

/// The next elements of an array but zeros.
fn nonzeros<T: Scalar, I: Index>(
    elements: &mut Elements,
    text: Text<'_>,
    header: Header,
) -> Result<Triplets<T, I, I>> {
    let mut found = Triplets { rows: vec![], cols: vec![], values: vec![] };
    elements.read(text, header, |row, col, value: T| {
        if !value.is_zero() {
            found.rows.push(I::cast(row));
            found.cols.push(I::cast(col));
            found.values.push(value);
        }
    })?;
    Ok(found)
}
