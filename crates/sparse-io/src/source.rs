//! Where bytes come from: a mapped file, an unpacked `.gz`, or memory.

use flate2::bufread::GzDecoder;
use memmap2::Mmap;
use sparse_core::{Error, Result};
use std::fs::File;
use std::io::Read;
use std::ops::Deref;
use std::path::Path;

/// What a `.gz` file may always unpack to.
const EXPANDED_BYTES: usize = 1 << 30;
/// How many times its own size a larger `.gz` file may unpack to. Matrices in text shrink to a fifth or so.
const EXPANSION: usize = 200;

/// The bytes of a file.
#[derive(Debug)]
pub(crate) enum Bytes {
    Mapped(Mmap),
    Owned(Vec<u8>),
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Mapped(map) => map,
            Self::Owned(bytes) => bytes,
        }
    }
}

/// The bytes of the file at `path`, mapped where it can be.
pub(crate) fn open(path: &Path) -> Result<Bytes> {
    map_or_read(path).map_err(|source| Error::Io { path: path.into(), source })
}

fn map_or_read(path: &Path) -> std::io::Result<Bytes> {
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() || metadata.len() == 0 {
        return std::fs::read(path).map(Bytes::Owned);
    }
    // SAFETY: the mapping is private and only read. As for every reader of mapped files, nobody may shorten or
    // rewrite the file meanwhile; the crate's documentation says so.
    unsafe { Mmap::map(&file) }.map(Bytes::Mapped)
}

/// The text in the file at `path`, unpacked if its name ends in `.gz`.
pub(crate) fn open_text(path: &Path) -> Result<Bytes> {
    let bytes = open(path)?;
    if !has_extension(path, "gz") {
        return Ok(bytes);
    }
    let text = gunzip(&bytes, expansion_limit(bytes.len())).map_err(|reason| Error::File {
        path: path.into(),
        line: None,
        reason,
    })?;
    Ok(Bytes::Owned(text))
}

/// What a packed file of `length` bytes may unpack to.
pub(crate) fn expansion_limit(length: usize) -> usize {
    EXPANDED_BYTES.max(length.saturating_mul(EXPANSION))
}

/// Whether the name of `path` ends in `.extension`, in any case.
pub(crate) fn has_extension(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|found| found.eq_ignore_ascii_case(extension))
}

/// All members of a gzip file, one after the other. Zeros after the last member are padding.
fn gunzip(packed: &[u8], limit: usize) -> Result<Vec<u8>, String> {
    let (mut text, mut rest) = (Vec::new(), packed);
    loop {
        let mut member = GzDecoder::new(rest);
        read_limited(&mut member, &mut text, limit).map_err(|e| format!("not a sound gzip file: {e}"))?;
        rest = member.into_inner();
        if rest.iter().all(|&byte| byte == 0) {
            return Ok(text);
        }
    }
}

/// Appends all that `packed` unpacks to, unless `unpacked` would grow past the limit.
pub(crate) fn read_limited(
    packed: &mut impl Read,
    unpacked: &mut Vec<u8>,
    limit: usize,
) -> std::io::Result<()> {
    let room = limit - unpacked.len();
    packed.take(room as u64 + 1).read_to_end(unpacked)?;
    if unpacked.len() > limit {
        return Err(std::io::Error::other(format!(
            "it unpacks to more than {limit} bytes; unpack it by hand"
        )));
    }
    Ok(())
}

/// A text and the path that errors name.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Text<'a> {
    pub(crate) path: &'a Path,
    pub(crate) bytes: &'a [u8],
}

impl<'a> Text<'a> {
    /// A text that is in memory already.
    pub(crate) fn in_memory(bytes: &'a [u8]) -> Self {
        Self { path: Path::new("<memory>"), bytes }
    }

    /// `reason`, with the line that the byte `at` stands in.
    #[cold]
    pub(crate) fn error(self, at: usize, reason: String) -> Error {
        let newlines = self.bytes[..at].iter().filter(|&&byte| byte == b'\n').count();
        Error::File { path: self.path.into(), line: Some(newlines as u64 + 1), reason }
    }
}

#[cfg(test)]
mod tests {
    use super::gunzip;
    use flate2::{Compression, write::GzEncoder};
    use std::io::Write;

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn members_are_joined_and_zero_padding_is_skipped() {
        let packed = [gzip(b"one "), gzip(b"two"), vec![0; 100]].concat();
        assert_eq!(gunzip(&packed, 7).unwrap(), b"one two");
    }

    #[test]
    fn an_expansion_past_the_limit_is_refused() {
        let bomb = gzip(&[b'1'; 1 << 16]);
        assert!(gunzip(&bomb, 1 << 16).is_ok());
        assert!(gunzip(&bomb, (1 << 16) - 1).unwrap_err().contains("it unpacks to more than"));
        assert!(gunzip(&[bomb.clone(), bomb].concat(), 1 << 16).is_err());
    }

    #[test]
    fn what_is_not_gzip_is_refused() {
        let whole = gzip(b"some text that is cut short");
        for broken in
            [&b"%%MatrixMarket matrix"[..], b"", &whole[..whole.len() - 9], &[&whole[..], b"tail"].concat()]
        {
            assert!(gunzip(broken, 1 << 20).unwrap_err().contains("not a sound gzip file"));
        }
    }
}
