//! Dense operands: `.npy` files of one or two dimensions, of batches also of three, and results in the same form.

use crate::context::Context;
use crate::failure::usage;
use crate::file;
use crate::rounding;
use anyhow::Result;
use nnz::io::npy::{self, NpyArray};
use nnz::io::{FileKind, MatrixFile};
use nnz::{DType, DenseMatrix, Device, Error, with_dtype};
use std::io::stdin;
use std::path::{Path, PathBuf};

/// A vector (1-D) or a matrix (2-D) from a file, of any type.
#[derive(Debug)]
pub(crate) struct Operand {
    path: PathBuf,
    array: NpyArray,
}

/// The number of dimensions of an operand, which results have too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dimensions {
    One,
    Two,
}

impl Operand {
    /// Reads a file.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let (path, array) = read_array(path)?;
        if array.shape.len() > 2 {
            return Err(shape_error(&path, &array.shape, "a vector or a matrix is needed"));
        }
        Ok(Self { path, array })
    }

    /// Reads a file, which may also be a stack (3-D) of matrices, one below the other.
    pub(crate) fn read_stack(path: &Path) -> Result<Self> {
        let (path, array) = read_array(path)?;
        if array.shape.len() > 3 {
            return Err(shape_error(
                &path,
                &array.shape,
                "a vector, a matrix or a stack of matrices is needed",
            ));
        }
        Ok(Self { path, array })
    }

    /// Fails if it is a stack of another number of matrices.
    pub(crate) fn check_members(&self, members: usize) -> Result<()> {
        match self.array.shape[..] {
            [count, _, _] if count != members => {
                Err(shape_error(&self.path, &self.array.shape, &format!("{members} matrices are needed")))
            }
            _ => Ok(()),
        }
    }

    /// Warns of integers that `dtype` rounds, or refuses them.
    pub(crate) fn check_rounding(&self, dtype: DType, context: &Context) -> Result<()> {
        check_rounding(&self.path, &self.array, dtype, context)
    }

    /// The type of the values.
    pub(crate) fn dtype(&self) -> DType {
        self.array.values.dtype()
    }

    /// 1-D or 2-D.
    pub(crate) fn dimensions(&self) -> Dimensions {
        if self.array.shape.len() == 1 { Dimensions::One } else { Dimensions::Two }
    }

    /// Fails unless it is 1-D, or 2-D of one column.
    pub(crate) fn check_vector(&self) -> Result<()> {
        if matches!(self.array.shape[..], [_] | [_, 1]) {
            return Ok(());
        }
        let needed = "a vector is needed: shape (n,) or (n, 1); `nnz spmm` takes matrices";
        Err(shape_error(&self.path, &self.array.shape, needed))
    }

    /// The values with type `dtype` in the memory of `device`; a 1-D array is one column.
    pub(crate) fn into_dense(self, dtype: DType, device: &Device) -> Result<DenseMatrix> {
        dense_of(&self.path, self.array, dtype, device)
    }
}

/// The type to compute in: that of --dtype, or the one that represents the matrix and all operands exactly, except
/// integers that f64 rounds. Reports the rounded integers.
pub(crate) fn common_dtype<'a>(
    context: &Context,
    matrix: &MatrixFile,
    operands: impl IntoIterator<Item = &'a Operand>,
) -> Result<DType> {
    let operands: Vec<&Operand> = operands.into_iter().collect();
    let dtype = match context.dtype() {
        Some(dtype) => dtype,
        None => DType::common(operands.iter().map(|operand| operand.dtype()).chain([matrix.value_type()?])),
    };
    file::check_rounding(matrix, dtype, context)?;
    operands.iter().try_for_each(|operand| operand.check_rounding(dtype, context))?;
    Ok(dtype)
}

/// Reads an array; returns also its name in messages; `-` is standard input.
pub(crate) fn read_array(path: &Path) -> Result<(PathBuf, NpyArray)> {
    if file::is_standard(path) {
        return Ok((file::STDIN.into(), npy::read_from(file::STDIN, stdin().lock())?));
    }
    check_kind(path)?;
    Ok((path.into(), npy::read(path)?))
}

/// Fails for the name of a file of another kind.
pub(crate) fn check_kind(path: &Path) -> Result<()> {
    if FileKind::of(path).is_ok_and(|kind| kind != FileKind::Npy) {
        let (npy, path) = (path.with_extension("npy"), path.display());
        let convert = format_args!("nnz convert {path} -o {}", npy.display());
        return Err(usage(format_args!("{path}: a .npy file is needed; `{convert}` makes one")));
    }
    Ok(())
}

/// The array of a file in the memory of `device`; an error of its values names the file.
pub(crate) fn dense_of(path: &Path, array: NpyArray, dtype: DType, device: &Device) -> Result<DenseMatrix> {
    Ok(DenseMatrix::from_array(device, array, dtype).map_err(|error| match error {
        Error::Format { .. }
        | Error::Shape { .. }
        | Error::Unsupported { .. }
        | Error::ValueOverflow { .. } => {
            Error::File { path: path.into(), line: None, reason: error.to_string() }
        }
        other => other,
    })?)
}

/// Warns of integers of an array that `dtype` rounds, or refuses them.
pub(crate) fn check_rounding(path: &Path, array: &NpyArray, dtype: DType, context: &Context) -> Result<()> {
    let rounded = with_dtype!(dtype, T => array.values.rounded_integers::<T>());
    rounding::check(context, path, rounded, dtype)
}

fn shape_error(path: &Path, shape: &[usize], needed: &str) -> anyhow::Error {
    let extents: Vec<String> = shape.iter().map(ToString::to_string).collect();
    let reason = format!("the shape is ({}), but {needed}", extents.join(", "));
    Error::File { path: path.into(), line: None, reason }.into()
}

/// Writes a result with the dimensions of the operand.
pub(crate) fn write(path: &Path, result: &DenseMatrix, dimensions: Dimensions) -> Result<()> {
    let output = file::output(path);
    match dimensions {
        Dimensions::One => Ok(result.values().write_npy(output)?),
        Dimensions::Two => Ok(result.write_npy(output)?),
    }
}
