//! The parts of a matrix on several devices: a worker divides the rows of the file that the front end has received, and
//! each reads those of its own part from there.

use super::copies::{Copy, CopyBody};
use super::device_workers::DeviceWorkers;
use super::distributed::Part;
use super::forward::json_of;
use crate::device_state::DeviceState;
use crate::durable::Description;
use crate::execution::task::StopOnDrop;
use crate::memory::ledger::Reservation;
use crate::objects::Store;
use crate::problem::Problem;
use crate::security::auth::Identity;
use crate::upload::check_integers;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use nnz::distrib::Ownership;
use nnz::io::{MatrixFile, RowRanges};
use nnz::{Error, Matrix, with_dtype};
use serde::{Deserialize, Serialize};
use std::ops::{ControlFlow, Range};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

/// The address of divisions at a worker.
pub(crate) const DIVISIONS: &str = "/divisions";
/// The address of parts at a worker.
pub(crate) const PARTS: &str = "/parts";
/// The header in which a worker describes a part that it has read, in JSON.
const DESCRIPTION: &str = "nnz-description";

/// The rows of a file that a worker is to read, and the matrix whose they are.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct PartRequest {
    /// The part is found as a copy of this number.
    number: u64,
    name: String,
    version: u64,
    file: PathBuf,
    rows: Range<usize>,
}

/// The number of parts of a matrix.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) enum PartCount {
    Exactly(usize),
    /// As few as fit the free bytes of the devices.
    Fewest,
}

/// A file whose rows are to be divided.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct DivisionRequest {
    file: PathBuf,
    count: PartCount,
    /// The free bytes of the devices, a part on each.
    free: Vec<u64>,
}

impl DeviceWorkers {
    /// Lets the first of these devices, which have these free bytes, divide the rows of a file. Breaks with the answer
    /// of a worker that refuses.
    pub(super) async fn divide(
        &self,
        (file, count): (&Path, PartCount),
        devices: &[(usize, u64)],
        identity: &mut Identity,
    ) -> Result<ControlFlow<Response, Vec<Range<usize>>>, Problem> {
        let free = devices.iter().map(|(_, free)| *free).collect();
        let division = DivisionRequest { file: file.into(), count, free };
        let body = serde_json::to_vec(&division).map_err(Problem::internal)?;
        let request = Request::post(DIVISIONS).header(header::CONTENT_TYPE, "application/json");
        let request = request.body(body.into()).map_err(Problem::internal)?;
        let answer = self.send(devices[0].0, identity, request).await?;
        if answer.status() != StatusCode::OK {
            return Ok(ControlFlow::Break(answer));
        }
        let ranges = serde_json::from_value(json_of(answer).await?).map_err(Problem::internal)?;
        Ok(ControlFlow::Continue(ranges))
    }

    /// Lets the worker of a device read some rows of a file, for a matrix of this name and version. Breaks with the
    /// answer of a worker that refuses.
    pub(super) async fn put_part(
        &self,
        (device, rows): (usize, Range<usize>),
        (name, version): (&str, u64),
        file: &Path,
        identity: &mut Identity,
    ) -> Result<ControlFlow<Response, Part>, Problem> {
        let number = self.copies.fetch_add(1, Ordering::Relaxed);
        let part = PartRequest { number, name: name.into(), version, file: file.into(), rows: rows.clone() };
        let body = serde_json::to_vec(&part).map_err(Problem::internal)?;
        let request = Request::post(PARTS).header(header::CONTENT_TYPE, "application/json").body(body.into());
        let answer = self.send(device, identity, request.map_err(Problem::internal)?).await?;
        if answer.status() != StatusCode::CREATED {
            return Ok(ControlFlow::Break(answer));
        }
        let described = answer.headers().get(DESCRIPTION).map_or(&b""[..], HeaderValue::as_bytes);
        let description: Description = serde_json::from_slice(described).map_err(Problem::internal)?;
        Ok(ControlFlow::Continue(Part { device, rows, description, copy: Copy::new(number, answer) }))
    }
}

/// Divides the rows of a file at a worker, in whose ledger the offsets are meanwhile.
pub(crate) async fn divide(
    State(state): State<DeviceState>,
    Extension(identity): Extension<Identity>,
    Json(request): Json<DivisionRequest>,
) -> Result<Json<Vec<Range<usize>>>, Problem> {
    let (store, tenant) = (state.store.clone(), identity.tenant.clone());
    let caller = StopOnDrop::new(state.config.limits.operation_time);
    let divide = move || divide_rows(&store, &tenant, &request);
    state.threads.run(&identity.tenant, &caller.task, divide).await.map(Json)
}

/// The rows of each part of the matrix in a file, which is checked.
fn divide_rows(store: &Store, tenant: &str, request: &DivisionRequest) -> Result<Vec<Range<usize>>, Problem> {
    let matrix = MatrixFile::open(&request.file)?;
    check_integers(matrix.rounded_integers::<f64>()?)?;
    if matrix.has_too_many_rows()? {
        return Err(Problem::unprocessable("body: it has too many rows for its entries"));
    }
    let file = RowRanges::open(&request.file).map_err(|error| match error {
        // Its text has the path of the file.
        Error::Unsupported { .. } => Problem::unprocessable("body: a matrix in parts is one in CSR"),
        error => error.into(),
    })?;
    let _offsets = store.reserve(tenant, offset_bytes(&file))?;
    file.check(0, 1)?;
    let offsets = file.row_ptr()?;
    let devices = request.free.len();
    let fits = |ranges: &Vec<Range<usize>>| {
        ranges.iter().zip(&request.free).all(|(rows, free)| peak_bytes(&file, &offsets, rows) <= *free)
    };
    match request.count {
        PartCount::Exactly(count) => ranges(&offsets, count),
        PartCount::Fewest => {
            for count in 1..devices {
                let ranges = ranges(&offsets, count)?;
                if fits(&ranges) {
                    return Ok(ranges);
                }
            }
            // Other matrices may be evicted; else the devices say what they lack.
            ranges(&offsets, devices)
        }
    }
}

/// Ranges of rows with about as many entries each, and none without rows if there are any.
fn ranges(offsets: &[i64], count: usize) -> Result<Vec<Range<usize>>, Problem> {
    let division = Ownership::by_nnz(offsets, count)?;
    let mut ranges: Vec<_> = (0..count).map(|part| division.range(part)).collect();
    ranges.retain(|rows| !rows.is_empty());
    if ranges.is_empty() {
        ranges.push(0..0);
    }
    Ok(ranges)
}

/// Bytes of the offsets of a file, as they are read and checked, from above.
fn offset_bytes(file: &RowRanges) -> u64 {
    file.shape().0.saturating_add(1).saturating_mul(3 * size_of::<i64>()) as u64
}

/// Reads a part at its worker, and keeps it while the answer is waited for.
pub(crate) async fn receive_part(
    State(state): State<DeviceState>,
    Extension(identity): Extension<Identity>,
    Json(part): Json<PartRequest>,
) -> Result<Response, Problem> {
    let (store, tenant) = (state.store.clone(), identity.tenant.clone());
    let keep = move || {
        let matrix = read_rows(&store, &tenant, &part)?;
        let copy =
            store.insert_copy(part.number, (&tenant, &part.name, part.version), matrix, ("csr", true))?;
        let description = serde_json::to_string(&store.copy(part.number)?.description);
        Ok((description.map_err(Problem::internal)?, copy))
    };
    let caller = StopOnDrop::new(state.config.limits.operation_time);
    let (description, copy) = state.threads.run(&identity.tenant, &caller.task, keep).await?;
    Ok((StatusCode::CREATED, [(DESCRIPTION, description)], Body::new(CopyBody(copy))).into_response())
}

/// Some rows of a file in the device's memory, with their bytes in the ledger.
fn read_rows(store: &Store, tenant: &str, part: &PartRequest) -> Result<(Matrix, Reservation), Problem> {
    let file = RowRanges::open(&part.file)?;
    let reading = store.reserve(tenant, offset_bytes(&file))?;
    let peak = peak_bytes(&file, &file.row_ptr()?, &part.rows);
    drop(reading);
    let mut reserved = store.reserve(tenant, peak)?;
    let matrix = with_dtype!(file.dtype(), T => match file.read_rows::<T, i32, i32>(part.rows.clone()) {
        Err(Error::IndexOverflow { .. }) => {
            Matrix::from_typed(&store.device, file.read_rows::<T, i64, i64>(part.rows.clone())?)?
        }
        narrow => Matrix::from_typed(&store.device, narrow?)?,
    });
    store.settle(&mut reserved, tenant, matrix.bytes() as u64)?;
    Ok((matrix, reserved))
}

/// Bytes of the offsets of a file and of those of some rows, and of the entries of these, as they are read and sorted,
/// from above.
fn peak_bytes(file: &RowRanges, offsets: &[i64], rows: &Range<usize>) -> u64 {
    let entries = (offsets[rows.end] - offsets[rows.start]) as u64;
    let entry = (file.dtype().bytes() + size_of::<i64>()) as u64;
    let offset_bytes = (offsets.len() + 2 * (rows.len() + 1)) * size_of::<i64>();
    entries.saturating_mul(2 * entry).saturating_add(offset_bytes as u64)
}
