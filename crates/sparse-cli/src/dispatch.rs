//! Dispatch of types and backends known at run time to generic code: all instances of the command's code are made here.

use anyhow::{Result, bail};
use nnz::io::MatrixFile;
use nnz::op::{AllTypes, FullBackend, WithBackend};
use nnz::{Accumulator, Backend, Coo, Csr, DType, Device, Error, Host, Index, SpaceOf, SparseFormat};

/// A command on a matrix of the host.
pub(crate) trait Inspect {
    /// Runs the command on the matrix of a file, with sorted rows and without duplicates.
    fn call<T: Accumulator, I: Index, O: Index>(self, file: MatrixFile, a: Csr<T, Host, I, O>) -> Result<()>;
}

/// A command on a matrix of a device.
pub(crate) trait Compute {
    /// Runs the command on a matrix with sorted rows and without duplicates, which is still on the host.
    fn call<T, I, O, B>(self, a: Csr<T, Host, I, O>, backend: &B) -> Result<()>
    where
        T: Accumulator,
        I: Index,
        O: Index,
        B: FullBackend<T, I, O> + FullBackend<T, i32, i32>;
}

/// A command on a matrix in coordinates, which has too many rows for CSR.
pub(crate) trait ComputeCoordinates {
    /// Runs the command on a matrix with sorted entries, which is still on the host.
    fn call<T, B>(self, a: Coo<T, Host, i64>, backend: &B) -> Result<()>
    where
        T: Accumulator,
        B: FullBackend<T, i64, i64>;
}

/// `$run`, with `$T` as the type that `$dtype` names.
macro_rules! with_type {
    ($dtype:expr, $T:ident => $run:expr) => {
        match $dtype {
            nnz::DType::F32 => {
                type $T = f32;
                $run
            }
            nnz::DType::F64 => {
                type $T = f64;
                $run
            }
            nnz::DType::C32 => {
                type $T = nnz::c32;
                $run
            }
            nnz::DType::C64 => {
                type $T = nnz::c64;
                $run
            }
            half @ (nnz::DType::F16 | nnz::DType::Bf16) => {
                Err(nnz::Error::unsupported(half, "files and the command know f32, f64, c32 and c64").into())
            }
        }
    };
}
pub(crate) use with_type;

/// `$run` on the matrix of a file, with 32-bit indices where they fit and with 64-bit indices otherwise.
macro_rules! with_matrix {
    ($file:expr, $T:ty, $a:ident => $run:expr) => {
        match $file.read_csr::<$T, i32, i32>() {
            Err(Error::IndexOverflow { .. }) => {
                let $a = $file.read_csr::<$T, i64, i64>()?;
                $run
            }
            narrow => {
                let $a = narrow?;
                $run
            }
        }
    };
}

/// Reads a matrix with values of type `dtype` and passes it to a command.
pub(crate) fn inspect(file: MatrixFile, dtype: DType, command: impl Inspect) -> Result<()> {
    check_rows(&file)?;
    with_type!(dtype, T => with_matrix!(file, T, a => command.call(file, a)))
}

/// Reads a matrix with values of type `dtype` and passes it to a command with the backend of `device`.
pub(crate) fn compute(file: MatrixFile, dtype: DType, device: &Device, command: impl Compute) -> Result<()> {
    check_rows(&file)?;
    device.with(Read { file, dtype, command })
}

/// Does as [`compute`], for a matrix with any number of rows.
pub(crate) fn compute_coordinates(
    file: MatrixFile,
    dtype: DType,
    device: &Device,
    command: impl ComputeCoordinates,
) -> Result<()> {
    device.with(ReadCoordinates { file, dtype, command })
}

/// Fails if a matrix has too many rows for CSR, and names the format without offsets.
fn check_rows(file: &MatrixFile) -> Result<()> {
    if file.has_too_many_rows()? {
        let (path, claim) = (file.path().display(), file.claim()?);
        bail!(
            "{path}: {} rows are too many for csr with {} entries; convert, info, spmv and spmm read it with --format coo",
            claim.rows,
            claim.stored
        );
    }
    Ok(())
}

/// Moves a matrix to the memory of `backend`, and frees the original.
pub(crate) fn upload<M: SparseFormat<Space = Host>, B: Backend>(
    a: M,
    backend: &B,
) -> Result<M::In<SpaceOf<B>>> {
    Ok(a.to_device(backend)?)
}

struct Read<C> {
    file: MatrixFile,
    dtype: DType,
    command: C,
}

impl<C: Compute> WithBackend for Read<C> {
    type Out = Result<()>;

    fn call<B: AllTypes>(self, backend: &B) -> Result<()> {
        let Self { file, dtype, command } = self;
        with_type!(dtype, T => with_matrix!(file, T, a => {
            drop(file);
            command.call(a, backend)
        }))
    }
}

struct ReadCoordinates<C> {
    file: MatrixFile,
    dtype: DType,
    command: C,
}

impl<C: ComputeCoordinates> WithBackend for ReadCoordinates<C> {
    type Out = Result<()>;

    fn call<B: AllTypes>(self, backend: &B) -> Result<()> {
        let Self { file, dtype, command } = self;
        with_type!(dtype, T => {
            let a = sorted(file.read_coo::<T, i64>()?)?;
            drop(file);
            command.call(a, backend)
        })
    }
}

/// The entries by rows, then by columns; duplicates in input order.
fn sorted<T: Accumulator>(a: Coo<T, Host, i64>) -> nnz::Result<Coo<T, Host, i64>> {
    let mut entries: Vec<_> = a.triplets().collect();
    entries.sort_by_key(|&(row, col, _)| (row, col));
    Coo::<T, Host, i64>::from_triplets(a.rows(), a.cols(), entries)
}
