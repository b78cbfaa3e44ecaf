//! Receives and reads the arrays that operations and programs take as bodies of their requests.

use crate::config::Limits;
use crate::device_state::DeviceState;
use crate::execution::task::Task;
use crate::operations::{Columns, MemberSelection, Operation};
use crate::problem::Problem;
use crate::request::media::NPY;
use crate::upload::{
    ArrayBody, Reception, check_headers, check_integers, is_on_device, kind_of, unsupported_media,
};
use axum::body::Body;
use axum::http::HeaderMap;
use nnz::io::FileKind;
use nnz::{DType, DenseMatrix, Device};
use std::path::Path;

/// Receives the array that `who` takes.
pub(crate) async fn receive_operand(
    state: &DeviceState,
    (tenant, who): (&str, &str),
    headers: &HeaderMap,
    body: Body,
) -> Result<ArrayBody, Problem> {
    let limits = &state.config.limits;
    if is_on_device(headers) {
        return ArrayBody::on_device(body, limits).await;
    }
    let folder = state.store.disk.uploads();
    array_reception((limits, folder), (tenant, who), headers)?.receive_array(body).await
}

/// The reception of the `.npy` body that `who` takes, in a folder if it is large.
pub(crate) fn array_reception<'a>(
    (limits, folder): (&'a Limits, &'a Path),
    (tenant, who): (&'a str, &str),
    headers: &HeaderMap,
) -> Result<Reception<'a>, Problem> {
    if !kind_of(headers).is_ok_and(|kind| kind == FileKind::Npy) {
        let needed = format!("{who} takes an array as its body, which needs {}", NPY);
        return Err(unsupported_media(headers, needed));
    }
    let encoding = check_headers(headers, limits.operand_bytes)?;
    let (kind, limit) = (FileKind::Npy, limits.operand_bytes);
    Ok(Reception { kind, encoding, limit, limits, folder, tenant })
}

/// The array of a body that an operation takes, in this type or, without one, in its own.
pub(crate) fn read_columns(
    body: ArrayBody,
    (operation, selection): (&Operation, MemberSelection),
    (device, dtype): (&Device, Option<DType>),
    task: &Task,
) -> Result<Columns, Problem> {
    let received = match body {
        ArrayBody::Received(received) => received,
        ArrayBody::Compressed(body) => body.into_memory(task)?,
        ArrayBody::OnDevice(array) => {
            operation.operand.check(operation.name, &array.shape, selection)?;
            return Ok(Columns { values: array.read(device, dtype)?, shape: array.shape });
        }
    };
    let array = received.into_array()?;
    check_integers(array.values.rounded_integers::<f64>())?;
    operation.operand.check(operation.name, &array.shape, selection)?;
    let (shape, dtype) = (array.shape.clone(), dtype.unwrap_or(array.values.dtype()));
    check_real(array.values.dtype(), dtype)?;
    Ok(Columns { values: DenseMatrix::from_array(device, array, dtype)?, shape })
}

/// Fails for complex numbers that are to be values of a real matrix.
pub(crate) fn check_real(found: DType, needed: DType) -> Result<(), Problem> {
    if !found.is_complex() || needed.is_complex() {
        return Ok(());
    }
    let detail = format!(
        "the operand is {found} and the matrix {needed}: send its real and imaginary parts one after the other, or \
         `cast` the matrix to {found} first"
    );
    Err(Problem::unprocessable(detail))
}
