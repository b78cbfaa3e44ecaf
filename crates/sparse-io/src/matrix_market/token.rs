//! Numbers and lines of a text, read by hand.

/// A position in a text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

/// True for blanks within a line. The carriage return is one, so that CRLF ends a line as LF does.
#[inline(always)]
pub(super) fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\x0b' | b'\x0c')
}

/// The number of newlines.
pub(super) fn count_newlines(bytes: &[u8]) -> usize {
    /// Bytes whose newlines are counted in one byte.
    const BLOCK: usize = 192;
    let newlines = |block: &[u8]| block.iter().map(|&byte| u8::from(byte == b'\n')).sum::<u8>();
    bytes.chunks(BLOCK).map(|block| usize::from(newlines(block))).sum()
}

impl<'a> Cursor<'a> {
    /// The position `at` of `bytes`.
    pub(super) fn new(bytes: &'a [u8], at: usize) -> Self {
        Self { bytes, at }
    }

    /// The position as a number of bytes.
    #[inline]
    pub(super) fn position(self) -> usize {
        self.at
    }

    /// The text from the position on.
    #[inline]
    pub(super) fn rest(self) -> &'a [u8] {
        &self.bytes[self.at..]
    }

    /// Skips `length` bytes.
    #[inline]
    pub(super) fn advance(&mut self, length: usize) {
        self.at += length;
    }

    fn peek(self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    pub(super) fn skip_blanks(&mut self) {
        while self.peek().is_some_and(is_blank) {
            self.at += 1;
        }
    }

    /// Goes to the start of the next line.
    pub(super) fn skip_line(&mut self) {
        let newline = self.rest().iter().position(|&byte| byte == b'\n');
        self.at = newline.map_or(self.bytes.len(), |length| self.at + length + 1);
    }

    /// Goes to the first token that is neither on a blank line nor in a comment; `false` at the end of the text.
    pub(super) fn seek_data(&mut self) -> bool {
        loop {
            self.skip_blanks();
            match self.peek() {
                None => return false,
                Some(b'\n') => self.at += 1,
                Some(b'%') => self.skip_line(),
                Some(_) => return true,
            }
        }
    }

    /// Skips the end of the line, if only blanks precede it.
    pub(super) fn end_line(&mut self) -> bool {
        self.skip_blanks();
        match self.peek() {
            None => true,
            Some(b'\n') => {
                self.at += 1;
                true
            }
            Some(_) => false,
        }
    }

    /// True if a token ends here.
    fn at_token_end(self) -> bool {
        self.peek().is_none_or(|byte| is_blank(byte) || byte == b'\n')
    }

    /// The token that starts here, empty at the end of a line.
    pub(super) fn token(self) -> &'a [u8] {
        let rest = self.rest();
        let length = rest.iter().position(|&byte| is_blank(byte) || byte == b'\n').unwrap_or(rest.len());
        &rest[..length]
    }

    /// The next token of the line, if there is one.
    pub(super) fn next_token(&mut self) -> Option<&'a [u8]> {
        self.skip_blanks();
        let token = self.token();
        self.at += token.len();
        (!token.is_empty()).then_some(token)
    }

    /// Reads a non-negative whole number. Stays before the token if it is none.
    pub(super) fn whole(&mut self) -> Option<usize> {
        self.skip_blanks();
        let start = self.at;
        self.at += usize::from(self.peek() == Some(b'+'));
        let value = self.digits();
        if value.is_none() || !self.at_token_end() {
            self.at = start;
            return None;
        }
        value
    }

    /// The number in the digits that start here, if there are any and it fits.
    fn digits(&mut self) -> Option<usize> {
        let rest = self.rest();
        let length = rest.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(rest.len());
        self.at += length;
        str::from_utf8(&rest[..length]).ok()?.parse().ok()
    }

    /// Reads a decimal number, perhaps with a Fortran exponent, or `inf` or `nan`. A finite number that is too large
    /// for `f64` is none. Stays before the token if it is none.
    pub(super) fn real(&mut self) -> Option<f64> {
        self.skip_blanks();
        let token = self.token();
        let finite = |value: &f64| !value.is_infinite() || !token.iter().any(u8::is_ascii_digit);
        let value = real_or_infinite(token).filter(finite)?;
        self.at += token.len();
        Some(value)
    }
}

/// True if a number has only a sign and digits.
pub(super) fn is_integer(number: &[u8]) -> bool {
    let digits = number.strip_prefix(b"-").or(number.strip_prefix(b"+")).unwrap_or(number);
    digits.iter().all(u8::is_ascii_digit)
}

/// The number in `token`; one that is too large becomes infinite.
fn real_or_infinite(token: &[u8]) -> Option<f64> {
    if let Ok(value) = fast_float2::parse(token) {
        return Some(value);
    }
    let mark = token.iter().position(|byte| matches!(byte, b'd' | b'D'))?;
    let mut with_e = token.to_vec();
    with_e[mark] = b'e';
    fast_float2::parse(with_e).ok()
}

/// True if `token` is a number that is too large for `f64`.
pub(super) fn overflows(token: &[u8]) -> bool {
    token.iter().any(u8::is_ascii_digit) && real_or_infinite(token).is_some_and(f64::is_infinite)
}

/// `token` for a message: printable and short.
pub(super) fn show(token: &[u8]) -> String {
    if token.is_empty() {
        return "missing".into();
    }
    const SHOWN: usize = 40;
    let (head, dots) = if token.len() > SHOWN { (&token[..SHOWN], "…") } else { (token, "") };
    format!("`{}{dots}`", head.escape_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn real(text: &str) -> Option<f64> {
        let mut cursor = Cursor::new(text.as_bytes(), 0);
        let value = cursor.real();
        assert_eq!(cursor.position() == text.len(), value.is_some());
        value
    }

    #[test]
    fn usual_and_fortran_numbers_are_read() {
        for (text, value) in [
            ("+3.5", 3.5),
            (".5", 0.5),
            ("5.", 5.0),
            ("007", 7.0),
            ("1.5D+03", 1500.0),
            ("2.5d-01", 0.25),
            ("-1E5", -1e5),
            ("Infinity", f64::INFINITY),
            ("-inf", f64::NEG_INFINITY),
        ] {
            assert_eq!(real(text), Some(value), "{text}");
        }
        assert!(real("NaN").unwrap().is_nan());
    }

    #[test]
    fn half_numbers_are_refused() {
        for text in
            ["1,5", "1.2.3", "1e", "0x1p3", "--1", "1abc", "1e310", "-1D999", "e5", ".", "1e5d3", "1_0"]
        {
            assert_eq!(real(text), None, "{text}");
        }
    }

    #[test]
    fn integers_have_digits_only() {
        for number in ["-12", "+0", "18446744073709551615"] {
            assert!(is_integer(number.as_bytes()), "{number}");
        }
        for number in ["2.5", "1e3", "1.", "inf", "nan"] {
            assert!(!is_integer(number.as_bytes()), "{number}");
        }
    }

    #[test]
    fn whole_numbers_of_any_length_are_read() {
        let whole = |text: &str| Cursor::new(text.as_bytes(), 0).whole();
        for number in (0..64).map(|bits| (1_usize << bits) - 1) {
            assert_eq!(whole(&format!("{number} \u{ff}8888888")), Some(number));
            assert_eq!(whole(&format!("{number}")), Some(number));
            assert_eq!(whole(&format!("000000{number}\n")), Some(number));
            assert_eq!(whole(&format!("{number}/1234567")), None);
            assert_eq!(whole(&format!("{number}:1234567")), None);
        }
    }

    #[test]
    fn whole_numbers_do_not_wrap() {
        let whole = |text: &str| Cursor::new(text.as_bytes(), 0).whole();
        assert_eq!(whole(" +18446744073709551615 "), Some(usize::MAX));
        for text in ["18446744073709551616", "99999999999999999999999", "-1", "1.0", "+", "", "1x"] {
            assert_eq!(whole(text), None, "{text}");
        }
    }
}
