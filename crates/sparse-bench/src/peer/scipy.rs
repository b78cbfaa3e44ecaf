//! SciPy, in a Python process beside this one.

use super::python::{Process, file, folder};
use crate::measure::Contender;
use crate::value::Value;
use anyhow::Result;
use sparse_core::{Coo, Csr};
use std::path::Path;

const SCRIPT: &str = include_str!("scipy_peer.py");

/// The operands for SciPy.
pub(crate) enum Input<'a, T: Value> {
    Csr(&'a Csr<T>),
    Coo(&'a Coo<T>),
    /// The factors of Pᵀ·A·P; `number` is the number of columns of P.
    Galerkin {
        a: &'a Csr<T>,
        p: &'a Csr<T>,
    },
    /// `count` matrices of `n` rows and columns.
    Dense {
        data: &'a [T],
        n: usize,
        count: usize,
    },
    File(&'a Path),
}

impl<'a, T: Value> From<&'a Csr<T>> for Input<'a, T> {
    fn from(a: &'a Csr<T>) -> Self {
        Self::Csr(a)
    }
}

impl<'a, T: Value> From<&'a Coo<T>> for Input<'a, T> {
    fn from(a: &'a Coo<T>) -> Self {
        Self::Coo(a)
    }
}

/// SciPy as a contender; `number` counts columns, iterations or matrices. `None` where Python or SciPy is missing.
pub(crate) fn contender<T: Value>(
    op: &str,
    input: Input<'_, T>,
    number: usize,
) -> Result<Option<Contender<'static>>> {
    if !Process::finds("import numpy, scipy.sparse") {
        return Ok(None);
    }
    let folder = folder(&format!("scipy-{op}"))?;
    let (rows, cols) = write(folder.path(), &input)?;
    let numbers = [rows, cols, number].map(|number| number.to_string());
    let mut process = Process::start(SCRIPT, folder, &[op, T::NUMPY, &numbers[0], &numbers[1], &numbers[2]])?;
    Ok(Some(Contender::external("scipy", move || process.seconds())))
}

/// Writes the arrays of the input as raw files; returns its shape.
fn write<T: Value>(folder: &Path, input: &Input<'_, T>) -> Result<(usize, usize)> {
    match input {
        Input::Csr(a) => csr(folder, "", a),
        Input::Galerkin { a, p } => {
            csr(folder, "p_", p)?;
            csr(folder, "", a)
        }
        Input::Coo(a) => {
            file(folder, "row", bytemuck::cast_slice(a.row_idx()))?;
            file(folder, "col", bytemuck::cast_slice(a.col_idx()))?;
            file(folder, "data", bytemuck::cast_slice(a.values()))?;
            Ok((a.nrows(), a.ncols()))
        }
        Input::Dense { data, n, count } => {
            file(folder, "data", bytemuck::cast_slice(data))?;
            Ok((n * count, *n))
        }
        Input::File(path) => {
            file(folder, "path", path.as_os_str().as_encoded_bytes())?;
            Ok((0, 0))
        }
    }
}

/// Writes the arrays of a matrix, whose names begin with `prefix`; returns its shape.
fn csr<T: Value>(folder: &Path, prefix: &str, a: &Csr<T>) -> Result<(usize, usize)> {
    file(folder, &format!("{prefix}indptr"), bytemuck::cast_slice(a.row_ptr()))?;
    file(folder, &format!("{prefix}indices"), bytemuck::cast_slice(a.col_idx()))?;
    file(folder, &format!("{prefix}data"), bytemuck::cast_slice(a.values()))?;
    Ok((a.nrows(), a.ncols()))
}
