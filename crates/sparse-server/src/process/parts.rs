//! The parts of a matrix on several devices: each worker reads the rows of its own from the file that the front end has
//! received.

use super::copies::{Copy, CopyBody};
use super::device_workers::DeviceWorkers;
use super::distributed::Part;
use crate::app::App;
use crate::auth::Identity;
use crate::ledger::Reservation;
use crate::objects::{Description, Store};
use crate::problem::Problem;
use crate::task::StopOnDrop;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use nnz::io::RowRanges;
use nnz::{Error, Matrix, with_dtype};
use serde::{Deserialize, Serialize};
use std::ops::{ControlFlow, Range};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

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

impl DeviceWorkers {
    /// Lets the worker of a device read some rows of a file, for a matrix of this name and version. Breaks with the answer
    /// of a worker that refuses.
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

/// Reads a part at its worker, and keeps it while the answer is waited for.
pub(crate) async fn receive_part(
    State(app): State<App>,
    Extension(identity): Extension<Identity>,
    Json(part): Json<PartRequest>,
) -> Result<Response, Problem> {
    let (store, tenant) = (app.store.clone(), identity.tenant.clone());
    let keep = move || {
        let matrix = read_rows(&store, &tenant, &part)?;
        let kept =
            store.keep_copy(part.number, (&tenant, &part.name, part.version), matrix, ("csr", true))?;
        let description = serde_json::to_string(&store.copy(part.number)?.description);
        Ok((description.map_err(Problem::internal)?, kept))
    };
    let caller = StopOnDrop::new(app.config.limits.operation_time);
    let (description, kept) = app.workers.run(&identity.tenant, &caller.task, keep).await?;
    Ok((StatusCode::CREATED, [(DESCRIPTION, description)], Body::new(CopyBody(kept))).into_response())
}

/// Some rows of a file in the device's memory, with their bytes in the ledger.
fn read_rows(store: &Store, tenant: &str, part: &PartRequest) -> Result<(Matrix, Reservation), Problem> {
    let file = RowRanges::open(&part.file)?;
    let offsets = file.shape().0.saturating_add(1).saturating_mul(3 * size_of::<i64>());
    let reading = store.reserve(tenant, offsets as u64)?;
    let peak = peak_bytes(&file, &part.rows)?;
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
fn peak_bytes(file: &RowRanges, rows: &Range<usize>) -> Result<u64, Problem> {
    let offsets = file.row_ptr()?;
    let entries = (offsets[rows.end] - offsets[rows.start]) as u64;
    let entry = (file.dtype().bytes() + size_of::<i64>()) as u64;
    let offset_bytes = (offsets.len() + 2 * (rows.len() + 1)) * size_of::<i64>();
    Ok(entries.saturating_mul(2 * entry).saturating_add(offset_bytes as u64))
}
