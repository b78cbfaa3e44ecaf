//! The division of the rows of a matrix among devices or MPI ranks.

use crate::context::Context;
use crate::failure::usage;
use crate::file;
use crate::named_device::{NamedDevice, NamedDevices};
use crate::ranks::{RankRows, Ranks};
use anyhow::Result;
use nnz::distrib::SharedTransport;
use nnz::io::matrix_market::check_partitionable;
use nnz::io::{FileKind, MatrixFile, RowRanges};
use nnz::{DType, Device, ExchangePath, Matrix, MatrixOnDevices, MatrixOnRanks};
use std::path::Path;
use std::sync::Arc;

/// Divides the rows of a matrix among devices, and says on stderr who has which, and what they exchange by, if -v was
/// given.
pub(crate) fn distribute(
    a: &Matrix,
    devices: &[Device],
    exchange: ExchangePath,
    context: &Context,
) -> Result<MatrixOnDevices> {
    let a = match a.members() {
        Some(_) => a.to_block_diagonal()?.distribute_by(devices, exchange)?,
        None => a.distribute_by(devices, exchange)?,
    };
    context.detail(format_args!("exchange: {}", a.exchange()));
    for (device, rows) in a.devices().iter().zip(a.rows()) {
        context.detail(format_args!("rows {rows:?}: {device}"));
    }
    Ok(a)
}

/// Divides the rows of the matrix at `path` among ranks, each with its `device`, and says on stderr who has read and
/// has what if -v was given. The root has opened the file, and says the type of the values. A collective call, with the
/// parts of all ranks at the root.
pub(crate) fn read_on_ranks(
    ranks: &Ranks,
    transport: &Arc<dyn SharedTransport>,
    (device, exchange): (&Device, ExchangePath),
    (path, opened): (&Path, Option<(MatrixFile, DType)>),
    context: &Context,
) -> Result<(MatrixOnRanks, Vec<RankRows>)> {
    let described = opened.as_ref().map(|(file, dtype)| {
        file::check_rows(file)?;
        Ok((dtype.name().to_owned(), check_by_rows(path).err()))
    });
    let (dtype, reason) = ranks.broadcast(ranks.agree(described.transpose())?.unwrap_or_default())?;
    let a = match &reason {
        None => {
            let dtype = dtype.parse()?;
            MatrixOnRanks::read_by(transport.clone(), device, path, dtype, exchange)
        }
        Some(_) => {
            // The file that is open: it may be a pipe, or was unpacked already.
            let read =
                |(file, dtype)| -> Result<Matrix> { Ok(Matrix::read_csr(&Context::host()?, &file, dtype)?) };
            let a = ranks.agree(opened.map(read).transpose())?;
            MatrixOnRanks::from_root_by(transport.clone(), device, a.as_ref(), exchange)
        }
    };
    let a = a.map_err(|error| ranks.report(error.into()))?;
    let parts = RankRows::of_all(ranks, &a)?;
    if ranks.is_root() {
        let reason = reason.map(|reason| format!(" ({reason})")).unwrap_or_default();
        context.detail(format_args!("reading: {}{reason}", a.reading()));
        context.detail(format_args!("exchange: {}", a.exchange()));
    }
    parts.iter().for_each(|part| context.detail(part));
    Ok((a, parts))
}

/// Fails if a file cannot be read by rows.
fn check_by_rows(path: &Path) -> Result<(), String> {
    match file::is_standard(path) {
        true => Err("standard input is read once".into()),
        false => {
            let is_text = FileKind::of(path).is_ok_and(|kind| kind == FileKind::MatrixMarket);
            let checked = if is_text { check_partitionable(path) } else { RowRanges::open(path).map(drop) };
            checked.map_err(|error| error.to_string())
        }
    }
}

/// Fails unless each rank can take the device of its number.
pub(crate) fn check_ranks_devices(devices: &[NamedDevice]) -> Result<()> {
    if devices.is_empty() {
        return Ok(());
    }
    Err(usage("each rank takes the device of its number: leave out --devices, or start one process"))
}

/// Fails if an exchange path is named but there are no ranks or devices that exchange elements.
pub(crate) fn check_exchange(devices: NamedDevices<'_>) -> Result<()> {
    if devices.exchange == ExchangePath::Auto || !devices.list.is_empty() {
        return Ok(());
    }
    Err(usage("--exchange is for the devices of --devices, or for ranks"))
}
