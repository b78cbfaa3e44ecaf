//! The data lines of a text, collected as its bytes come.

use super::header;
use super::token::is_blank;
use crate::signature::what_it_is;
use crate::source::{Bytes, Contents, Skipped};
use sparse_core::Error;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

/// The most bytes of a data line. Numbers with hundreds of digits take a few KiB.
const LONGEST_LINE: usize = 64 << 10;
/// Bytes whose newlines are counted in a `u8`.
const PART: usize = 128;
/// The most bytes that one call of [`plain_lines`] scans.
const STEP: usize = 32 * PART;
/// Bytes per read.
const CHUNK: usize = 64 << 10;

/// The reason why a text is not read to its end.
#[derive(Debug)]
pub(super) enum Stop {
    Read(io::Error),
    Text { line: Option<u64>, reason: String },
}

impl Stop {
    pub(super) fn reading(self, path: &Path) -> Error {
        match self {
            Self::Read(source) => Error::Io { path: path.into(), source },
            Self::Text { line, reason } => Error::File { path: path.into(), line, reason },
        }
    }

    pub(super) fn unpacking(self, path: &Path, packed: &[u8]) -> Error {
        let text = match self {
            Self::Read(error) => {
                let kind = what_it_is(packed, b"\x1f\x8b");
                Self::Text { line: None, reason: format!("not a sound gzip file: {error}{kind}") }
            }
            text => text,
        };
        text.reading(path)
    }
}

/// The position in a line where the next text continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// At the start of the line, or among its leading blanks.
    Start,
    /// Inside a comment.
    Comment,
    /// Inside a data line.
    Data,
}

/// Collects the data lines of a text. The first line, which is the banner, is always stored.
#[derive(Debug)]
pub(super) struct DataLines {
    bytes: Vec<u8>,
    state: State,
    /// The start of the last stored line.
    line_at: usize,
    /// Complete lines stored so far, including those that [`take_whole`](Self::take_whole) has returned.
    stored_lines: usize,
    /// Lines that [`take_whole`](Self::take_whole) has returned.
    taken_lines: usize,
    /// The most lines to store: those of the header, those that it claims, and one more, which is an error.
    max_lines: usize,
    /// Lines skipped (blank, comments) or returned by [`take_whole`](Self::take_whole) so far.
    left_out: u64,
    skipped: Vec<Skipped>,
    /// The most bytes to store.
    max_bytes: usize,
}

impl DataLines {
    /// Banner and size line.
    const HEADER_LINES: usize = 2;

    pub(super) fn new(max_bytes: usize) -> Self {
        Self {
            bytes: Vec::new(),
            state: State::Data,
            line_at: 0,
            stored_lines: 0,
            taken_lines: 0,
            max_lines: Self::HEADER_LINES,
            left_out: 0,
            skipped: Vec::new(),
            max_bytes,
        }
    }

    /// Number of bytes of stored lines.
    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Removes and returns the stored lines except the last one, which may be incomplete, or the last of the file.
    /// Lines of the header are returned together.
    pub(super) fn take_whole(&mut self) -> Contents {
        let before_end = self.bytes.len().saturating_sub(1);
        let last =
            self.bytes[..before_end].iter().rposition(|&byte| byte == b'\n').map_or(0, |newline| newline + 1);
        // The same capacity again, so that the next block does not reallocate.
        let mut rest = Vec::with_capacity(self.bytes.capacity());
        rest.extend_from_slice(&self.bytes[last..]);
        self.bytes.truncate(last);
        self.line_at = self.line_at.saturating_sub(last);
        let taken = self.stored_lines - self.taken_lines - usize::from(rest.last() == Some(&b'\n'));
        self.taken_lines += taken;
        let at_rest = self.skipped.partition_point(|skipped| skipped.at <= last);
        let later = self.skipped.split_off(at_rest);
        let before = self.skipped.last().map_or(0, |skipped| skipped.lines);
        self.left_out += taken as u64;
        let base = Skipped { at: 0, lines: before + taken as u64 };
        let moved = later
            .into_iter()
            .map(|skipped| Skipped { at: skipped.at - last, lines: skipped.lines + taken as u64 });
        let skipped = std::mem::replace(&mut self.skipped, std::iter::once(base).chain(moved).collect());
        Contents { bytes: Bytes::Owned(std::mem::replace(&mut self.bytes, rest)), skipped }
    }

    /// True if no more lines are stored: one exceeds the claimed number, or the header is invalid.
    pub(super) fn is_full(&self) -> bool {
        self.stored_lines == self.max_lines
    }

    /// Reads a text to its end, or until [`is_full`](Self::is_full).
    pub(super) fn read(&mut self, mut text: impl Read) -> Result<(), Stop> {
        let mut chunk = vec![0; CHUNK];
        while !self.is_full() {
            match text.read(&mut chunk) {
                Ok(0) => break,
                Ok(length) => self.add(&chunk[..length])?,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(Stop::Read(error)),
            }
        }
        Ok(())
    }

    /// Adds the next bytes of the text.
    pub(super) fn add(&mut self, mut text: &[u8]) -> Result<(), Stop> {
        while !text.is_empty() && !self.is_full() {
            text = match self.state {
                State::Start => self.skip_blanks(text),
                State::Comment => self.skip_comment(text),
                State::Data => self.store_lines(text)?,
            };
        }
        Ok(())
    }

    /// Skips blanks; returns the rest of the text.
    fn skip_blanks<'a>(&mut self, text: &'a [u8]) -> &'a [u8] {
        let length = text.iter().position(|&byte| byte != b'\n' && !is_blank(byte)).unwrap_or(text.len());
        let (blanks, rest) = text.split_at(length);
        self.left_out += blanks.iter().filter(|&&byte| byte == b'\n').count() as u64;
        match rest.first() {
            None => {}
            Some(b'%') => self.state = State::Comment,
            Some(_) => {
                self.state = State::Data;
                self.line_at = self.bytes.len();
                self.note_skipped(self.line_at);
            }
        }
        rest
    }

    fn skip_comment<'a>(&mut self, text: &'a [u8]) -> &'a [u8] {
        let Some(length) = text.iter().position(|&byte| byte == b'\n') else {
            return &[];
        };
        self.left_out += 1;
        self.state = State::Start;
        &text[length + 1..]
    }

    /// Stores the rest of a line, and the lines that follow as long as they start with a digit.
    fn store_lines<'a>(&mut self, text: &'a [u8]) -> Result<&'a [u8], Stop> {
        let (mut end, mut line_length) = (0, self.bytes.len() - self.line_at);
        let is_whole = loop {
            if let Some((lines, length)) = plain_lines(&text[end..])
                && self.stores_more_than(lines)
                && line_length + length <= LONGEST_LINE
            {
                self.stored_lines += lines;
                line_length = 0;
                end += length;
                continue;
            }
            let newline = text[end..].iter().position(|&byte| byte == b'\n');
            let length = newline.map_or(text.len() - end, |length| length + 1);
            line_length += length;
            end += length;
            if line_length > LONGEST_LINE {
                let reason = format!("the line has more than {LONGEST_LINE} bytes");
                return Err(Stop::Text {
                    line: Some((self.stored_lines - self.taken_lines) as u64 + self.left_out + 1),
                    reason,
                });
            }
            if newline.is_none() {
                break false;
            }
            self.stored_lines += 1;
            line_length = 0;
            let continues = self.stored_lines != Self::HEADER_LINES && !self.is_full();
            if !continues || !text.get(end).is_some_and(u8::is_ascii_digit) {
                break true;
            }
        };
        if end > self.max_bytes - self.bytes.len() {
            let reason = format!("it unpacks to more than {} bytes; unpack it by hand", self.max_bytes);
            return Err(Stop::Text { line: None, reason });
        }
        self.bytes.extend_from_slice(&text[..end]);
        self.line_at = self.bytes.len() - line_length;
        if is_whole {
            self.end_line();
        }
        Ok(&text[end..])
    }

    /// True if the header is complete and more than `lines` further lines may be stored.
    fn stores_more_than(&self, lines: usize) -> bool {
        self.stored_lines >= Self::HEADER_LINES && lines < self.max_lines - self.stored_lines
    }

    fn end_line(&mut self) {
        self.state = State::Start;
        if self.stored_lines == Self::HEADER_LINES
            && let Some(claimed) = header::claimed_lines(&self.bytes)
        {
            self.max_lines = claimed.saturating_add(Self::HEADER_LINES + 1);
        }
    }

    /// Records the number of lines left out before the byte `at`.
    fn note_skipped(&mut self, at: usize) {
        if self.left_out > self.skipped.last().map_or(0, |skipped| skipped.lines) {
            self.skipped.push(Skipped { at, lines: self.left_out });
        }
    }

    pub(super) fn finish(mut self) -> Contents {
        self.left_out += u64::from(self.state == State::Comment);
        self.note_skipped(self.bytes.len().saturating_sub(1));
        Contents { bytes: Bytes::Owned(self.bytes), skipped: self.skipped }
    }
}

/// The number of whole lines at the start of `text` and their bytes, at most [`STEP`]. Each line after the first starts
/// with a digit, and so does the rest of the text. `None` if there is no such line.
fn plain_lines(text: &[u8]) -> Option<(usize, usize)> {
    let (mut lines, mut length) = (0, 0);
    while length < STEP
        && let Some(part) = text[length..].first_chunk::<{ PART + 1 }>()
    {
        // No branches, so that the loop vectorizes.
        let (mut newlines, mut odd) = (0_u8, 0);
        for (byte, next) in part.iter().zip(&part[1..]) {
            let newline = u8::from(*byte == b'\n');
            newlines += newline;
            odd |= newline & u8::from(!next.is_ascii_digit());
        }
        if odd != 0 {
            break;
        }
        lines += usize::from(newlines);
        length += PART;
    }
    let last = text[..length].iter().rposition(|&byte| byte == b'\n')?;
    Some((lines, last + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_start_with_digits_are_taken_together() {
        let lines = |count: usize| b"12 3 4.5\n".repeat(count);
        assert_eq!(plain_lines(&lines(20)), Some((14, 14 * 9)));
        let (number, bytes) = plain_lines(&lines(2000)).unwrap();
        assert!(bytes == 9 * number && (STEP - 9..=STEP).contains(&bytes), "{number} lines of {bytes} bytes");
        for odd in ["\n", " 1 2 3\n", "% note\n", "\r\n", "x\n"] {
            let text = [lines(30), odd.into(), lines(100)].concat();
            let (number, bytes) = plain_lines(&text).unwrap();
            assert!(bytes == 9 * number && number < 30, "{number} lines before {odd:?}");
            assert_eq!(plain_lines(&text[29 * 9..]), None, "{odd:?}");
        }
        assert_eq!((plain_lines(b"1 2\n3 4\n"), plain_lines(&[b'1'; 2 * STEP])), (None, None));
    }
}
