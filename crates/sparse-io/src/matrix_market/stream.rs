//! Texts that are read from front to back: compressed files, pipes and standard input.
//!
//! Only data lines are stored, so that memory is in proportion to the entries: neither blank lines and comments nor
//! entries beyond the claimed number take any.

use super::data_lines::{DataLines, Stop};
use crate::source::{Contents, expansion_limit, has_extension, open};
use flate2::bufread::GzDecoder;
use sparse_core::{Error, Result};
use std::fs::{File, metadata};
use std::io::Read;
use std::path::Path;

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix_market::csr_of;
    use crate::source::Bytes;
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
    fn blank_lines_and_surplus_entries_are_not_stored() {
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
