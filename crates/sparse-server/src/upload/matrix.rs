//! Matrices from bodies that were received whole.

use super::{Received, Upload};
use crate::execution::task::Task;
use crate::memory::ledger::Reservation;
use crate::objects::Store;
use crate::problem::Problem;
use nnz::io::any::RoundedIntegers;
use nnz::io::npy::{Layout, NpyArray};
use nnz::io::{Claim, FileKind, MatrixFile, are_rows_too_many};
use nnz::{CompressOptions, DType, DenseMatrix, Device, Error, Format, IndexType, Matrix};
use std::sync::Arc;

/// Reads a body as a matrix in the device's memory, whose bytes are reserved before they are allocated.
pub(crate) fn read_matrix(
    store: &Arc<Store>,
    tenant: &str,
    upload: Upload,
    kind: FileKind,
    task: &Task,
) -> Result<(Matrix, Reservation), Problem> {
    let upload = match upload {
        Upload::Compressed(body) => body.into_upload(store, tenant, task)?,
        upload => upload,
    };
    let received = match upload {
        Upload::Decoded(decoding) => return decoding.finish(),
        Upload::OnDevice(csr) => return csr.read(store, tenant),
        Upload::Received(received) => received,
        Upload::Compressed(_) => return Err(Problem::internal("a body that was inflated is compressed")),
    };
    let body = store.reserve(tenant, received.memory_bytes())?;
    received.check_magic(kind)?;
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
    let Layout { shape, dtype, file_bytes, .. } = received.layout()?;
    let Ok(shape) = shape.try_into() else { return Ok(None) };
    let found = received.len()?;
    if found != file_bytes {
        let detail = format!("body: its header says that it has {file_bytes} bytes, and it has {found}");
        return Err(Problem::unprocessable(detail));
    }
    Ok(Some((shape, dtype)))
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
        let options = CompressOptions { stack, index_type, ..CompressOptions::new(Format::BatchCsr) };
        dense.plan_compress(&options)?.run(&dense)
    };
    match compress(IndexType::I32) {
        Err(Error::IndexOverflow { .. }) => Ok(compress(IndexType::I64)?),
        narrow => Ok(narrow?),
    }
}
