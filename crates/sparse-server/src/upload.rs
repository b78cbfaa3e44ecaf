//! Bodies of requests: received with bounded memory, time and size, and read as matrices and arrays.

use crate::config::Limits;
use crate::ledger::Reservation;
use crate::objects::Store;
use crate::problem::Problem;
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, StatusCode, header};
use flate2::read::{MultiGzDecoder, ZlibDecoder};
use http_body_util::BodyExt;
use nnz::io::any::RoundedIntegers;
use nnz::io::npy::{self, NpyArray};
use nnz::io::{Claim, FileKind, MatrixFile, are_rows_too_many};
use nnz::{CompressOptions, DType, DenseMatrix, Device, Error, Format, IndexType, Matrix};
use std::io::{Read, Write};
use std::path::Path;
use std::time::Duration;
use tempfile::NamedTempFile;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, timeout};

/// Bytes that are received before they are written to a file; smaller bodies stay in memory.
const IN_MEMORY: usize = 1 << 20;

/// More bytes than the header of an `.npy` body takes.
const NPY_HEADER_BYTES: usize = 4096;

/// A body that was received whole.
#[derive(Debug)]
pub(crate) enum Received {
    Memory(Vec<u8>),
    File(NamedTempFile),
}

/// The kind of a matrix, by its `Content-Type`.
pub(crate) fn kind_of(headers: &HeaderMap) -> Result<FileKind, Problem> {
    let found = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("");
    kind_of_media(found.split(';').next().unwrap_or("").trim()).ok_or_else(|| {
        let detail = format!(
            "Content-Type `{}`: {NPZ} (SciPy's save_npz), {NPY} (numpy.save) or {MTX} (Matrix Market) is needed",
            found.escape_debug()
        );
        Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "media-type", detail)
    })
}

pub(crate) const NPZ: &str = "application/x-npz";
pub(crate) const NPY: &str = "application/x-npy";
pub(crate) const MTX: &str = "text/x-matrix-market";

pub(crate) fn kind_of_media(media: &str) -> Option<FileKind> {
    match &*media.to_ascii_lowercase() {
        NPZ => Some(FileKind::Npz),
        NPY => Some(FileKind::Npy),
        MTX => Some(FileKind::MatrixMarket),
        _ => None,
    }
}

pub(crate) fn extension(kind: FileKind) -> &'static str {
    match kind {
        FileKind::Npz => ".npz",
        FileKind::Npy => ".npy",
        FileKind::MatrixMarket => ".mtx",
    }
}

/// The compression of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Encoding {
    Identity,
    Gzip,
    /// The format of zlib.
    Deflate,
}

/// The encoding of a body; fails before the first byte for another, or if it says that it is too large.
pub(crate) fn check_headers(headers: &HeaderMap, limit: u64) -> Result<Encoding, Problem> {
    let name = headers.get(header::CONTENT_ENCODING).map(|name| name.to_str().unwrap_or("?"));
    let encoding = match name.map(str::to_ascii_lowercase).as_deref() {
        None | Some("identity") => Encoding::Identity,
        Some("gzip" | "x-gzip") => Encoding::Gzip,
        Some("deflate") => Encoding::Deflate,
        Some(other) => {
            let other = other.escape_debug();
            let detail = format!("Content-Encoding `{other}`: one of identity, gzip and deflate is needed");
            return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "encoding", detail));
        }
    };
    let length = headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    match length {
        Some(length) if length > limit => Err(Problem::too_large(limit)),
        Some::<u64>(_) | None => Ok(encoding),
    }
}

/// Receives a body of at most `limit` bytes, compressed and not.
pub(crate) async fn receive(
    body: Body,
    encoding: Encoding,
    limit: u64,
    limits: &Limits,
    folder: &Path,
    extension: &'static str,
) -> Result<Received, Problem> {
    let received = receive_encoded(body, limit, limits, folder, extension).await?;
    if encoding == Encoding::Identity {
        return Ok(received);
    }
    let folder = folder.to_owned();
    let inflated = spawn_blocking(move || inflate(&received, encoding, limit, &folder, extension));
    inflated.await.map_err(Problem::internal)?
}

/// The contents of a compressed body, in a file.
fn inflate(
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
        Encoding::Deflate => Box::new(ZlibDecoder::new(compressed)),
    };
    let (mut contents, mut file) = (contents.take(limit.saturating_add(1)), new_file(folder, extension)?);
    let (mut buffer, mut inflated) = (vec![0; IN_MEMORY], 0);
    loop {
        let wrong = |error| Problem::unprocessable(format!("body: Content-Encoding {encoding:?}: {error}"));
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

async fn receive_encoded(
    mut body: Body,
    limit: u64,
    limits: &Limits,
    folder: &Path,
    extension: &str,
) -> Result<Received, Problem> {
    let started = Instant::now();
    let (mut buffer, mut file, mut received) = (Vec::new(), None, 0_u64);
    while let Some(frame) = timeout(limits.idle_time, body.frame()).await.map_err(|_| too_slow(limits))? {
        let frame = frame.map_err(|error| Problem::bad_request(format!("the body broke off: {error}")))?;
        let Ok(data) = frame.into_data() else { continue };
        received += data.len() as u64;
        if received > limit {
            let _rest = timeout(limits.idle_time, discard(body)).await;
            return Err(Problem::too_large(limit));
        }
        check_rate(received, started.elapsed(), limits)?;
        if buffer.len() + data.len() > IN_MEMORY {
            let open = file.map_or_else(|| new_file(folder, extension), Ok)?;
            let (written, emptied) = write(open, buffer).await?;
            (file, buffer) = (Some(written), emptied);
        }
        buffer.extend_from_slice(&data);
    }
    match file {
        None => Ok(Received::Memory(buffer)),
        Some(file) => Ok(Received::File(write(file, buffer).await?.0)),
    }
}

/// Reads some more of a body that is refused: a connection that is closed while its client writes can lose the answer.
async fn discard(mut body: Body) {
    let mut discarded = 0;
    while discarded < IN_MEMORY
        && let Some(Ok(frame)) = body.frame().await
    {
        discarded += frame.data_ref().map_or(0, Bytes::len);
    }
}

fn new_file(folder: &Path, extension: &str) -> Result<NamedTempFile, Problem> {
    Ok(tempfile::Builder::new().suffix(extension).tempfile_in(folder)?)
}

/// Appends a buffer, which is empty then, on a thread that may block.
async fn write(mut file: NamedTempFile, mut buffer: Vec<u8>) -> Result<(NamedTempFile, Vec<u8>), Problem> {
    let written = spawn_blocking(move || -> Result<_, Problem> {
        file.write_all(&buffer)?;
        buffer.clear();
        Ok((file, buffer))
    });
    written.await.map_err(Problem::internal)?
}

/// Fails if a client sends so slowly that it only holds the connection.
fn check_rate(received: u64, elapsed: Duration, limits: &Limits) -> Result<(), Problem> {
    let counted = elapsed.saturating_sub(limits.idle_time).as_secs();
    if received < counted.saturating_mul(limits.least_rate) { Err(too_slow(limits)) } else { Ok(()) }
}

fn too_slow(limits: &Limits) -> Problem {
    let detail = format!(
        "the body came too slowly: after {:?} it must reach {} bytes per second",
        limits.idle_time, limits.least_rate
    );
    Problem::new(StatusCode::REQUEST_TIMEOUT, "too-slow", detail)
}

impl Received {
    /// Bytes of the host's memory that the body takes now.
    pub(crate) fn memory_bytes(&self) -> u64 {
        match self {
            Self::Memory(bytes) => bytes.len() as u64,
            Self::File(_) => 0,
        }
    }

    pub(crate) fn len(&self) -> Result<u64, Problem> {
        match self {
            Self::Memory(bytes) => Ok(bytes.len() as u64),
            Self::File(file) => Ok(file.as_file().metadata()?.len()),
        }
    }

    /// Bytes of an array of an `.npy` body: as it was received, as it is read, and as values of `dtype`, or of its own
    /// type without one. Integers of one byte are read as eight.
    pub(crate) fn array_bytes(&self, dtype: Option<DType>) -> Result<u64, Problem> {
        let head = match self {
            Self::Memory(bytes) => {
                MatrixFile::from_reader("body.npy", &bytes[..bytes.len().min(NPY_HEADER_BYTES)])?
            }
            Self::File(file) => MatrixFile::open(file.path())?,
        };
        let (received, read) = (self.len()?, head.value_type()?);
        let elements = received.min(head.claim()?.stored as u64);
        let element = read.bytes() + dtype.unwrap_or(read).bytes();
        Ok(received.saturating_add(elements.saturating_mul(element as u64)))
    }

    /// The array of an `.npy` body.
    pub(crate) fn into_array(self) -> Result<NpyArray, Problem> {
        Ok(match self {
            Self::Memory(bytes) => npy::parse(&bytes)?,
            Self::File(file) => npy::read(file.path())?,
        })
    }

    fn as_matrix_file(&self, kind: FileKind) -> Result<MatrixFile, Problem> {
        let file = match self {
            Self::Memory(bytes) => MatrixFile::from_reader(format!("body{}", extension(kind)), &bytes[..])?,
            Self::File(file) => MatrixFile::open(file.path())?,
        };
        Ok(file)
    }
}

/// Reads a body as a matrix in the device's memory, whose bytes are reserved before they are allocated.
pub(crate) fn read_matrix(
    store: &Store,
    tenant: &str,
    received: Received,
    kind: FileKind,
) -> Result<(Matrix, Reservation), Problem> {
    let body = store.reserve(tenant, received.memory_bytes())?;
    check_magic(&received, kind)?;
    let stack = if kind == FileKind::Npy { stack_of(&received)? } else { None };
    let (matrix, mut reserved) = match stack {
        Some((shape, dtype)) => {
            let reserved = store.reserve_beside(tenant, stack_bytes(shape, dtype)?, body.bytes())?;
            (read_stack(&store.device, received.into_array()?)?, reserved)
        }
        None => {
            let file = received.as_matrix_file(kind)?;
            let reserved = store.reserve_beside(tenant, peak_bytes(&file)?, body.bytes())?;
            (read_sparse(&store.device, &file)?, reserved)
        }
    };
    store.settle(&mut reserved, tenant, matrix.bytes() as u64)?;
    Ok((matrix, reserved))
}

/// Fails if a body begins as one of another kind, compressed text among them.
fn check_magic(received: &Received, kind: FileKind) -> Result<(), Problem> {
    let mut first = [0; 2];
    match received {
        Received::Memory(bytes) => first.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from),
        Received::File(file) => std::fs::File::open(file.path())?.read_exact(&mut first)?,
    }
    let (expected, what) = match kind {
        FileKind::Npz => (b"PK", "an .npz file (a ZIP archive)"),
        FileKind::Npy => (b"\x93N", "an .npy file"),
        FileKind::MatrixMarket => (b"%%", "a Matrix Market file, uncompressed: %%MatrixMarket"),
    };
    if &first == expected {
        return Ok(());
    }
    Err(Problem::unprocessable(format!("body: it does not begin as {what}")))
}

/// The bytes of the result and of entries that are sorted on the way; of offsets those of the file, as they are read,
/// and those of the result.
fn peak_bytes(file: &MatrixFile) -> Result<u64, Problem> {
    let (stored, offsets) = file.claimed_lengths()?;
    let rows = if file.batch_format()?.is_some() { 0 } else { file.claim()?.rows };
    let entry = file.value_type()?.bytes() + size_of::<i64>();
    let offsets = offsets.saturating_mul(3).saturating_add(rows);
    Ok(stored.saturating_mul(4 * entry).saturating_add(offsets.saturating_mul(size_of::<i64>())) as u64)
}

/// The bytes of a stack as it is read, as a batch, and of the offsets of that. Fails if an array of few elements claims
/// so many members or rows that the offsets are most of it.
fn stack_bytes([count, rows, cols]: [usize; 3], dtype: DType) -> Result<u64, Problem> {
    let all_rows = count.saturating_mul(rows);
    let elements = all_rows.saturating_mul(cols);
    if are_rows_too_many(all_rows.max(count), elements) {
        let detail =
            format!("body: {count} members of {rows} rows are too many for an array of {elements} elements");
        return Err(Problem::unprocessable(detail));
    }
    let element = 3 * dtype.bytes() + size_of::<i64>();
    let offsets = all_rows.saturating_add(count).saturating_add(count).saturating_add(1);
    Ok(elements.saturating_mul(element).saturating_add(offsets.saturating_mul(size_of::<i64>())) as u64)
}

fn read_sparse(device: &Device, file: &MatrixFile) -> Result<Matrix, Problem> {
    let dtype = file.value_type()?;
    check_integers(file.rounded_integers::<f64>()?)?;
    if file.batch_format()?.is_some() {
        return Ok(Matrix::read_batch(device, file, dtype)?);
    }
    if file.has_too_many_rows()? {
        let Claim { rows, stored, .. } = file.claim()?;
        return Err(Problem::unprocessable(format!("{rows} rows are too many for {stored} entries")));
    }
    Ok(Matrix::read_csr(device, file, dtype)?)
}

/// The shape of an `.npy` body and the type of its values, if it has three dimensions.
fn stack_of(received: &Received) -> Result<Option<([usize; 3], DType)>, Problem> {
    let (shape, dtype) = match received {
        Received::Memory(bytes) => {
            let array = npy::parse(bytes)?;
            (array.shape, array.values.dtype())
        }
        Received::File(file) => {
            let array = npy::MappedArray::open(file.path())?;
            (array.shape().to_vec(), array.dtype())
        }
    };
    Ok(shape.try_into().ok().map(|shape| (shape, dtype)))
}

/// Fails for integers that no type of the server represents.
pub(crate) fn check_integers(rounded: Option<RoundedIntegers>) -> Result<(), Problem> {
    let Some(RoundedIntegers { count, first, .. }) = rounded else { return Ok(()) };
    let detail =
        format!("body: {count} integers, {first} the first, are no doubles: convert them to f64 first");
    Err(Problem::unprocessable(detail))
}

/// A 3-D array as a batch.
fn read_stack(device: &Device, array: NpyArray) -> Result<Matrix, Problem> {
    let [count, rows, _] = array.shape[..] else {
        return Err(Problem::unprocessable("an array of 2 or 3 dimensions is needed"));
    };
    check_integers(array.values.rounded_integers::<f64>())?;
    let dtype = array.values.dtype();
    let dense = DenseMatrix::from_array(device, array, dtype)?;
    let compress = |index_type| {
        let stack = Some((count, rows));
        let options = CompressOptions { stack, index_type, ..CompressOptions::to(Format::BatchCsr) };
        dense.plan_compress(&options)?.run(&dense)
    };
    match compress(IndexType::I32) {
        Err(Error::IndexOverflow { .. }) => Ok(compress(IndexType::I64)?),
        narrow => Ok(narrow?),
    }
}
