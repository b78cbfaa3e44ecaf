//! `Content-Encoding` of bodies, and their inflation.

use super::sink::{IN_MEMORY, Sink, new_file};
use super::zstd::Frames;
use super::{NPY_HEADER_BYTES, Received, Upload, check_magic};
use crate::execution::task::Task;
use crate::objects::Store;
use crate::problem::Problem;
use crate::request::media::extension;
use axum::http::{HeaderMap, StatusCode, header};
use flate2::bufread::ZlibDecoder;
use flate2::read::MultiGzDecoder;
use nnz::Error;
use nnz::io::FileKind;
use nnz::io::npy::{self, Layout};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::sync::Arc;

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

/// A body that was received whole and is compressed.
///
/// The worker that needs it inflates it, so that no more bodies are inflated at once than operations run, each within
/// the time of its request and of its tenant.
#[derive(Debug)]
pub(crate) struct Compressed {
    pub(super) received: Received,
    pub(super) encoding: Encoding,
    pub(super) kind: FileKind,
    /// Bytes of the contents.
    pub(super) limit: u64,
    /// The folder of files.
    pub(super) folder: PathBuf,
}

/// The contents of a compressed body as they are inflated, until there are too many or the task is stopped.
struct Contents<'a> {
    inflater: Box<dyn Read + 'a>,
    encoding: Encoding,
    inflated: u64,
    limit: u64,
    /// Makes the error for more bytes than the limit.
    refusal: fn(u64) -> Problem,
    task: &'a Task,
}

impl Compressed {
    fn contents<'a>(&'a self, task: &'a Task) -> Result<Contents<'a>, Problem> {
        let compressed: Box<dyn Read> = match &self.received {
            Received::Memory(bytes) => Box::new(&bytes[..]),
            Received::File(file) => Box::new(File::open(file.path())?),
        };
        let inflater: Box<dyn Read> = match self.encoding {
            Encoding::Identity => compressed,
            Encoding::Gzip => Box::new(MultiGzDecoder::new(compressed)),
            Encoding::Deflate => Box::new(Zlib(ZlibDecoder::new(BufReader::new(compressed)))),
            Encoding::Zstd => Box::new(Frames::new(BufReader::new(compressed))),
        };
        let (encoding, limit) = (self.encoding, self.limit);
        Ok(Contents { inflater, encoding, inflated: 0, limit, refusal: Problem::too_large, task })
    }

    /// The header of the `.npy` file that the body contains.
    pub(super) fn layout(&self, task: &Task) -> Result<Layout, Problem> {
        let mut head = vec![0; NPY_HEADER_BYTES];
        let length = self.contents(task)?.fill(&mut head)?;
        check_magic(&head[..length], FileKind::Npy)?;
        let layout = npy::layout(&head[..length])?;
        if layout.file_bytes > self.limit { Err(Problem::too_large(self.limit)) } else { Ok(layout) }
    }

    /// The `.npy` file that the body contains, in memory: no more bytes of it than its header says.
    pub(crate) fn into_memory(self, task: &Task) -> Result<Received, Problem> {
        let mut contents = self.contents(task)?.within_claim(self.layout(task)?.file_bytes);
        let failed = |_| Problem::from(Error::OutOfMemory { needed: contents.limit, available: None });
        let length = usize::try_from(contents.limit).map_err(Problem::internal)?;
        let mut bytes = vec![];
        bytes.try_reserve_exact(length.saturating_add(1)).map_err(failed)?;
        while contents.append_to(&mut bytes, length)? {}
        Ok(Received::Memory(bytes.into()))
    }

    /// The contents in a file, at most as many bytes of an `.npy` file as its header says.
    pub(super) fn into_file(self, task: &Task) -> Result<Received, Problem> {
        let mut contents = self.contents(task)?;
        if self.kind == FileKind::Npy {
            contents = contents.within_claim(self.layout(task)?.file_bytes);
        }
        let (mut file, mut part) = (new_file(&self.folder, extension(self.kind))?, vec![]);
        while contents.append_to(&mut part, IN_MEMORY)? {
            file.write_all(&part)?;
            part.clear();
        }
        Ok(Received::File(file))
    }

    /// The contents as a body that came without compression: few stay in memory, more are decoded as they are inflated.
    /// Archives and arrays that cannot be go to a file, of which no more bytes may be than the tenant may ever have
    /// memory.
    pub(super) fn into_upload(
        self,
        store: &Arc<Store>,
        tenant: &str,
        task: &Task,
    ) -> Result<Upload, Problem> {
        let (mut contents, mut part) = (self.contents(task)?, vec![]);
        while part.len() <= IN_MEMORY {
            if !contents.append_to(&mut part, IN_MEMORY + 1)? {
                return Ok(Upload::Received(Received::Memory(part.into())));
            }
        }
        let mut sink = Sink::for_matrix(self.kind, &part, (store, tenant), &self.folder)?;
        if let Sink::File(_) = sink {
            contents = contents.within_memory(store.ledger.most_of_tenant());
        }
        loop {
            sink.write(&part)?;
            part.clear();
            if !contents.append_to(&mut part, IN_MEMORY)? {
                return Ok(sink.into_upload());
            }
        }
    }
}

impl Contents<'_> {
    fn within_claim(self, claimed: u64) -> Self {
        let refusal = |claimed| {
            Problem::unprocessable(format!(
                "body: its header says that it has {claimed} bytes, and more follow"
            ))
        };
        Self { limit: claimed, refusal, ..self }
    }

    fn within_memory(self, bytes: u64) -> Self {
        let refusal = |bytes| {
            let detail = format!(
                "inflated, the body has more than {bytes} bytes, which is all the memory that you may use"
            );
            Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too-large", detail)
        };
        if bytes < self.limit { Self { limit: bytes, refusal, ..self } } else { self }
    }

    /// Inflates bytes until the buffer is full, and returns their number, which is less at the end.
    fn fill(&mut self, buffer: &mut [u8]) -> Result<usize, Problem> {
        let (name, mut filled) = (self.encoding.name(), 0);
        while filled < buffer.len() {
            let read = self.inflater.read(&mut buffer[filled..]);
            match read
                .map_err(|error| Problem::unprocessable(format!("body: Content-Encoding {name}: {error}")))?
            {
                0 => break,
                read => filled += read,
            }
        }
        Ok(filled)
    }

    /// Appends the next bytes until there are `length`, but no more than a part of them; false at the end.
    fn append_to(&mut self, bytes: &mut Vec<u8>, length: usize) -> Result<bool, Problem> {
        self.task.check()?;
        let begin = bytes.len();
        // One byte more shows that a body is longer than it may be.
        bytes.resize(begin + (length - begin).clamp(1, IN_MEMORY), 0);
        let filled = self.fill(&mut bytes[begin..])?;
        bytes.truncate(begin + filled);
        self.inflated += filled as u64;
        if self.inflated > self.limit {
            return Err((self.refusal)(self.limit));
        }
        Ok(filled > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn the_inflation_of_a_body_ends_with_its_task() {
        let folder = tempfile::tempdir().unwrap();
        let mut encoder = flate2::write::GzEncoder::new(vec![], flate2::Compression::fast());
        encoder.write_all(&vec![0; 4 * IN_MEMORY]).unwrap();
        let compressed = Compressed {
            received: Received::Memory(encoder.finish().unwrap().into()),
            encoding: Encoding::Gzip,
            kind: FileKind::MatrixMarket,
            limit: u64::MAX,
            folder: folder.path().into(),
        };
        let task = Task::new(Duration::from_secs(60));
        let (mut contents, mut part) = (compressed.contents(&task).unwrap(), vec![]);
        assert!(contents.append_to(&mut part, 2 * IN_MEMORY).unwrap());
        assert_eq!(part.len(), IN_MEMORY);
        task.stop();
        assert_eq!(contents.append_to(&mut part, 2 * IN_MEMORY).unwrap_err().status, StatusCode::CONFLICT);
        drop(contents);
        assert_eq!(compressed.into_file(&task).unwrap_err().status, StatusCode::CONFLICT);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
