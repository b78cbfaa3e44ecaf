//! Decoding of texts from their bytes as they come.
//!
//! Data lines are collected in blocks, which all threads parse while the next ones arrive. So memory has some blocks of
//! lines and the entries, but neither the text nor a dense array.

use super::collector::{Collector, path};
use super::data_lines::DataLines;
use super::header::{self, Field, Header, MatrixInfo};
use crate::any::{AnyIndices, AnyValues, RoundedIntegers};
use crate::csr_from_entries::{ENTRY_BYTES, check_row_claim};
use crate::npz::{AnySparse, NpzFormat};
use crate::source::Contents;
use crate::stream::{Reserve, wrong};
use sparse_core::{Error, Index, Result, c64};

/// Bytes of lines in a block. Measured on two cores of a Zen 5 with 1 MiB of L2 each: lines and entries stay there.
const BLOCK_BYTES: usize = 256 << 10;

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
    entries: Entries,
}

/// Entries by the types of their values and indices.
#[derive(Debug)]
enum Entries {
    RealI32(Collector<f64, i32>),
    RealI64(Collector<f64, i64>),
    ComplexI32(Collector<c64, i32>),
    ComplexI64(Collector<c64, i64>),
}

/// `$result` with the collector of `$entries` as `$of`.
macro_rules! with_collector {
    ($entries:expr, $of:ident => $result:expr) => {
        match $entries {
            Entries::RealI32($of) => $result,
            Entries::RealI64($of) => $result,
            Entries::ComplexI32($of) => $result,
            Entries::ComplexI64($of) => $result,
        }
    };
}

impl TextDecoder {
    pub(crate) fn new() -> Self {
        Self { lines: DataLines::new(usize::MAX), body: None }
    }

    pub(crate) fn push(&mut self, bytes: &[u8], reserve: &mut Reserve<'_>) -> Result<()> {
        for part in bytes.chunks(BLOCK_BYTES) {
            if let Err(stop) = self.lines.add(part) {
                return Err(self.first_error(stop.reading(path()), reserve));
            }
            if self.lines.len() >= BLOCK_BYTES {
                let lines = self.lines.take_whole();
                self.decode(lines, reserve)?;
            }
        }
        Ok(())
    }

    /// The error of a block that was pushed before, if there is one, or else `later`: the first fault of the text is
    /// reported however fast blocks are parsed.
    fn first_error(&mut self, later: Error, reserve: &mut Reserve<'_>) -> Error {
        let Some(decoding) = &mut self.body else { return later };
        with_collector!(&mut decoding.entries, of => of.collect(0, reserve)).err().unwrap_or(later)
    }

    /// The entries, in the order of the file, once all bytes were decoded.
    pub(crate) fn finish(
        mut self,
        reserve: &mut Reserve<'_>,
    ) -> Result<(AnySparse, Option<RoundedIntegers>)> {
        let lines = std::mem::replace(&mut self.lines, DataLines::new(0)).finish();
        self.decode(lines, reserve)?;
        let Some(decoding) = self.body else { return Err(wrong("the text has no header")) };
        decoding.finish(reserve)
    }

    /// Decodes whole lines, the first ones with the header.
    fn decode(&mut self, lines: Contents, reserve: &mut Reserve<'_>) -> Result<()> {
        let decoding = match &mut self.body {
            Some(decoding) => decoding,
            None => {
                let header = header::read(&lines.text(path()))?;
                self.body.insert(Decoding::new(header)?)
            }
        };
        let header = decoding.header;
        // Later blocks have no header.
        decoding.header.body_at = 0;
        with_collector!(&mut decoding.entries, of => of.push(lines, header, reserve))
    }
}

impl Decoding {
    fn new(header: Header) -> Result<Self> {
        i64::try_new("rows", header.info.rows)?;
        i64::try_new("columns", header.info.cols)?;
        Ok(Self { header, entries: Entries::none_of(header.info) })
    }

    fn finish(mut self, reserve: &mut Reserve<'_>) -> Result<(AnySparse, Option<RoundedIntegers>)> {
        let MatrixInfo { rows, cols, .. } = self.header.info;
        with_collector!(&mut self.entries, of => of.finish(reserve))?;
        let rounded = with_collector!(&mut self.entries, of => of.rounded.take());
        let (major, minor, values) = self.entries.into_arrays();
        check_row_claim(rows, size_of::<usize>(), values.len().saturating_mul(ENTRY_BYTES)).map_err(wrong)?;
        Ok((AnySparse { format: NpzFormat::Coo, rows, cols, major, minor, values }, rounded))
    }
}

impl Entries {
    fn none_of(info: MatrixInfo) -> Self {
        let is_narrow = [info.rows, info.cols].iter().all(|&extent| i32::try_from(extent).is_ok());
        match (info.field == Field::Complex, is_narrow) {
            (false, true) => Self::RealI32(Collector::new(info)),
            (false, false) => Self::RealI64(Collector::new(info)),
            (true, true) => Self::ComplexI32(Collector::new(info)),
            (true, false) => Self::ComplexI64(Collector::new(info)),
        }
    }

    /// Rows, columns and values.
    fn into_arrays(self) -> (AnyIndices, AnyIndices, AnyValues) {
        use {AnyIndices as Indices, AnyValues as Values};
        match self {
            Self::RealI32(of) => {
                let of = of.entries;
                (Indices::I32(of.rows), Indices::I32(of.cols), Values::F64(of.values))
            }
            Self::RealI64(of) => {
                let of = of.entries;
                (Indices::I64(of.rows), Indices::I64(of.cols), Values::F64(of.values))
            }
            Self::ComplexI32(of) => {
                let of = of.entries;
                (Indices::I32(of.rows), Indices::I32(of.cols), Values::C64(of.values))
            }
            Self::ComplexI64(of) => {
                let of = of.entries;
                (Indices::I64(of.rows), Indices::I64(of.cols), Values::C64(of.values))
            }
        }
    }
}
