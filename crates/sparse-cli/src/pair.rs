//! Two sparse operands in one type.

use crate::context::Context;
use crate::file;
use anyhow::Result;
use nnz::{DType, Matrix};
use std::path::Path;

/// The matrices of two files as CSR in the memory of the device, in the type of --dtype, or in that which holds the
/// values of both exactly, except integers that f64 rounds. Reports the rounded integers.
pub(crate) fn read_pair(context: &Context, paths: [&Path; 2]) -> Result<[Matrix; 2]> {
    file::check_inputs(paths)?;
    let device = context.device()?;
    let [a, b] = paths.map(file::open);
    let (a, b) = (a?, b?);
    let dtype = match context.dtype() {
        Some(dtype) => dtype,
        None => DType::common([a.value_type()?, b.value_type()?]),
    };
    let read = |matrix| {
        file::check_rounding(matrix, dtype, context)?;
        file::read(matrix, dtype, &device)
    };
    Ok([read(&a)?, read(&b)?])
}
