//! Bodies of requests: received with bounded memory, time and size, and read as matrices and arrays.

mod body_buffer;
mod decoding;
mod device_array;
mod encoding;
mod matrix;
mod receive;
#[cfg(unix)]
pub(crate) mod resumable;
mod sink;
mod zstd;

use crate::config::Limits;
use crate::execution::task::Task;
use crate::problem::Problem;
use crate::request::media::{MTX, NPY, NPZ, extension, kind_of_media};
use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use nnz::DType;
use nnz::io::npy::{self, Layout, NpyArray};
use nnz::io::{FileKind, MatrixFile};
use std::borrow::Cow;
use std::fmt::Display;
use std::io::Read;
#[cfg(unix)]
use std::{io::Write, path::Path};
use tempfile::NamedTempFile;

use body_buffer::BodyBuffer;
use decoding::Decoding;
pub(crate) use device_array::{CUDA, DeviceArray, DeviceCsr, RESULT_ARRAY};
pub(crate) use encoding::{Compressed, Encoding, check_headers};
pub(crate) use matrix::{check_integers, read_matrix};
pub(crate) use receive::{Incoming, Reception};
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use zstd::Frames;

/// More bytes than the header of an `.npy` body takes.
const NPY_HEADER_BYTES: usize = 4096;

/// A body that was received whole.
#[derive(Debug)]
pub(crate) enum Received {
    Memory(BodyBuffer),
    File(NamedTempFile),
}

/// The body of an upload.
#[derive(Debug)]
pub(crate) enum Upload {
    Received(Received),
    Compressed(Box<Compressed>),
    /// It was decoded as it came.
    Decoded(Box<Decoding>),
    /// It names arrays of the client on the device.
    OnDevice(Box<DeviceCsr>),
}

/// The body of an operation that takes an array.
#[derive(Debug)]
pub(crate) enum ArrayBody {
    Received(Received),
    Compressed(Compressed),
    /// It names an array of the client on the device.
    OnDevice(DeviceArray),
}

impl ArrayBody {
    /// The array that a body of [`CUDA`] names.
    pub(crate) async fn on_device(body: Body, limits: &Limits) -> Result<Self, Problem> {
        DeviceArray::receive(body, limits).await.map(Self::OnDevice)
    }

    /// Bytes of the array: as it was received, as it is inflated, as it is read, and as values of `dtype`, or of its
    /// own type without one. Integers of one byte are read as eight.
    pub(crate) fn array_bytes(&self, dtype: Option<DType>, task: &Task) -> Result<u64, Problem> {
        match self {
            Self::Received(received) => Ok(array_bytes(&received.layout()?, received.len()?, dtype)),
            Self::Compressed(body) => {
                let layout = body.layout(task)?;
                let bytes = array_bytes(&layout, layout.file_bytes, dtype);
                Ok(bytes.saturating_add(body.received.memory_bytes()))
            }
            Self::OnDevice(array) => Ok(array.bytes(dtype)),
        }
    }
}

/// True if a body names arrays of a client on the device.
pub(crate) fn is_on_device(headers: &HeaderMap) -> bool {
    content_type(headers) == CUDA
}

/// The kind of a matrix, by its `Content-Type`.
pub(crate) fn kind_of(headers: &HeaderMap) -> Result<FileKind, Problem> {
    let found = content_type(headers);
    kind_of_media(found.split(';').next().unwrap_or("").trim()).ok_or_else(|| {
        let kinds = format!("{NPZ} (SciPy's save_npz), {NPY} (numpy.save) or {MTX} (Matrix Market)");
        unsupported_media(headers, format_args!("a matrix needs {kinds}"))
    })
}

fn content_type(headers: &HeaderMap) -> &str {
    headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("")
}

/// The problem of a body of another kind than is needed.
pub(crate) fn unsupported_media(headers: &HeaderMap, needed: impl Display) -> Problem {
    let found = match content_type(headers) {
        "" => "there is no Content-Type".into(),
        found => format!("Content-Type is `{}`", found.escape_debug()),
    };
    Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "media-type", format!("{found}; {needed}"))
}

/// The header that names the file which is to have the body of the answer.
pub(crate) const RESULT_FILE: &str = "nnz-result-file";
/// The header with the id of the descriptor that is to have the body of the answer.
pub(crate) const RESULT_DESCRIPTOR: &str = "nnz-result-descriptor";
/// The header that names the upload which is the body of a request.
pub(crate) const UPLOAD: &str = "nnz-upload";
/// The bytes of an upload that are there, and with a part those before it.
pub(crate) const UPLOAD_OFFSET: HeaderName = HeaderName::from_static("upload-offset");
/// The bytes of the whole body of an upload.
pub(crate) const UPLOAD_LENGTH: HeaderName = HeaderName::from_static("upload-length");

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

    /// The array of an `.npy` body.
    pub(crate) fn into_array(self) -> Result<NpyArray, Problem> {
        Ok(match self {
            Self::Memory(bytes) => npy::parse(&bytes)?,
            Self::File(file) => npy::read(file.path())?,
        })
    }

    /// The body in a file, which is made in this folder if it is not in one.
    #[cfg(unix)]
    pub(crate) fn into_file(self, folder: &Path, kind: FileKind) -> Result<NamedTempFile, Problem> {
        match self {
            Self::File(file) => Ok(file),
            Self::Memory(bytes) => {
                let mut file = sink::new_file(folder, extension(kind))?;
                file.write_all(&bytes)?;
                Ok(file)
            }
        }
    }

    /// The header of an `.npy` body.
    pub(crate) fn layout(&self) -> Result<Layout, Problem> {
        self.check_magic(FileKind::Npy)?;
        Ok(npy::layout(&self.first(NPY_HEADER_BYTES)?)?)
    }

    /// The first `count` bytes, or all if there are fewer.
    fn first(&self, count: usize) -> Result<Cow<'_, [u8]>, Problem> {
        match self {
            Self::Memory(bytes) => Ok(bytes[..bytes.len().min(count)].into()),
            Self::File(file) => {
                let mut first = vec![];
                std::fs::File::open(file.path())?.take(count as u64).read_to_end(&mut first)?;
                Ok(first.into())
            }
        }
    }

    /// Fails if it begins as a body of another kind.
    fn check_magic(&self, kind: FileKind) -> Result<(), Problem> {
        check_magic(&self.first(2)?, kind)
    }

    fn as_matrix_file(&self, kind: FileKind) -> Result<MatrixFile, Problem> {
        let file = match self {
            Self::Memory(bytes) => MatrixFile::from_reader(format!("body{}", extension(kind)), &bytes[..])?,
            Self::File(file) => MatrixFile::open(file.path())?,
        };
        Ok(file)
    }
}

/// Bytes of an array: those of its body, and those of its values as `dtype` or as its own type.
fn array_bytes(layout: &Layout, body_bytes: u64, dtype: Option<DType>) -> u64 {
    let elements = layout.shape.iter().fold(1_u64, |len, &extent| len.saturating_mul(extent as u64));
    let element = layout.dtype.bytes() + dtype.unwrap_or(layout.dtype).bytes();
    body_bytes.saturating_add(elements.min(body_bytes).saturating_mul(element as u64))
}

/// Fails if the first bytes of a body are those of another kind, compressed text among them.
fn check_magic(first: &[u8], kind: FileKind) -> Result<(), Problem> {
    let (expected, what) = match kind {
        FileKind::Npz => (b"PK", "an .npz file (a ZIP archive)"),
        FileKind::Npy => (b"\x93N", "an .npy file"),
        FileKind::MatrixMarket => (b"%%", "a Matrix Market file, uncompressed: %%MatrixMarket"),
    };
    if first.starts_with(expected) {
        return Ok(());
    }
    Err(Problem::unprocessable(format!("body: it does not begin as {what}")))
}
