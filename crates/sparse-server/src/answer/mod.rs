//! Results as bodies of answers: arrays from the memory where they lie, files in parts.

pub(crate) mod accept;
pub(crate) mod encoding;

use crate::answer::accept::{PNG, ResultForm, media_of};
use crate::memory::ledger::Reservation;
use crate::objects::{Object, Store};
use crate::operations::{Answer, Convergence, on_host};
use crate::problem::Problem;
use crate::request::idempotency::Made;
use crate::request::media::{NPY, extension};
use crate::upload::DeviceArray;
use axum::Json;
use axum::body::Body;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use nnz::io::{FileKind, Output, npy};
use nnz::{DType, Matrix, Order, Vector, with_dtype};
use serde_json::{Value, json};
use std::fs::File;
use tempfile::TempPath;
use tokio_util::io::ReaderStream;

/// Bytes of a file that are read at once.
const PART: usize = 1 << 20;

/// The header with the end of an iteration, in JSON: method, converged, iterations and relative_residual.
pub(crate) const SOLUTION: &str = "nnz-solution";

/// The result of an operation, which can be answered any number of times.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// Perhaps with its bytes in the ledger.
    Json {
        value: Value,
        _reserved: Option<Reservation>,
    },
    /// The result was stored. The object itself would keep its memory as long as a job has the outcome, deleted or not.
    Created(Made),
    Array(Array),
    File(ResultFile),
    Png(Bytes),
}

/// An `.npy` body over the memory of a result.
#[derive(Debug, Clone)]
pub(crate) struct Array {
    head: Bytes,
    data: Bytes,
    /// The end of the iteration, if it is a solution.
    solution: Option<Convergence>,
}

/// A matrix in a file of its own, which is removed with the value.
#[derive(Debug)]
pub(crate) struct ResultFile {
    path: TempPath,
    kind: FileKind,
}

impl Outcome {
    /// The outcome that has this answer. Of `reserved` the bytes of an array are left until nobody reads it any more.
    pub(crate) fn new(
        answer: Answer,
        form: ResultForm,
        owner: (&Store, &str),
        mut reserved: Reservation,
    ) -> Result<Self, Problem> {
        Ok(match answer {
            Answer::Json(value) => {
                reserved.shrink_to(json_bytes(&value));
                Self::Json { value, _reserved: Some(reserved) }
            }
            Answer::Picture(picture) if form.is_png => Self::Png(picture.to_png()?.into()),
            Answer::Picture(picture) => Self::new(Answer::Json(picture.to_json()), form, owner, reserved)?,
            Answer::Matrix(matrix) => Self::File(ResultFile::write(&matrix, form.kind, owner)?),
            Answer::Vector(values) => {
                let shape = [values.len()];
                Self::Array(Array::new(values, (&shape, Order::RowMajor), owner, reserved)?)
            }
            Answer::Dense(values) => {
                let is_padded = values.values().len() != values.nrows() * values.ncols();
                let values = if is_padded { values.to_order(values.order())? } else { values };
                let (shape, order) = ([values.nrows(), values.ncols()], values.order());
                Self::Array(Array::new(values.into_values(), (&shape, order), owner, reserved)?)
            }
            Answer::Stack(values, count) => {
                let shape = Answer::stack_shape(&values, count);
                Self::Array(Array::new(values.into_values(), (&shape, Order::RowMajor), owner, reserved)?)
            }
            Answer::Solved(values, reached) => {
                let mut outcome = Self::new(*values, form, owner, reserved)?;
                if let Self::Array(array) = &mut outcome {
                    array.solution = Some(reached);
                }
                outcome
            }
        })
    }

    /// The end of the iteration of which this is the result.
    pub(crate) fn solution(&self) -> Option<Value> {
        match self {
            Self::Array(array) => array.solution.map(Convergence::to_json),
            Self::Json { .. } | Self::Created(_) | Self::File(_) | Self::Png(_) => None,
        }
    }

    pub(crate) fn respond(&self) -> Result<Response, Problem> {
        match self {
            Self::Json { value, .. } => Ok(Json(value).into_response()),
            Self::Created(made) => Ok(made.respond()),
            Self::Array(array) => array.respond(),
            Self::File(file) => file.respond(),
            Self::Png(bytes) => Ok(([(header::CONTENT_TYPE, PNG)], bytes.clone()).into_response()),
        }
    }
}

impl Answer {
    /// Writes an array to that of a client on the device; numbers are answered as they are without it.
    pub(crate) fn write_to(self, array: &DeviceArray) -> Result<Outcome, Problem> {
        let solution = match self {
            Self::Json(value) => return Ok(value.into()),
            Self::Picture(picture) => return Ok(picture.to_json().into()),
            Self::Matrix(_) => return Err(Problem::internal("a sparse matrix where an array is needed")),
            Self::Solved(values, reached) => {
                values.write_to(array)?;
                reached.to_json()
            }
            Self::Stack(values, count) => {
                let shape = Answer::stack_shape(&values, count);
                array.write(&values.into_values(), &shape)?;
                Value::Null
            }
            Self::Vector(values) => {
                array.write(&values, &[values.len()])?;
                Value::Null
            }
            Self::Dense(values) => {
                let shape = [values.nrows(), values.ncols()];
                array.write(&values.to_order(Order::RowMajor)?.into_values(), &shape)?;
                Value::Null
            }
        };
        Ok(json!({ "shape": array.shape, "solution": solution }).into())
    }
}

impl From<Value> for Outcome {
    fn from(value: Value) -> Self {
        Self::Json { value, _reserved: None }
    }
}

/// Bytes of a value in memory, without what the allocator adds.
fn json_bytes(value: &Value) -> u64 {
    let parts = match value {
        Value::Array(values) => values.iter().map(json_bytes).sum(),
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| (size_of::<String>() + name.len()) as u64 + json_bytes(value))
            .sum(),
        Value::String(text) => text.len() as u64,
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    };
    size_of::<Value>() as u64 + parts
}

pub(crate) fn etag(object: &Object) -> [(header::HeaderName, HeaderValue); 1] {
    [(header::ETAG, object.tag())]
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

/// Values in the host's memory and of a type that `.npy` has.
fn host_values(values: Vector) -> Result<Vector, Problem> {
    let values = match values.dtype() {
        DType::F16 | DType::Bf16 => values.cast(DType::F32)?,
        _ => values,
    };
    on_host(values)
}

impl Array {
    fn new(
        values: Vector,
        (shape, order): (&[usize], Order),
        (store, tenant): (&Store, &str),
        mut reserved: Reservation,
    ) -> Result<Self, Problem> {
        let values = host_values(values)?;
        let head = with_dtype!(values.dtype(), T => npy::header::<T>(shape, order))?;
        let bytes = values.len() as u64 * values.dtype().bytes() as u64;
        store.settle(&mut reserved, tenant, bytes)?;
        let data = Bytes::from_owner(HostBytes { values, _reserved: reserved });
        Ok(Self { head: head.into(), data, solution: None })
    }

    /// The first columns of a result, each as long as `rows` and of one dimension or two; they share its memory.
    pub(crate) fn columns(
        values: Vector,
        rows: usize,
        is_vector: &[bool],
        reserved: Reservation,
    ) -> Result<Vec<Self>, Problem> {
        let bytes = rows * values.dtype().bytes();
        let heads = [&[rows, 1][..], &[rows]].map(|shape| {
            with_dtype!(values.dtype(), T => npy::header::<T>(shape, Order::RowMajor)).map(Bytes::from)
        });
        let [matrix, vector] = heads;
        let heads = [matrix?, vector?];
        let all = Bytes::from_owner(HostBytes { values, _reserved: reserved });
        let column = |(j, &is_vector): (usize, &bool)| Self {
            head: heads[usize::from(is_vector)].clone(),
            data: all.slice(j * bytes..(j + 1) * bytes),
            solution: None,
        };
        Ok(is_vector.iter().enumerate().map(column).collect())
    }

    fn respond(&self) -> Result<Response, Problem> {
        let length = self.head.len() + self.data.len();
        let parts = [self.head.clone(), self.data.clone()].map(Ok::<_, std::convert::Infallible>);
        let body = Body::from_stream(tokio_stream::iter(parts));
        let media = (header::CONTENT_TYPE, HeaderValue::from_static(NPY));
        let mut response = ([media, (header::CONTENT_LENGTH, length.into())], body).into_response();
        if let Some(solution) = self.solution {
            let solution = solution.to_json().to_string();
            let solution = HeaderValue::from_str(&solution).map_err(Problem::internal)?;
            response.headers_mut().insert(SOLUTION, solution);
        }
        Ok(response)
    }
}

impl ResultFile {
    /// Writes a matrix whole.
    pub(crate) fn write(
        matrix: &Matrix,
        kind: FileKind,
        (store, tenant): (&Store, &str),
    ) -> Result<Self, Problem> {
        let dense = (matrix.nrows() as u64).saturating_mul(matrix.ncols() as u64);
        let needed = match kind {
            FileKind::Npy => dense.saturating_mul(matrix.dtype().bytes() as u64),
            FileKind::Npz | FileKind::MatrixMarket => matrix.bytes() as u64,
        };
        let _reserved = store.reserve(tenant, needed)?;
        let file = tempfile::Builder::new().suffix(extension(kind)).tempfile_in(store.disk.uploads())?;
        let path = file.into_temp_path();
        matrix.write_as(Output::Temporary(&path), kind)?;
        Ok(Self { path, kind })
    }

    /// Sends the file in parts; one that has lost its name is sent to its end all the same.
    pub(crate) fn respond(&self) -> Result<Response, Problem> {
        let file = File::open(&self.path)?;
        let length = file.metadata()?.len();
        let body = Body::from_stream(ReaderStream::with_capacity(tokio::fs::File::from_std(file), PART));
        let media = HeaderValue::from_static(media_of(self.kind));
        Ok(([(header::CONTENT_TYPE, media), (header::CONTENT_LENGTH, length.into())], body).into_response())
    }
}
