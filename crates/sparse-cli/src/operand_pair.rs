//! Two sparse operands in one type.

use crate::context::Context;
use crate::file;
use crate::format::{ReadOptions, StoredFormat};
use anyhow::Result;
use nnz::{DType, Matrix};
use std::path::Path;

/// The matrices of two files in one format, in the memory of the device, in the type of --dtype, or in that which holds
/// the values of both exactly, except integers that f64 rounds. Reports the rounded integers.
pub(crate) fn read_pair(context: &Context, options: ReadOptions, paths: [&Path; 2]) -> Result<[Matrix; 2]> {
    file::check_inputs(paths)?;
    let device = context.device()?;
    let [a, b] = paths.map(file::open);
    let (a, b) = (a?, b?);
    let dtype = match context.dtype() {
        Some(dtype) => dtype,
        None => DType::common([a.value_type()?, b.value_type()?]),
    };
    let formats = [options.format_of(&a)?, options.format_of(&b)?];
    let format = if formats.contains(&StoredFormat::Coo) { StoredFormat::Coo } else { StoredFormat::Csr };
    let read = |matrix| {
        file::check_rounding(matrix, dtype, context)?;
        format.read(matrix, dtype, &device)
    };
    Ok([read(&a)?, read(&b)?])
}
