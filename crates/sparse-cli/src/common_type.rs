//! Sparse operands in one type.

use crate::context::Context;
use crate::file;
use crate::format::{ReadOptions, StoredFormat};
use anyhow::Result;
use nnz::{DType, Device, Matrix};
use std::path::Path;

/// The matrices of files in one format, in the memory of `device`, in the type of --dtype, or in that which holds the
/// values of all exactly, except integers that f64 rounds. Reports the rounded integers.
pub(crate) fn read_alike(
    context: &Context,
    device: &Device,
    options: ReadOptions,
    paths: &[&Path],
) -> Result<Vec<Matrix>> {
    file::check_inputs(paths.iter().copied())?;
    let files: Vec<_> = paths.iter().map(|path| file::open(path)).collect::<Result<_>>()?;
    let dtype = match context.dtype() {
        Some(dtype) => dtype,
        None => DType::common(files.iter().map(|file| file.value_type()).collect::<nnz::Result<Vec<_>>>()?),
    };
    let formats: Vec<_> = files.iter().map(|file| options.format_of(file)).collect::<Result<_>>()?;
    let format = if formats.contains(&StoredFormat::Coo) { StoredFormat::Coo } else { StoredFormat::Csr };
    let read = |file| {
        file::check_rounding(file, dtype, context)?;
        format.read(file, dtype, device)
    };
    files.iter().map(read).collect()
}

/// [`read_alike`] of two files, in the memory of the device.
pub(crate) fn read_pair(context: &Context, options: ReadOptions, paths: [&Path; 2]) -> Result<[Matrix; 2]> {
    let matrices = read_alike(context, &context.device()?, options, &paths)?;
    Ok(matrices.try_into().expect("there is a matrix for each path"))
}
