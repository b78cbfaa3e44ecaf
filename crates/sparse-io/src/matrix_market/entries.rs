//! The lines of a coordinate file, part by part.

use super::header::{Field, Header, MatrixInfo, Symmetry};
use super::token::{Cursor, is_integer, overflows, show};
use crate::source::Text;
use rayon::prelude::*;
use sparse_core::{Result, Scalar, c64};
use std::ops::Range;

/// A coordinate file, cut into parts that threads read on their own.
pub(super) struct Body<'a> {
    pub(super) text: Text<'a>,
    pub(super) header: Header,
    pub(super) parts: Vec<Range<usize>>,
}

impl<'a> Body<'a> {
    /// Cuts the body into `parts` parts of like length, each of whole lines.
    pub(super) fn split(text: Text<'a>, header: Header, parts: usize) -> Self {
        let (start, length) = (header.body_at, text.bytes.len() - header.body_at);
        let cut = |k: usize| {
            let aim = start + (length as u128 * k as u128 / parts as u128) as usize;
            if aim == start {
                return start;
            }
            let mut cursor = Cursor::new(text.bytes, aim - 1);
            cursor.skip_line();
            cursor.position()
        };
        let parts = (0..parts).map(|k| cut(k)..cut(k + 1)).collect();
        Self { text, header, parts }
    }

    /// Looks at all positions, calls `count` with runs of rows, of each entry and of its mirror image, and checks what
    /// can be said without the values. Gives one counter per part.
    pub(super) fn survey<C: Send>(
        &self,
        counter: impl Fn() -> C + Sync,
        count: impl Fn(&mut C, &[usize]) + Sync,
    ) -> Result<Vec<C>> {
        let look = |part: &Range<usize>| {
            let mut counts = counter();
            let survey = self.survey_part(part.clone(), |rows| count(&mut counts, rows))?;
            Ok((survey, counts))
        };
        let looked: Vec<Result<_>> = self.parts.par_iter().map(look).collect();
        let (surveys, counts): (Vec<_>, Vec<_>) =
            looked.into_iter().collect::<Result<Vec<_>>>()?.into_iter().unzip();
        self.check_number(&surveys)?;
        self.check_sides(&surveys)?;
        Ok(counts)
    }

    fn survey_part(&self, part: Range<usize>, count: impl FnMut(&[usize])) -> Result<Survey> {
        let mirrored = self.header.info.symmetry != Symmetry::General;
        let mut entries = self.entries(part);
        let mut survey = Survey::default();
        let mut rows = Runs::new(0, count);
        while entries.next_line() {
            survey.lines += 1;
            if survey.lines > self.header.info.stored {
                return Err(self.surplus(entries.line_at));
            }
            let row = entries.row()?;
            rows.push(row);
            if mirrored {
                let col = entries.col()?;
                if row != col {
                    rows.push(col);
                    let side = if row > col { &mut survey.below } else { &mut survey.above };
                    side.get_or_insert(entries.line_at);
                }
            }
            entries.cursor.skip_line();
        }
        rows.finish();
        Ok(survey)
    }

    fn check_number(&self, surveys: &[Survey]) -> Result<()> {
        let stored = self.header.info.stored;
        let mut before = 0;
        for (survey, part) in surveys.iter().zip(&self.parts) {
            if before + survey.lines > stored {
                return Err(self.surplus(self.line_of(part.clone(), stored - before)));
            }
            before += survey.lines;
        }
        if before < stored {
            let reason = format!("the file ends after {before} entries of {stored}");
            return Err(self.text.error(self.text.bytes.len() - 1, reason));
        }
        Ok(())
    }

    /// Where entry `number` of a part stands.
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

    /// A file with a symmetry stores one triangle; whether a pair in both would count twice is anyone's guess.
    fn check_sides(&self, surveys: &[Survey]) -> Result<()> {
        let below = surveys.iter().find_map(|survey| survey.below);
        let above = surveys.iter().find_map(|survey| survey.above);
        let (Some(below), Some(above)) = (below, above) else {
            return Ok(());
        };
        let reason = "the entries before lie on the other side of the diagonal; one triangle stands for both";
        Err(self.text.error(below.max(above), reason.into()))
    }

    /// Calls `visit` with runs of (row, column, value), of each entry of a part and of its mirror image.
    pub(super) fn visit<T: Scalar>(
        &self,
        part: Range<usize>,
        visit: impl FnMut(&[(usize, usize, T)]),
    ) -> Result<()> {
        let symmetry = self.header.info.symmetry;
        let mut entries = self.entries(part);
        let mut runs = Runs::new((0, 0, T::ZERO), visit);
        while entries.next_line() {
            let (row, col) = (entries.row()?, entries.col()?);
            let value = entries.value(row == col)?;
            runs.push((row, col, entries.convert(value)?));
            if row != col && symmetry != Symmetry::General {
                runs.push((col, row, T::from_c64(mirror(symmetry, value))));
            }
        }
        runs.finish();
        Ok(())
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

/// Hands items on in runs, so that the processor waits for several places in memory at once.
struct Runs<E, F> {
    run: [E; 32],
    filled: usize,
    hand_on: F,
}

impl<E: Copy, F: FnMut(&[E])> Runs<E, F> {
    fn new(filler: E, hand_on: F) -> Self {
        Self { run: [filler; 32], filled: 0, hand_on }
    }

    #[inline(always)]
    fn push(&mut self, item: E) {
        self.run[self.filled] = item;
        self.filled += 1;
        if self.filled == self.run.len() {
            (self.hand_on)(&self.run);
            self.filled = 0;
        }
    }

    fn finish(mut self) {
        (self.hand_on)(&self.run[..self.filled]);
    }
}

/// What one part holds: the number of its lines and the first line on each side of the diagonal.
#[derive(Debug, Default)]
struct Survey {
    lines: usize,
    below: Option<usize>,
    above: Option<usize>,
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

    /// Goes to the next line that holds data; `false` at the end.
    #[inline(always)]
    pub(super) fn next_line(&mut self) -> bool {
        let found = self.cursor.seek_data();
        self.line_at = self.cursor.position();
        found
    }

    /// Reads the row of the entry, from 0.
    #[inline(always)]
    fn row(&mut self) -> Result<usize> {
        self.index("row", self.info.rows)
    }

    /// Reads the column of the entry, from 0.
    #[inline(always)]
    fn col(&mut self) -> Result<usize> {
        self.index("column", self.info.cols)
    }

    #[inline(always)]
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
    #[inline(always)]
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
        if on_diagonal {
            self.check_diagonal(value)?;
        }
        Ok(value)
    }

    #[inline(always)]
    fn number(&mut self) -> Result<f64> {
        self.cursor.skip_blanks();
        let start = self.cursor;
        match self.cursor.real() {
            Some(value) if self.info.field != Field::Integer || is_integer(start.token()) => Ok(value),
            _ => Err(self.error(what_is_wrong_with(start.token(), self.info.field))),
        }
    }

    #[inline(always)]
    fn check_diagonal(&self, value: c64) -> Result<()> {
        match self.info.symmetry {
            Symmetry::SkewSymmetric if value != c64::ZERO => {
                Err(self.error("a skew-symmetric matrix has zeros on its diagonal".into()))
            }
            Symmetry::Hermitian if value.im != 0.0 => {
                Err(self.error("a hermitian matrix has real numbers on its diagonal".into()))
            }
            _ => Ok(()),
        }
    }

    /// `value` rounded to nearest (rule T2).
    #[inline(always)]
    pub(super) fn convert<T: Scalar>(&self, value: c64) -> Result<T> {
        let converted = T::from_c64(value);
        if value.is_finite() && !converted.is_finite() {
            return Err(self.error(format!("{value} does not fit {}", T::DTYPE)));
        }
        Ok(converted)
    }

    /// `reason`, with the line of the entry. Nothing cold takes `self` by reference: its fields stay in registers.
    #[inline(always)]
    pub(super) fn error(&self, reason: String) -> sparse_core::Error {
        let (text, line_at) = (self.text, self.line_at);
        text.error(line_at, reason)
    }
}

#[cold]
fn what_is_wrong_with(value: &[u8], field: Field) -> String {
    match (value, field) {
        (b"", _) => "the value is missing".into(),
        (_, Field::Integer) => format!("{} is not an integer", show(value)),
        _ if overflows(value) => format!("{} does not fit f64", show(value)),
        _ => format!("{} is not a number", show(value)),
    }
}
