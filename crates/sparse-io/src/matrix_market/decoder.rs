//! Decoding of texts from their bytes as they come.
//!
//! Data lines are collected in blocks, which all threads parse as they parse a mapped file. So memory has one block of
//! lines and the entries, but neither the text nor a dense array.

use super::array::Elements;
use super::data_lines::DataLines;
use super::entries::{Body, Tally};
use super::header::{self, Field, Header, Layout, MatrixInfo, Symmetry};
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
    entries: Entries,
    rounded: Option<RoundedIntegers>,
}

/// Entries by the types of their values and indices.
#[derive(Debug)]
enum Entries {
    RealI32(Triplets<f64, i32, i32>),
    RealI64(Triplets<f64, i64, i64>),
    ComplexI32(Triplets<c64, i32, i32>),
    ComplexI64(Triplets<c64, i64, i64>),
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
                // Later blocks have no header.
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
        let info = header.info;
        i64::try_new("rows", info.rows)?;
        i64::try_new("columns", info.cols)?;
        let progress = match info.layout {
            Layout::Coordinate => Progress::Coordinate(Tally::default()),
            Layout::Array => Progress::Array(Elements::of(info)),
        };
        Ok(Self { header, progress, entries: Entries::none_of(info), rounded: None })
    }

    fn read(&mut self, text: Text<'_>, reserve: &mut Reserve<'_>) -> Result<()> {
        let (header, progress) = (self.header, &mut self.progress);
        match &mut self.entries {
            Entries::RealI32(entries) => read_to(entries, progress, text, header, reserve)?,
            Entries::RealI64(entries) => read_to(entries, progress, text, header, reserve)?,
            Entries::ComplexI32(entries) => read_to(entries, progress, text, header, reserve)?,
            Entries::ComplexI64(entries) => read_to(entries, progress, text, header, reserve)?,
        }
        if let Some(more) = integers::rounded(text, header, parts(&text), DType::F64) {
            let count = more.count + self.rounded.as_ref().map_or(0, |before| before.count);
            self.rounded.get_or_insert(more).count = count;
        }
        Ok(())
    }

    fn finish(self, last: Text<'_>) -> Result<(AnySparse, Option<RoundedIntegers>)> {
        let MatrixInfo { rows, cols, .. } = self.header.info;
        match &self.progress {
            Progress::Coordinate(tally) => tally.check_all(last, self.header.info.stored)?,
            Progress::Array(elements) => elements.check_all(last)?,
        }
        let (major, minor, values) = self.entries.into_arrays();
        check_row_claim(rows, size_of::<usize>(), values.len().saturating_mul(ENTRY_BYTES)).map_err(wrong)?;
        Ok((AnySparse { format: NpzFormat::Coo, rows, cols, major, minor, values }, self.rounded))
    }
}

impl Entries {
    fn none_of(MatrixInfo { rows, cols, field, .. }: MatrixInfo) -> Self {
        let is_narrow = [rows, cols].iter().all(|&extent| i32::try_from(extent).is_ok());
        match (field == Field::Complex, is_narrow) {
            (false, true) => Self::RealI32(Triplets::with_length(0)),
            (false, false) => Self::RealI64(Triplets::with_length(0)),
            (true, true) => Self::ComplexI32(Triplets::with_length(0)),
            (true, false) => Self::ComplexI64(Triplets::with_length(0)),
        }
    }

    /// Rows, columns and values.
    fn into_arrays(self) -> (AnyIndices, AnyIndices, AnyValues) {
        use {AnyIndices as Indices, AnyValues as Values};
        match self {
            Self::RealI32(of) => (Indices::I32(of.rows), Indices::I32(of.cols), Values::F64(of.values)),
            Self::RealI64(of) => (Indices::I64(of.rows), Indices::I64(of.cols), Values::F64(of.values)),
            Self::ComplexI32(of) => (Indices::I32(of.rows), Indices::I32(of.cols), Values::C64(of.values)),
            Self::ComplexI64(of) => (Indices::I64(of.rows), Indices::I64(of.cols), Values::C64(of.values)),
        }
    }
}

/// Adds the entries of a block.
fn read_to<T: Scalar, I: Index>(
    entries: &mut Triplets<T, I, I>,
    progress: &mut Progress,
    text: Text<'_>,
    header: Header,
    reserve: &mut Reserve<'_>,
) -> Result<()> {
    let (at, most) = (entries.values.len(), most_entries(header.info));
    match progress {
        Progress::Coordinate(tally) => {
            let body = Body::split(text, header, parts(&text));
            let bounds = body.bounds();
            entries.extend(bounds.iter().sum(), most, reserve)?;
            body.read_block(entries, (at, &bounds), tally)
        }
        Progress::Array(elements) => {
            let block = nonzeros(elements, text, header)?;
            entries.extend(block.values.len(), most, reserve)?;
            entries.rows[at..].copy_from_slice(&block.rows);
            entries.cols[at..].copy_from_slice(&block.cols);
            entries.values[at..].copy_from_slice(&block.values);
            Ok(())
        }
    }
}

/// The most entries that a header claims, mirror images included.
fn most_entries(info: MatrixInfo) -> usize {
    let images = if info.symmetry == Symmetry::General { 1 } else { 2 };
    info.stored.saturating_mul(images)
}

/// The next elements of an array, without zeros.
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
