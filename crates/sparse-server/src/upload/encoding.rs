//! `Content-Encoding` of bodies, and their inflation.

use super::Received;
use super::receive::{IN_MEMORY, new_file};
use super::zstd::Frames;
use crate::problem::Problem;
use axum::http::{HeaderMap, StatusCode, header};
use flate2::bufread::ZlibDecoder;
use flate2::read::MultiGzDecoder;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;

/// The compression of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Encoding {
    Identity,
    Gzip,
    /// The format of zlib.
    Deflate,
    Zstd,
}

impl Encoding {
    /// The name that it has in headers.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Identity => "identity",
            Self::Gzip => "gzip",
            Self::Deflate => "deflate",
            Self::Zstd => "zstd",
        }
    }
}

/// The encoding of a body; fails before the first byte for another, or if it says that it is too large.
pub(crate) fn check_headers(headers: &HeaderMap, limit: u64) -> Result<Encoding, Problem> {
    let name = headers.get(header::CONTENT_ENCODING).map(|name| name.to_str().unwrap_or("?"));
    let encoding = match name.map(str::to_ascii_lowercase).as_deref() {
        None | Some("identity") => Encoding::Identity,
        Some("gzip" | "x-gzip") => Encoding::Gzip,
        Some("deflate") => Encoding::Deflate,
        Some("zstd") => Encoding::Zstd,
        Some(other) => {
            let other = other.escape_debug();
            let detail =
                format!("Content-Encoding `{other}`: one of identity, gzip, deflate and zstd is needed");
            return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "encoding", detail));
        }
    };
    let length = headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    match length {
        Some(length) if length > limit => Err(Problem::too_large(limit)),
        Some::<u64>(_) | None => Ok(encoding),
    }
}

/// One stream of zlib, after which nothing may follow.
struct Zlib<R>(ZlibDecoder<R>);

impl<R: BufRead> Read for Zlib<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Self(decoder) = self;
        let read = decoder.read(buffer)?;
        if read == 0 && !buffer.is_empty() && !decoder.get_mut().fill_buf()?.is_empty() {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "bytes follow the end of the stream"));
        }
        Ok(read)
    }
}

/// The contents of a compressed body, in a file.
pub(super) fn inflate(
    received: &Received,
    encoding: Encoding,
    limit: u64,
    folder: &Path,
    extension: &str,
) -> Result<Received, Problem> {
    let compressed: Box<dyn Read> = match received {
        Received::Memory(bytes) => Box::new(&bytes[..]),
        Received::File(file) => Box::new(std::fs::File::open(file.path())?),
    };
    let contents: Box<dyn Read> = match encoding {
        Encoding::Identity => compressed,
        Encoding::Gzip => Box::new(MultiGzDecoder::new(compressed)),
        Encoding::Deflate => Box::new(Zlib(ZlibDecoder::new(BufReader::new(compressed)))),
        Encoding::Zstd => Box::new(Frames::new(BufReader::new(compressed))),
    };
    let (mut contents, mut file) = (contents.take(limit.saturating_add(1)), new_file(folder, extension)?);
    let (mut buffer, mut inflated) = (vec![0; IN_MEMORY], 0);
    loop {
        let wrong =
            |error| Problem::unprocessable(format!("body: Content-Encoding {}: {error}", encoding.name()));
        let read = contents.read(&mut buffer).map_err(wrong)?;
        if read == 0 {
            return Ok(Received::File(file));
        }
        inflated += read as u64;
        if inflated > limit {
            return Err(Problem::too_large(limit));
        }
        file.write_all(&buffer[..read])?;
    }
}
