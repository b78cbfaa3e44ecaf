//! Results as bodies of answers: arrays from the memory where they lie, files in parts.

use crate::ledger::Reservation;
use crate::objects::Store;
use crate::operations::Answer;
use crate::problem::Problem;
use crate::upload::{MTX, NPY, NPZ, extension, kind_of_media};
use axum::Json;
use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use nnz::io::{FileKind, Output, npy};
use nnz::{DType, Matrix, Order, Vector, with_dtype};
use std::fs::File;
use tokio_util::io::ReaderStream;

/// Bytes of a file that are read at once.
const PART: usize = 1 << 18;

/// The kind of file in which a matrix is answered, by `Accept`.
pub(crate) fn accepted_kind(headers: &HeaderMap) -> Result<FileKind, Problem> {
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or("*/*");
    for wish in accept.split(',') {
        let mut parts = wish.split(';').map(str::trim);
        let media = parts.next().unwrap_or("");
        if parts.any(|parameter| matches!(parameter, "q=0" | "q=0.0" | "q=0.00" | "q=0.000")) {
            continue;
        }
        match media {
            "*/*" | "application/*" => return Ok(FileKind::Npz),
            media => match kind_of_media(media) {
                Some(kind) => return Ok(kind),
                None => continue,
            },
        }
    }
    let detail =
        format!("Accept `{}`: one of {NPZ}, {NPY} (dense) and {MTX} can be had", accept.escape_debug());
    Err(Problem::new(StatusCode::NOT_ACCEPTABLE, "not-acceptable", detail))
}

fn media_of(kind: FileKind) -> &'static str {
    match kind {
        FileKind::Npz => NPZ,
        FileKind::Npy => NPY,
        FileKind::MatrixMarket => MTX,
    }
}

/// The answer for the result of an operation; `reserved` are the bytes of an array until it was sent.
pub(crate) fn respond(
    answer: Answer,
    kind: FileKind,
    store: &Store,
    tenant: &str,
    reserved: Reservation,
) -> Result<Response, Problem> {
    match answer {
        Answer::Json(value) => Ok(Json(value).into_response()),
        Answer::Vector(values) => {
            let shape = [values.len()];
            array(values, &shape, Order::RowMajor, reserved)
        }
        Answer::Dense(values) => {
            let is_padded = values.values().len() != values.nrows() * values.ncols();
            let values = if is_padded { values.to_order(values.order())? } else { values };
            let (shape, order) = ([values.nrows(), values.ncols()], values.order());
            array(values.into_values(), &shape, order, reserved)
        }
        Answer::Matrix(matrix) => matrix_file(&matrix, kind, store, tenant),
        Answer::Solved(values, how) => {
            let mut response = respond(*values, kind, store, tenant, reserved)?;
            let how = HeaderValue::from_str(&how.to_string()).map_err(Problem::internal)?;
            response.headers_mut().insert("nnz-solution", how);
            Ok(response)
        }
    }
}

/// The bytes of a vector of the host, with their reservation.
struct HostBytes {
    values: Vector,
    _reserved: Reservation,
}

impl AsRef<[u8]> for HostBytes {
    fn as_ref(&self) -> &[u8] {
        with_dtype!(self.values.dtype(), T => {
            self.values.as_slice::<T>().map_or(&[], |values| bytemuck::cast_slice(values))
        })
    }
}

/// An `.npy` body over the memory of the result.
fn array(values: Vector, shape: &[usize], order: Order, reserved: Reservation) -> Result<Response, Problem> {
    let values = match values.dtype() {
        DType::F16 | DType::Bf16 => values.cast(DType::F32)?,
        _ => values,
    };
    let values = match values.device() {
        nnz::Device::Cpu(_) => values,
        _ => values.to_device(&nnz::Device::host_with_threads(1)?)?,
    };
    let head = with_dtype!(values.dtype(), T => npy::header::<T>(shape, order))?;
    let data = Bytes::from_owner(HostBytes { values, _reserved: reserved });
    let length = head.len() + data.len();
    let parts = [Bytes::from(head), data].map(Ok::<_, std::convert::Infallible>);
    let body = Body::from_stream(tokio_stream::iter(parts));
    Ok((
        [(header::CONTENT_TYPE, HeaderValue::from_static(NPY)), (header::CONTENT_LENGTH, length.into())],
        body,
    )
        .into_response())
}

/// A matrix as a file, which is written whole and then sent in parts.
pub(crate) fn matrix_file(
    matrix: &Matrix,
    kind: FileKind,
    store: &Store,
    tenant: &str,
) -> Result<Response, Problem> {
    let dense = (matrix.nrows() as u64).saturating_mul(matrix.ncols() as u64);
    let needed = match kind {
        FileKind::Npy => dense.saturating_mul(matrix.dtype().bytes() as u64),
        FileKind::Npz | FileKind::MatrixMarket => matrix.bytes() as u64,
    };
    let reserved = store.reserve(tenant, needed)?;
    let path =
        tempfile::Builder::new().suffix(extension(kind)).tempfile_in(store.disk.uploads())?.into_temp_path();
    matrix.write_as(Output::Path(&path), kind)?;
    drop(reserved);
    // The file has no name from here on, and goes with the answer.
    let file = File::open(&path)?;
    drop(path);
    let length = file.metadata()?.len();
    let body = Body::from_stream(ReaderStream::with_capacity(tokio::fs::File::from_std(file), PART));
    let media = HeaderValue::from_static(media_of(kind));
    Ok(([(header::CONTENT_TYPE, media), (header::CONTENT_LENGTH, length.into())], body).into_response())
}
