//! The lines of a coordinate file, part by part.

use super::header::{Field, Header, MatrixInfo, Symmetry};
use super::plain_lines::{self, Line};
use super::token::{Cursor, count_newlines, is_integer, overflows, show};
use super::triplets::{PartMut, Triplets};
use crate::parallel;
use crate::source::Text;
use sparse_core::error::show_number;
use sparse_core::{DType, Index, Result, Scalar, c64};
use std::ops::Range;

/// A coordinate file, cut into parts that threads read on their own.
pub(super) struct Body<'a> {
    pub(super) text: Text<'a>,
    pub(super) header: Header,
    pub(super) parts: Vec<Range<usize>>,
}

impl<'a> Body<'a> {
    /// Cuts the body into `parts` parts of similar length, each of whole lines.
    pub(super) fn split(text: Text<'a>, header: Header, parts: usize) -> Self {
        Self { text, header, parts: cut(text, header.body_at..text.bytes.len(), parts) }
    }

    /// The lines of one of `partitions` partitions, cut into `parts` parts.
    pub(super) fn of_partition(
        text: Text<'a>,
        header: Header,
        (partition, partitions): (usize, usize),
        parts: usize,
    ) -> Self {
        let own = cut(text, header.body_at..text.bytes.len(), partitions).swap_remove(partition);
        Self { text, header, parts: cut(text, own, parts) }
    }

    /// Reads all entries in the order of the file, and checks the claims of the header.
    pub(super) fn read<T: Scalar, R: Index, C: Index>(&self) -> Result<Triplets<T, R, C>> {
        let (triplets, tallies) = self.read_parts()?;
        let mut tally = Tally::default();
        self.check(tallies, &mut tally)?;
        tally.check_all(self.text, self.header.info.stored)?;
        Ok(triplets)
    }

    /// Reads all entries to the start of `triplets`, which are as many as [`bound`](Self::bound) or more, on this
    /// thread alone.
    pub(super) fn read_alone<T: Scalar, R: Index, C: Index>(
        &self,
        triplets: &mut Triplets<T, R, C>,
    ) -> Result<Tally> {
        let (all, length) = (self.header.body_at..self.text.bytes.len(), triplets.values.len());
        self.read_part(all, triplets.split(&[length]).swap_remove(0))
    }

    /// The most entries of all parts.
    pub(super) fn bound(&self) -> usize {
        self.parts.iter().map(|part| self.bound_of(part)).sum()
    }

    /// Reads the entries of a partition. The caller compares the [`Tally`] with the header's claims.
    pub(super) fn read_partition<T: Scalar, R: Index, C: Index>(&self) -> Result<(Triplets<T, R, C>, Tally)> {
        let (triplets, tallies) = self.read_parts()?;
        let all = tallies.into_iter().reduce(Tally::join).unwrap_or_default();
        Ok((triplets, all))
    }

    /// The most entries of a part.
    fn bound_of(&self, part: &Range<usize>) -> usize {
        let images = if self.header.info.symmetry == Symmetry::General { 1 } else { 2 };
        images * self.count_lines(part.clone())
    }

    fn read_parts<T: Scalar, R: Index, C: Index>(&self) -> Result<(Triplets<T, R, C>, Vec<Tally>)> {
        let bounds = parallel::map(self.parts.clone(), &|part| self.bound_of(&part));
        let mut triplets = Triplets::with_length(bounds.iter().sum());
        let parts = self.parts.iter().cloned().zip(triplets.split(&bounds)).collect();
        let tallies = parallel::map(parts, &|(part, output)| self.read_part(part, output));
        let tallies = tallies.into_iter().collect::<Result<Vec<_>>>()?;
        triplets.close_gaps(&bounds, tallies.iter().map(|tally| tally.entries));
        Ok((triplets, tallies))
    }

    /// Adds the counts of the parts to those of the blocks before, and checks both.
    pub(super) fn check(&self, tallies: Vec<Tally>, tally: &mut Tally) -> Result<()> {
        self.check_number(&tallies, tally.lines)?;
        let before = std::mem::take(tally).before_this_text();
        *tally = tallies.into_iter().fold(before, Tally::join);
        self.check_sides(tally)
    }

    /// Number of lines of a part; stops at the first beyond the claimed number of entries.
    fn count_lines(&self, part: Range<usize>) -> usize {
        let bytes = &self.text.bytes[part];
        let without_newline = bytes.last().is_some_and(|&byte| byte != b'\n');
        (count_newlines(bytes) + usize::from(without_newline)).min(self.header.info.stored)
    }

    /// Reads the entries of a part; the mirror image of an entry follows it.
    fn read_part<T: Scalar, R: Index, C: Index>(
        &self,
        part: Range<usize>,
        mut output: PartMut<'_, T, R, C>,
    ) -> Result<Tally> {
        let MatrixInfo { symmetry, stored, .. } = self.header.info;
        let mut entries = self.entries(part);
        let mut tally = Tally::default();
        while let Some((row, col, value)) = entries.next_entry()? {
            if tally.lines == stored {
                return Err(self.surplus(entries.line_at));
            }
            tally.lines += 1;
            output.push(row, col, entries.convert(value)?);
            if symmetry != Symmetry::General && row != col {
                output.push(col, row, T::from_c64(mirror(symmetry, value)));
                let side = if row > col { &mut tally.below } else { &mut tally.above };
                side.get_or_insert(entries.line_at);
            }
        }
        tally.entries = output.filled;
        Ok(tally)
    }

    /// Fails if there are more entries than the header claims; `before` is the number in the blocks before.
    fn check_number(&self, tallies: &[Tally], mut before: usize) -> Result<()> {
        let stored = self.header.info.stored;
        for (tally, part) in tallies.iter().zip(&self.parts) {
            if before + tally.lines > stored {
                return Err(self.surplus(self.line_of(part.clone(), stored - before)));
            }
            before += tally.lines;
        }
        Ok(())
    }

    /// The position of entry `number` of a part.
    fn line_of(&self, part: Range<usize>, number: usize) -> usize {
        let mut entries = self.entries(part);
        for _ in 0..number {
            entries.next_line();
            entries.cursor.skip_line();
        }
        entries.next_line();
        entries.line_at
    }

    fn surplus(&self, at: usize) -> sparse_core::Error {
        let stored = self.header.info.stored;
        self.text.error(at, format!("the size line claims {stored} entries; this is one more"))
    }

    /// Checks that a file with a symmetry stores one triangle: it is undefined whether a pair in both would count
    /// twice.
    fn check_sides(&self, tally: &Tally) -> Result<()> {
        let (Some(below), Some(above)) = (tally.below, tally.above) else {
            return Ok(());
        };
        let reason = "the entries before lie on the other side of the diagonal; one triangle stands for both";
        Err(self.text.error(below.max(above), reason.into()))
    }

    fn entries(&self, part: Range<usize>) -> Entries<'a> {
        Entries {
            text: self.text,
            info: self.header.info,
            cursor: Cursor::new(&self.text.bytes[..part.end], part.start),
            line_at: part.start,
        }
    }
}

/// Counts of one part: its lines and entries, mirror images included, and the first line on each side of the diagonal.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) lines: usize,
    pub(super) entries: usize,
    pub(super) below: Option<usize>,
    pub(super) above: Option<usize>,
}

impl Tally {
    /// The counts of two parts, this one before the other.
    fn join(self, after: Self) -> Self {
        Self {
            lines: self.lines + after.lines,
            entries: self.entries + after.entries,
            below: self.below.or(after.below),
            above: self.above.or(after.above),
        }
    }

    /// The counts of blocks before a text, whose lines all come before its first one.
    fn before_this_text(self) -> Self {
        Self { below: self.below.map(|_| 0), above: self.above.map(|_| 0), ..self }
    }

    /// Fails if entries are missing at the end of the file, which is that of `text`.
    pub(super) fn check_all(&self, text: Text<'_>, stored: usize) -> Result<()> {
        if self.lines == stored {
            return Ok(());
        }
        let reason = format!("the file ends after {} entries of {stored}", self.lines);
        Err(text.error(text.bytes.len() - 1, reason))
    }
}

/// Cuts bytes of a text into `parts` parts of similar length, each of whole lines, as the bytes are.
fn cut(text: Text<'_>, bytes: Range<usize>, parts: usize) -> Vec<Range<usize>> {
    let cut = |k: usize| {
        let aim = bytes.start + (bytes.len() as u128 * k as u128 / parts as u128) as usize;
        if aim == bytes.start {
            return bytes.start;
        }
        let mut cursor = Cursor::new(text.bytes, aim - 1);
        cursor.skip_line();
        cursor.position()
    };
    (0..parts).map(|k| cut(k)..cut(k + 1)).collect()
}

/// The value opposite to `value`.
pub(super) fn mirror(symmetry: Symmetry, value: c64) -> c64 {
    match symmetry {
        Symmetry::General | Symmetry::Symmetric => value,
        Symmetry::SkewSymmetric => -value,
        Symmetry::Hermitian => value.conj(),
    }
}

/// Reads lines with entries.
pub(super) struct Entries<'a> {
    text: Text<'a>,
    info: MatrixInfo,
    cursor: Cursor<'a>,
    line_at: usize,
}

impl<'a> Entries<'a> {
    /// The lines after the header, all in one part.
    pub(super) fn new(text: Text<'a>, header: &Header) -> Self {
        let cursor = Cursor::new(text.bytes, header.body_at);
        Self { text, info: header.info, cursor, line_at: header.body_at }
    }

    /// Reads the next entry: row and column, from 0, and value.
    #[inline(always)]
    fn next_entry(&mut self) -> Result<Option<(usize, usize, c64)>> {
        match self.plain_entry() {
            None => self.any_entry(),
            entry => Ok(entry),
        }
    }

    /// Reads the next entry if its line is plain and valid.
    #[inline(always)]
    fn plain_entry(&mut self) -> Option<(usize, usize, c64)> {
        let Line { row, col, value, length } = plain_lines::read(self.cursor.rest(), self.info.field)?;
        let (row, col) = (row.wrapping_sub(1), col.wrapping_sub(1));
        let sound = row < self.info.rows
            && col < self.info.cols
            && (row != col || what_is_wrong_on_diagonal(self.info.symmetry, value).is_none());
        if !sound {
            return None;
        }
        self.line_at = self.cursor.position();
        self.cursor.advance(length);
        Some((row, col, value))
    }

    /// Reads the next entry in any form.
    #[inline(never)]
    fn any_entry(&mut self) -> Result<Option<(usize, usize, c64)>> {
        if !self.next_line() {
            return Ok(None);
        }
        let row = self.index("row", self.info.rows)?;
        let col = self.index("column", self.info.cols)?;
        Ok(Some((row, col, self.value(row == col)?)))
    }

    /// Goes to the next data line; `false` at the end.
    pub(super) fn next_line(&mut self) -> bool {
        let found = self.cursor.seek_data();
        self.line_at = self.cursor.position();
        found
    }

    /// Reads a row or a column, from 0.
    fn index(&mut self, what: &str, extent: usize) -> Result<usize> {
        match self.cursor.whole() {
            Some(index) if (1..=extent).contains(&index) => Ok(index - 1),
            Some(index) => Err(self.error(format!("{what} {index} is not in 1..={extent}"))),
            None => Err(self.error(format!(
                "{what} is {}, not a whole number in 1..={extent}",
                show(self.cursor.token())
            ))),
        }
    }

    /// Reads the value and the end of the line.
    pub(super) fn value(&mut self, on_diagonal: bool) -> Result<c64> {
        let value = match self.info.field {
            Field::Pattern => c64::new(1.0, 0.0),
            field => {
                let re = self.number()?;
                c64::new(re, if field == Field::Complex { self.number()? } else { 0.0 })
            }
        };
        if !self.cursor.end_line() {
            return Err(self.error(format!("{} stands after the entry", show(self.cursor.token()))));
        }
        match what_is_wrong_on_diagonal(self.info.symmetry, value) {
            Some(reason) if on_diagonal => Err(self.error(reason.into())),
            _ => Ok(value),
        }
    }

    fn number(&mut self) -> Result<f64> {
        self.cursor.skip_blanks();
        let start = self.cursor;
        match self.cursor.real() {
            Some(value) if self.info.field != Field::Integer || is_integer(start.token()) => Ok(value),
            _ => Err(self.error(what_is_wrong_with(start.token(), self.info.field))),
        }
    }

    /// `value` rounded to nearest.
    #[inline(always)]
    pub(super) fn convert<T: Scalar>(&self, value: c64) -> Result<T> {
        let converted = T::from_c64(value);
        let is_double = const { matches!(T::DTYPE, DType::F64 | DType::C64) };
        if !is_double && value.is_finite() && !converted.is_finite() {
            return Err(self.error(format!("{} does not fit {}", show_number(value), T::DTYPE)));
        }
        Ok(converted)
    }

    /// `reason`, with the line of the entry. Takes `self` by value, so that its fields stay in registers.
    #[inline(always)]
    pub(super) fn error(&self, reason: String) -> sparse_core::Error {
        let (text, line_at) = (self.text, self.line_at);
        text.error(line_at, reason)
    }
}

#[inline(always)]
fn what_is_wrong_on_diagonal(symmetry: Symmetry, value: c64) -> Option<&'static str> {
    match symmetry {
        Symmetry::SkewSymmetric if value != c64::ZERO => {
            Some("a skew-symmetric matrix has zeros on its diagonal")
        }
        Symmetry::Hermitian if value.im != 0.0 => Some("a hermitian matrix has real numbers on its diagonal"),
        _ => None,
    }
}

fn what_is_wrong_with(value: &[u8], field: Field) -> String {
    match (value, field) {
        (b"", _) => "the value is missing".into(),
        (_, Field::Integer) => format!("{} is not an integer", show(value)),
        _ if overflows(value) => format!("{} does not fit f64", show(value)),
        _ => format!("{} is not a number", show(value)),
    }
}
