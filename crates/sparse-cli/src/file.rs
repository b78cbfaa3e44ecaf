//! Input and output files, including `-`.

use crate::claim;
use crate::context::Context;
use crate::dispatch::with_type;
use crate::failure::usage;
use crate::rounding;
use anyhow::{Context as _, Result};
use nnz::error::checked_product;
use nnz::io::{self, FileKind, MatrixFile, Output, matrix_market, npy};
use nnz::op::Operations;
use nnz::reference::Reference;
use nnz::{Accumulator, Csr, DType, Dense, Host, Index, Order, SparseFormat};
use std::io::stdin;
use std::path::Path;

/// The name of standard input in messages.
pub(crate) const STDIN: &str = "<stdin>";

/// True for `-`, which means standard input and standard output.
pub(crate) fn is_standard(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Fails if several of the files to read are standard input, which can be read once.
pub(crate) fn check_inputs<'a>(paths: impl IntoIterator<Item = &'a Path>) -> Result<()> {
    if paths.into_iter().filter(|path| is_standard(path)).count() > 1 {
        return Err(usage("- stands for two files, but standard input can be read once"));
    }
    Ok(())
}

/// Opens a matrix file; `-` is standard input.
pub(crate) fn open(path: &Path) -> Result<MatrixFile> {
    if is_standard(path) {
        return Ok(MatrixFile::from_reader(STDIN, stdin().lock())?);
    }
    Ok(MatrixFile::open(path)?)
}

/// The output of a file; `-` is standard output.
pub(crate) fn output(path: &Path) -> Output<'_> {
    if is_standard(path) { Output::Stdout } else { Output::Path(path) }
}

/// The type for the values of a matrix: that of `--dtype`, or the file's own. Reports integers that it rounds.
pub(crate) fn dtype_of(file: &MatrixFile, context: &Context) -> Result<DType> {
    let dtype = match context.dtype() {
        Some(dtype) => dtype,
        None => file.value_type()?,
    };
    check_rounding(file, dtype, context)?;
    Ok(dtype)
}

/// Warns of integers of a file that `dtype` rounds, or refuses them.
pub(crate) fn check_rounding(file: &MatrixFile, dtype: DType, context: &Context) -> Result<()> {
    let rounded = with_type!(dtype, T => Ok(file.rounded_integers::<T>()?));
    rounded.and_then(|rounded| rounding::check(context, file.path(), rounded, dtype))
}

/// The kind of an output file; standard output gets Matrix Market.
fn output_kind(path: &Path) -> Result<FileKind> {
    if is_standard(path) { Ok(FileKind::MatrixMarket) } else { FileKind::of(path).map_err(usage) }
}

/// Fails early if the name of an output file has no known kind, or if it cannot be written.
pub(crate) fn check_output(path: &Path) -> Result<FileKind> {
    let kind = output_kind(path)?;
    output(path).check()?;
    Ok(kind)
}

/// Writes a matrix to a file of the kind of its name; to `.npy` as a dense array in C order.
pub(crate) fn write<T: Accumulator, I: Index, O: Index>(path: &Path, a: &Csr<T, Host, I, O>) -> Result<()> {
    match output_kind(path)? {
        FileKind::MatrixMarket => Ok(matrix_market::write_csr(output(path), a)?),
        FileKind::Npz => Ok(io::npz::write_csr(output(path), a)?),
        FileKind::Npy => {
            let mut dense = zeros(a).with_context(|| format!("writing {}", path.display()))?;
            Reference.to_dense(a, dense.as_view_mut())?;
            Ok(npy::write(output(path), dense.data(), &[a.rows(), a.cols()], Order::RowMajor)?)
        }
    }
}

/// A dense matrix of zeros in the shape of `a`; one that is far larger than `a` is an error.
fn zeros<T: Accumulator, I: Index, O: Index>(a: &Csr<T, Host, I, O>) -> Result<Dense<T>> {
    let len = checked_product("rows x columns", a.rows(), a.cols())?;
    claim::check(
        "a dense matrix",
        len.saturating_mul(size_of::<T>()),
        a.nnz().saturating_mul(size_of::<T>()),
    )?;
    Ok(Dense::zeros(a.rows(), a.cols(), Order::RowMajor)?)
}
