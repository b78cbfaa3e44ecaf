//! The entries of a text whose lines come in blocks.

use super::array::Elements;
use super::blocks::Blocks;
use super::entries::{Body, Tally};
use super::header::{Header, Layout, MatrixInfo, Symmetry};
use super::integers;
use super::triplets::Triplets;
use crate::any::RoundedIntegers;
use crate::source::{Contents, Text};
use crate::stream::Reserve;
use sparse_core::{DType, Index, Result, Scalar};
use std::path::Path;

/// The most blocks that are parsed at once, so that a machine of many processors needs no more memory for them.
const MOST_BLOCKS: usize = 16;

/// The path of a stream in errors.
pub(super) fn path() -> &'static Path {
    Path::new("<stream>")
}

/// Entries in the order of their lines.
#[derive(Debug)]
pub(super) struct Collector<T: Scalar, I: Index> {
    pub(super) entries: Triplets<T, I, I>,
    pub(super) rounded: Option<RoundedIntegers>,
    info: MatrixInfo,
    progress: Progress<T, I>,
    /// The last lines whose entries were collected.
    last: Option<Contents>,
}

/// The lines that have been read.
#[derive(Debug)]
enum Progress<T: Scalar, I: Index> {
    /// Entries as coordinates, in blocks that threads parse, and arrays that further blocks may use.
    Coordinate {
        tally: Tally,
        blocks: Blocks<Block<T, I>, Parsed<T, I>>,
        spare: Vec<Triplets<T, I, I>>,
        memory: BlockMemory,
    },
    /// The elements of an array, whose positions follow from their number.
    Array(Elements),
}

/// The memory of blocks, reserved by their numbers and sizes alone: how many there really are at once depends on how
/// fast they are parsed.
#[derive(Debug, Default)]
struct BlockMemory {
    /// The most blocks that there may have been at once.
    blocks: usize,
    /// The most bytes of lines in a block.
    lines: usize,
    /// The most bytes of arrays for a block's entries.
    arrays: usize,
}

/// Lines of coordinates, and arrays for their entries.
#[derive(Debug)]
struct Block<T, I> {
    lines: Contents,
    header: Header,
    entries: Triplets<T, I, I>,
}

/// A block whose entries are the first ones of its arrays.
#[derive(Debug)]
struct Parsed<T, I> {
    block: Block<T, I>,
    tally: Result<Tally>,
    rounded: Option<RoundedIntegers>,
}

impl<T: Scalar, I: Index> Collector<T, I> {
    pub(super) fn new(info: MatrixInfo) -> Self {
        let progress = match info.layout {
            Layout::Coordinate => Progress::Coordinate {
                tally: Tally::default(),
                blocks: Blocks::new(Block::parse),
                spare: vec![],
                memory: BlockMemory::default(),
            },
            Layout::Array => Progress::Array(Elements::of(info)),
        };
        Self { entries: Triplets::with_length(0), rounded: None, info, progress, last: None }
    }

    /// Takes a block of whole lines, the first one with the header, and collects the entries of blocks that have been
    /// parsed.
    pub(super) fn push(&mut self, lines: Contents, header: Header, reserve: &mut Reserve<'_>) -> Result<()> {
        match &mut self.progress {
            Progress::Coordinate { blocks, spare, memory, .. } => {
                let most = rayon::current_num_threads().min(MOST_BLOCKS);
                let length = Body::split(lines.text(path()), header, 1).bound();
                memory.add(most + 1, lines.bytes.len(), Triplets::<T, I, I>::bytes_of(length), reserve)?;
                let mut entries = spare.pop().unwrap_or_else(|| Triplets::with_length(0));
                entries.lengthen(length)?;
                blocks.push(Block { lines, header, entries });
                self.collect(most, reserve)
            }
            Progress::Array(elements) => {
                let text = lines.text(path());
                let found = nonzeros(elements, text, header)?;
                let rounded = integers::rounded(text, header, 1, DType::F64);
                self.entries.append(&found, found.values.len(), self.info.stored, reserve)?;
                self.add_rounded(rounded);
                self.last = Some(lines);
                Ok(())
            }
        }
    }

    /// Collects the entries of all blocks; fails if the text has fewer lines than its header claims.
    pub(super) fn finish(&mut self, reserve: &mut Reserve<'_>) -> Result<()> {
        self.collect(0, reserve)?;
        let Some(last) = &self.last else { return Ok(()) };
        match &self.progress {
            Progress::Coordinate { tally, .. } => tally.check_all(last.text(path()), self.info.stored),
            Progress::Array(elements) => elements.check_all(last.text(path())),
        }
    }

    /// Collects the entries of the blocks that have been parsed, and of more until no more than `most` are left.
    pub(super) fn collect(&mut self, most: usize, reserve: &mut Reserve<'_>) -> Result<()> {
        while let Progress::Coordinate { tally, blocks, spare, .. } = &mut self.progress {
            let parsed = if blocks.len() > most { blocks.take() } else { blocks.take_done() };
            let Some(Parsed { block, tally: parsed, rounded }) = parsed else { break };
            let parsed = parsed?;
            let images = if self.info.symmetry == Symmetry::General { 1 } else { 2 };
            let (count, claimed) = (parsed.entries, self.info.stored.saturating_mul(images));
            Body::split(block.lines.text(path()), block.header, 1).check(vec![parsed], tally)?;
            self.entries.append(&block.entries, count, claimed, reserve)?;
            spare.push(block.entries);
            self.last = Some(block.lines);
            self.add_rounded(rounded);
        }
        Ok(())
    }

    fn add_rounded(&mut self, more: Option<RoundedIntegers>) {
        if let Some(more) = more {
            let count = more.count + self.rounded.as_ref().map_or(0, |before| before.count);
            self.rounded.get_or_insert(more).count = count;
        }
    }
}

impl BlockMemory {
    /// Reserves what another block may need, of at most `most` at once.
    fn add(&mut self, most: usize, lines: usize, arrays: usize, reserve: &mut Reserve<'_>) -> Result<()> {
        let before = self.bytes();
        self.blocks = self.blocks.max(most.min(self.blocks + 1));
        self.lines = self.lines.max(lines);
        self.arrays = self.arrays.max(arrays);
        reserve(self.bytes() - before)
    }

    fn bytes(&self) -> usize {
        self.blocks.saturating_mul(self.lines.saturating_add(self.arrays))
    }
}

impl<T: Scalar, I: Index> Block<T, I> {
    fn parse(mut self) -> Parsed<T, I> {
        let text = self.lines.text(path());
        let tally = Body::split(text, self.header, 1).read_alone(&mut self.entries);
        let rounded = integers::rounded(text, self.header, 1, DType::F64);
        Parsed { block: self, tally, rounded }
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
