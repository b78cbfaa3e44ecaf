//! Input and output files, including `-`.

use crate::claim;
use crate::context::Context;
use crate::failure::usage;
use crate::rounding;
use anyhow::{Context as _, Result, bail};
use nnz::error::checked_product;
use nnz::io::{FileKind, MatrixFile, Output, npy};
use nnz::{DType, Device, Matrix, with_dtype};
use std::fs::{Metadata, metadata};
use std::io::stdin;
use std::path::{Path, PathBuf};

/// The commands that read coordinates as they are, for messages.
const COORDINATE_COMMANDS: &str =
    "add, convert, info, multiply, norm, reduce, slice, spmm, spmv, spy and transpose";

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

/// True for the names of standard output.
pub(crate) fn is_stdout(path: &Path) -> bool {
    is_standard(path) || path.as_os_str() == "/dev/stdout"
}

/// The file to write, named by `-o` or, as `cp` has it, last.
pub(crate) fn named_output(option: Option<PathBuf>, last: Option<PathBuf>) -> Result<PathBuf> {
    option.or(last).ok_or_else(|| usage("name the file to write: -o FILE"))
}

/// The output of a file; `-` is standard output.
pub(crate) fn output(path: &Path) -> Output<'_> {
    if is_stdout(path) { Output::Stdout } else { Output::Path(path) }
}

/// Writes numbers of rows as an array of 64-bit integers.
pub(crate) fn write_indices(path: &Path, indices: &[usize]) -> Result<()> {
    let indices: Vec<i64> = indices.iter().map(|&index| index as i64).collect();
    Ok(npy::write_indices(output(path), &indices)?)
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
    let rounded = with_dtype!(dtype, T => file.rounded_integers::<T>())?;
    rounding::check(context, file.path(), rounded, dtype)
}

/// The kind of an output file; a stream gets Matrix Market.
fn output_kind(path: &Path) -> Result<FileKind> {
    if is_stream(path) { Ok(FileKind::MatrixMarket) } else { FileKind::of(path).map_err(usage) }
}

/// True for standard output, and for a device or pipe whose name says no kind, such as `/dev/null`.
pub(crate) fn is_stream(path: &Path) -> bool {
    let is_special = |found: Metadata| !found.is_file() && !found.is_dir();
    is_stdout(path) || (FileKind::of(path).is_err() && metadata(path).is_ok_and(is_special))
}

/// Fails early if the name of an output file has no known kind, or if it cannot be written.
pub(crate) fn check_output(path: &Path) -> Result<FileKind> {
    let kind = output_kind(path)?;
    output(path).check()?;
    Ok(kind)
}

/// Fails early unless the name of an output file ends in `.npz` and it can be written.
pub(crate) fn check_npz_output(path: &Path) -> Result<()> {
    if !is_stream(path) && FileKind::of(path).map_err(usage)? != FileKind::Npz {
        return Err(usage(format_args!("{}: a name that ends in .npz is needed", path.display())));
    }
    Ok(output(path).check()?)
}

/// Fails early unless the name of an output file ends in `.npy` and it can be written.
pub(crate) fn check_npy_output(path: &Path) -> Result<()> {
    if !is_stream(path) && !FileKind::of(path).is_ok_and(|kind| kind == FileKind::Npy) {
        return Err(usage(format_args!("{}: a name that ends in .npy is needed", path.display())));
    }
    Ok(output(path).check()?)
}

/// The matrix of a file as CSR in the memory of `device`, with sorted rows and without duplicates.
pub(crate) fn read(file: &MatrixFile, dtype: DType, device: &Device) -> Result<Matrix> {
    check_rows(file)?;
    Ok(Matrix::read_csr(device, file, dtype)?)
}

/// Fails if a matrix has too many rows for CSR.
pub(crate) fn check_rows(file: &MatrixFile) -> Result<()> {
    if file.has_too_many_rows()? {
        let (path, claim) = (file.path().display(), file.claim()?);
        bail!(
            "{path}: {} rows are too many for csr with {} entries; {COORDINATE_COMMANDS} read it with --format coo",
            claim.rows,
            claim.stored
        );
    }
    Ok(())
}

/// The matrix of a file: a batch as it is, and any other as [`read`] has it.
pub(crate) fn read_or_batch(file: &MatrixFile, dtype: DType, device: &Device) -> Result<Matrix> {
    if file.batch_format()?.is_some() {
        return Ok(Matrix::read_batch(device, file, dtype)?);
    }
    read(file, dtype, device)
}

/// Writes a matrix to a file of the kind of its name; to `.npy` as a dense array in C order.
pub(crate) fn write(path: &Path, a: &Matrix) -> Result<()> {
    let kind = output_kind(path)?;
    if kind == FileKind::Npy {
        check_dense(a).with_context(|| format!("writing {}", path.display()))?;
    }
    Ok(a.write_as(output(path), kind)?)
}

/// Fails if a dense matrix in the shape of `a` would be far larger than `a`.
fn check_dense(a: &Matrix) -> Result<()> {
    let len = checked_product("rows x columns", a.nrows(), a.ncols())?;
    let element_bytes = a.dtype().bytes();
    claim::check("a dense matrix", len.saturating_mul(element_bytes), a.nnz().saturating_mul(element_bytes))
}
