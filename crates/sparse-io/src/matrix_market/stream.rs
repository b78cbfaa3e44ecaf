//! Texts that are read from front to back: compressed files, pipes and standard input.
//!
//! Only data lines are stored, so that memory is in proportion to the entries: neither blank lines and comments nor
//! entries beyond the claimed number take any.

use super::header;
use super::token::is_blank;
use crate::signature::what_it_is;
use crate::source::{Bytes, Contents, Skipped, expansion_limit, has_extension, open};
use flate2::bufread::GzDecoder;
use sparse_core::{Error, Result};
use std::fs::{File, metadata};
use std::io::{self, ErrorKind, Read};
use std::path::Path;

/// The most bytes of a data line. Numbers with hundreds of digits take a few KiB.
const LONGEST_LINE: usize = 64 << 10;
/// Bytes whose line ends are counted in one byte.
const PART: usize = 128;
/// The most bytes of lines that are looked at together.
const STEP: usize = 32 * PART;
/// Bytes per read.
const CHUNK: usize = 64 << 10;

/// The text in the file at `path`: mapped, unless it is compressed or a pipe.
pub(crate) fn open_text(path: &Path) -> Result<Contents> {
    if has_extension(path, "gz") {
        return unpack_text(path, &open(path)?);
    }
    if metadata(path).is_ok_and(|metadata| metadata.is_file()) {
        return Ok(open(path)?.into());
    }
    let file = File::open(path).map_err(|source| Error::Io { path: path.into(), source })?;
    read_text(path, file)
}

/// The data lines of a gzip file.
pub(crate) fn unpack_text(path: &Path, packed: &[u8]) -> Result<Contents> {
    let mut lines = DataLines::new(expansion_limit(packed.len()));
    unpack(packed, &mut lines).map_err(|stop| stop.unpacking(path, packed))?;
    Ok(lines.finish())
}

/// The data lines of an uncompressed text.
pub(crate) fn read_text(path: &Path, text: impl Read) -> Result<Contents> {
    let mut lines = DataLines::new(usize::MAX);
    lines.read(text).map_err(|stop| stop.reading(path))?;
    Ok(lines.finish())
}

/// Decompresses all members, one after the other. Zeros after the last one are padding.
fn unpack(packed: &[u8], lines: &mut DataLines) -> Result<(), Stop> {
    let mut rest = packed;
    loop {
        let mut member = GzDecoder::new(rest);
        lines.read(&mut member)?;
        rest = member.into_inner();
        if lines.is_full() || rest.iter().all(|&byte| byte == 0) {
            return Ok(());
        }
    }
}

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

    fn unpacking(self, path: &Path, packed: &[u8]) -> Error {
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
    /// In a comment.
    Comment,
    /// In a data line.
    Data,
}

/// Collects the data lines of a text. The first line, which is the banner, is always stored.
#[derive(Debug)]
pub(super) struct DataLines {
    bytes: Vec<u8>,
    state: State,
    /// The start of the last stored line.
    line_at: usize,
    /// Number of stored lines that have ended, those that were taken among them.
    kept: usize,
    /// Number of lines that were taken.
    taken: usize,
    /// The most lines to store: the header, then one more than the header claims.
    most: usize,
    /// Number of lines left out or taken so far.
    left_out: u64,
    skipped: Vec<Skipped>,
    /// The most bytes to store.
    limit: usize,
}

impl DataLines {
    /// Banner and size line.
    const HEADER_LINES: usize = 2;

    pub(super) fn new(limit: usize) -> Self {
        Self {
            bytes: Vec::new(),
            state: State::Data,
            line_at: 0,
            kept: 0,
            taken: 0,
            most: Self::HEADER_LINES,
            left_out: 0,
            skipped: Vec::new(),
            limit,
        }
    }

    /// Number of bytes of stored lines.
    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Takes the stored lines but the last one, which may not have ended, and stands for the end of the file if no other
    /// follows. Those of the header are taken together.
    pub(super) fn take_whole(&mut self) -> Contents {
        let before_end = self.bytes.len().saturating_sub(1);
        let last =
            self.bytes[..before_end].iter().rposition(|&byte| byte == b'\n').map_or(0, |newline| newline + 1);
        // As long as the block that is taken: a buffer that grows is copied.
        let mut rest = Vec::with_capacity(self.bytes.capacity());
        rest.extend_from_slice(&self.bytes[last..]);
        self.bytes.truncate(last);
        self.line_at = self.line_at.saturating_sub(last);
        let taken = self.kept - self.taken - usize::from(rest.last() == Some(&b'\n'));
        self.taken += taken;
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

    /// True if no more lines are stored: there is one too many, or the header is invalid.
    fn is_full(&self) -> bool {
        self.kept == self.most
    }

    fn read(&mut self, mut text: impl Read) -> Result<(), Stop> {
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

    pub(super) fn add(&mut self, mut text: &[u8]) -> Result<(), Stop> {
        while !text.is_empty() && !self.is_full() {
            text = match self.state {
                State::Start => self.skip_blanks(text),
                State::Comment => self.skip_comment(text),
                State::Data => self.keep_lines(text)?,
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
    fn keep_lines<'a>(&mut self, text: &'a [u8]) -> Result<&'a [u8], Stop> {
        let (mut end, mut line_length) = (0, self.bytes.len() - self.line_at);
        let is_whole = loop {
            if let Some((lines, length)) = plain_lines(&text[end..])
                && self.has_header_and_takes(lines)
                && line_length + length <= LONGEST_LINE
            {
                self.kept += lines;
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
                    line: Some((self.kept - self.taken) as u64 + self.left_out + 1),
                    reason,
                });
            }
            if newline.is_none() {
                break false;
            }
            self.kept += 1;
            line_length = 0;
            let goes_on = self.kept != Self::HEADER_LINES && !self.is_full();
            if !goes_on || !text.get(end).is_some_and(u8::is_ascii_digit) {
                break true;
            }
        };
        if end > self.limit - self.bytes.len() {
            let reason = format!("it unpacks to more than {} bytes; unpack it by hand", self.limit);
            return Err(Stop::Text { line: None, reason });
        }
        self.bytes.extend_from_slice(&text[..end]);
        self.line_at = self.bytes.len() - line_length;
        if is_whole {
            self.end_line();
        }
        Ok(&text[end..])
    }

    /// True if so many more lines are stored, none of which ends the header or is the last one.
    fn has_header_and_takes(&self, lines: usize) -> bool {
        self.kept >= Self::HEADER_LINES && lines < self.most - self.kept
    }

    fn end_line(&mut self) {
        self.state = State::Start;
        if self.kept == Self::HEADER_LINES
            && let Some(claimed) = header::claimed_lines(&self.bytes)
        {
            self.most = claimed.saturating_add(Self::HEADER_LINES + 1);
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

/// The number and the bytes of whole lines at the start of a text, [`STEP`] bytes at most, of which each but the first
/// starts with a digit, as does what follows them; none if no line can be told to be one.
fn plain_lines(text: &[u8]) -> Option<(usize, usize)> {
    let (mut lines, mut length) = (0, 0);
    while length < STEP
        && let Some(part) = text[length..].first_chunk::<{ PART + 1 }>()
    {
        // Without branches, so that many bytes are compared at once.
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
    use crate::matrix_market::csr_of;
    use flate2::{Compression, write::GzEncoder};
    use sparse_core::{Csr, Host};
    use std::io::{Write, repeat};

    const PATH: &str = "a.mtx";

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn csr(contents: &Contents) -> Result<Csr<f64, Host, i32, i32>> {
        csr_of(contents.text(Path::new(PATH)))
    }

    /// The entries, or the error.
    fn outcome(read: Result<Csr<f64, Host, i32, i32>>) -> Result<Vec<(usize, usize, f64)>, String> {
        read.map(|matrix| matrix.triplets().collect()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_stream_reads_as_a_file_does() {
        let head = "%%MatrixMarket matrix coordinate real general\n% note\n\n 2 2 2 \n";
        let bodies = [
            "1 1 1\n%\n\n \t2 2 2\n\n%",
            "1 1 1\n2 2 2",
            "1 1 1\n\n\n%\n\n",
            "\n\n%\n1 1 1\n \n3 1 1\n",
            "1 1 1\n%%\n\n2 2 2\n% %\n1 2 3\n1 2 4\n1 2 5\n",
            "1 1 1 % no\n",
            "",
        ];
        let texts = bodies.iter().map(|body| format!("{head}{body}"));
        let broken =
            ["\n%%MatrixMarket matrix coordinate real general\n1 1 0\n", "", "%%MatrixMarket\n\n\n", head];
        for text in texts.chain(broken.map(String::from)) {
            let whole = csr(&Bytes::Owned(text.clone().into_bytes()).into());
            let streamed = read_text(Path::new(PATH), text.as_bytes()).and_then(|contents| csr(&contents));
            assert_eq!(outcome(streamed), outcome(whole), "{text:?}");
        }
    }

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

    #[test]
    fn what_holds_no_data_is_not_kept() {
        const LENGTH: u64 = 1 << 20;
        let head = &b"%%MatrixMarket matrix coordinate real general\n1 1 1\n"[..];
        let text = head.chain(repeat(b'\n').take(LENGTH)).chain(&b"%"[..]).chain(repeat(b'x').take(LENGTH));
        let text = text.chain(&b"\n1 1 7\n"[..]).chain(repeat(b' ').take(LENGTH));
        let contents = read_text(Path::new(PATH), text).unwrap();
        assert_eq!(csr(&contents).unwrap().values(), &[7.0]);
        assert!(contents.bytes.len() < 100);
        let surplus = head.chain(&b"1 1 7\n"[..]).chain(repeat(b'1').take(LENGTH));
        assert!(
            read_text(Path::new(PATH), surplus)
                .unwrap_err()
                .to_string()
                .contains("line 4: the line has more")
        );
        let surplus = [head, &b"1 1 7\n".repeat(1000)].concat();
        let contents = read_text(Path::new(PATH), &surplus[..]).unwrap();
        assert!(contents.bytes.len() < 100);
        assert!(csr(&contents).unwrap_err().to_string().contains("line 4: the size line claims 1 entries"));
    }

    #[test]
    fn members_are_joined_and_zero_padding_is_skipped() {
        let packed = [gzip(b"one "), gzip(b"two"), vec![0; 100]].concat();
        assert_eq!(&unpack_text(Path::new(PATH), &packed).unwrap().bytes[..], b"one two");
    }

    #[test]
    fn an_expansion_past_the_limit_is_refused() {
        let text = b"%%MatrixMarket matrix coordinate real general\n1 1 9\n1 1 1\n1 1 1\n";
        let refusal = |limit| {
            unpack(&gzip(text), &mut DataLines::new(limit))
                .map_err(|stop| stop.unpacking(Path::new(PATH), text))
        };
        refusal(text.len()).unwrap();
        assert!(refusal(text.len() - 1).unwrap_err().to_string().contains("it unpacks to more than"));
    }

    #[test]
    fn what_is_not_gzip_is_refused() {
        let whole = gzip(b"some text that is cut short");
        for broken in
            [&b"%%MatrixMarket matrix"[..], b"", &whole[..whole.len() - 9], &[&whole[..], b"tail"].concat()]
        {
            let error = unpack_text(Path::new(PATH), broken).unwrap_err().to_string();
            assert!(error.contains("not a sound gzip file"), "{error}");
        }
    }
}
