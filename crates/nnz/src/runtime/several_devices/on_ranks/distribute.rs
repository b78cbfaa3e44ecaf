//! Matrices on ranks: from the matrix of rank 0, or from a file.

use super::typed_rank::TypedRank;
use super::{MatrixOnRanks, ROOT};
use crate::device::{Connections, HostBackend, connect_ranks, serial_host_backend};
use crate::runtime::dispatch::operand_errors::half_precision;
use crate::runtime::several_devices::rank::{AnyRank, HostRows, Rank, RankKernels, host_rows};
use crate::runtime::{Format, Matrix};
use crate::{Device, ExchangePath};
use sparse_core::{Accumulator, DType, Error, Result, c32, c64};
use sparse_device::Device as Accelerator;
use sparse_distrib::{DistributedBackend, SharedTransport, agree, read_rows};
use sparse_io::MatrixFile;
use std::path::Path;
use std::sync::Arc;

const OP: &str = "distribute";

impl MatrixOnRanks {
    /// Divides the rows of the matrix that rank 0 has among all ranks of `transport`, by their entries, as CSR with
    /// 32-bit indices: a collective call. `device` is this rank's own.
    ///
    /// # Errors
    /// On all ranks, with the first rank that failed: [`Operands`](Error::Operands) if rank 0 has no matrix;
    /// [`Format`](Error::Format) if its rows are not sorted or have duplicates; those of [`Matrix::distribute`].
    pub fn from_root(
        transport: Arc<dyn SharedTransport>,
        device: &Device,
        a: Option<&Matrix>,
    ) -> Result<Self> {
        Self::from_root_by(transport, device, a, ExchangePath::Auto)
    }

    /// As [`from_root`](Self::from_root), with the path on which devices exchange elements, the same on all ranks.
    ///
    /// # Errors
    /// Those of [`from_root`](Self::from_root); on all ranks the reason if the path is not available.
    pub fn from_root_by(
        transport: Arc<dyn SharedTransport>,
        device: &Device,
        a: Option<&Matrix>,
        path: ExchangePath,
    ) -> Result<Self> {
        match dtype_of_root(&*transport, a)? {
            DType::F32 => distribute::<f32>(transport, (device, path), a),
            DType::F64 => distribute::<f64>(transport, (device, path), a),
            DType::C32 => distribute::<c32>(transport, (device, path), a),
            DType::C64 => distribute::<c64>(transport, (device, path), a),
            half @ (DType::F16 | DType::Bf16) => Err(half_precision(half)),
        }
    }

    /// Divides the rows of the matrix in a file, which are read as [`Matrix::read_csr`] reads them, with values of type
    /// `dtype`: a collective call with the same `path` and `dtype` on all ranks. The results are those of
    /// [`from_root`](Self::from_root), to the bit.
    ///
    /// Each rank reads its own rows if all ranks reach the file and it is CSR in an `.npz` file or a folder of such
    /// parts, or parses its lines of an uncompressed Matrix Market file of coordinates; no rank has the whole matrix
    /// then. Otherwise, and if there are duplicates, rank 0 reads all of it, as [`reading`](Self::reading) says.
    ///
    /// ```
    /// use nnz::distrib::{Local, Transport};
    /// use nnz::{MatrixOnRanks, prelude::*};
    /// use std::sync::Arc;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("a.npz");
    /// Matrix::from_typed(&Device::host()?, nnz::generate::stencil_5::<f64>(8, 8)?)?.write(&path)?;
    /// let entries = Local::run(2, |rank| {
    ///     let a = MatrixOnRanks::read(Arc::new(rank), &Device::host()?, &path, DType::F64)?;
    ///     assert_eq!(a.reading(), "each rank its rows");
    ///     Ok::<_, Error>(a.local_nnz())
    /// });
    /// assert_eq!(entries.into_iter().sum::<Result<usize>>()?, 288);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// On all ranks, with the first rank that failed: those of [`Matrix::read_csr`], or of [`Matrix::read_batch`] for a
    /// batch, at rank 0; those of [`from_root`](Self::from_root).
    pub fn read(
        transport: Arc<dyn SharedTransport>,
        device: &Device,
        path: impl AsRef<Path>,
        dtype: DType,
    ) -> Result<Self> {
        Self::read_by(transport, device, path, dtype, ExchangePath::Auto)
    }

    /// As [`read`](Self::read), with the path on which devices exchange elements, the same on all ranks.
    ///
    /// # Errors
    /// Those of [`read`](Self::read); on all ranks the reason if the path is not available.
    pub fn read_by(
        transport: Arc<dyn SharedTransport>,
        device: &Device,
        file: impl AsRef<Path>,
        dtype: DType,
        path: ExchangePath,
    ) -> Result<Self> {
        read_file(transport, (device, path), file.as_ref(), dtype)
    }
}

/// Not generic, so that the types are compiled here and not in each program that reads a file.
fn read_file(
    transport: Arc<dyn SharedTransport>,
    device_and_path: (&Device, ExchangePath),
    file: &Path,
    dtype: DType,
) -> Result<MatrixOnRanks> {
    match dtype {
        DType::F32 => read::<f32>(transport, device_and_path, file),
        DType::F64 => read::<f64>(transport, device_and_path, file),
        DType::C32 => read::<c32>(transport, device_and_path, file),
        DType::C64 => read::<c64>(transport, device_and_path, file),
        half @ (DType::F16 | DType::Bf16) => Err(half_precision(half)),
    }
}

/// The type of the root's values: a collective call.
fn dtype_of_root(transport: &dyn SharedTransport, a: Option<&Matrix>) -> Result<DType> {
    let own = match a {
        Some(a) if transport.rank() == ROOT => Ok(a.dtype().name()),
        None if transport.rank() == ROOT => Err(Error::operands(OP, "rank 0 has no matrix")),
        _ => Ok(""),
    };
    let name = transport.broadcast(ROOT, agree(transport, ROOT, OP, own)?.as_bytes().to_vec())?;
    String::from_utf8_lossy(&name).parse()
}

fn distribute<T: Accumulator>(
    transport: Arc<dyn SharedTransport>,
    (device, path): (&Device, ExchangePath),
    a: Option<&Matrix>,
) -> Result<MatrixOnRanks>
where
    HostBackend: RankKernels<T>,
    Accelerator: RankKernels<T>,
{
    let a = a.filter(|_| transport.rank() == ROOT);
    let csr = agree(&*transport, ROOT, OP, a.map(|a| a.to_format(Format::Csr)).transpose())?;
    let arrays = agree(&*transport, ROOT, OP, csr.as_ref().map(Matrix::on_host).transpose())?;
    let rows = csr.as_ref().zip(arrays.as_ref()).map(|(csr, arrays)| host_rows::<T>(csr, arrays));
    let rows = agree(&*transport, ROOT, OP, rows.transpose())?;
    let Connections { mut peers, name } = connect_ranks::<T>(&*transport, device, path)?;
    let rank: Box<dyn AnyRank<T>> = match device {
        Device::Cpu(backend) => Box::new(Rank::from_root(transport.clone(), backend, ROOT, rows)?),
        Device::Accelerator(backend, _) => {
            Box::new(Rank::from_root(transport.clone(), backend, ROOT, rows)?.with_peers(peers.pop()))
        }
    };
    join(transport, device, rank, ("rank 0 all rows".into(), name))
}

/// Reads each rank's rows on the rank itself, or all rows at the root.
fn read<T: Accumulator>(
    transport: Arc<dyn SharedTransport>,
    (device, path): (&Device, ExchangePath),
    file: &Path,
) -> Result<MatrixOnRanks>
where
    HostBackend: RankKernels<T>,
    Accelerator: RankKernels<T>,
{
    let rows: HostRows<T> = match read_rows(&*transport, file) {
        Ok(rows) => rows,
        Err(reason) => return read_at_root::<T>(transport, (device, path), file, &reason),
    };
    let Connections { mut peers, name } = connect_ranks::<T>(&*transport, device, path)?;
    let rank: Box<dyn AnyRank<T>> = match device {
        Device::Cpu(backend) => Box::new(Rank::from_rows(transport.clone(), backend, &rows, None)?),
        Device::Accelerator(backend, _) => {
            let rank = Rank::from_rows(transport.clone(), backend, &rows, None)?;
            Box::new(rank.with_peers(peers.pop()))
        }
    };
    join(transport, device, rank, ("each rank its rows".into(), name))
}

fn read_at_root<T: Accumulator>(
    transport: Arc<dyn SharedTransport>,
    (device, path): (&Device, ExchangePath),
    file: &Path,
    reason: &Error,
) -> Result<MatrixOnRanks>
where
    HostBackend: RankKernels<T>,
    Accelerator: RankKernels<T>,
{
    let read = || {
        let (file, host) = (MatrixFile::open(file)?, Device::Cpu(serial_host_backend()?));
        Matrix::read_csr(&host, &file, T::DTYPE)
    };
    let a = (transport.rank() == ROOT).then(read).transpose();
    let a = agree(&*transport, ROOT, OP, a)?;
    let distributed = distribute::<T>(transport, (device, path), a.as_ref())?;
    let reading = format!("{} ({reason})", distributed.reading);
    Ok(MatrixOnRanks { reading, ..distributed })
}

/// A rank with its rows, the way in which they were read, and the path of the exchange.
fn join<T: Accumulator>(
    transport: Arc<dyn SharedTransport>,
    device: &Device,
    rank: Box<dyn AnyRank<T>>,
    (reading, exchange): (String, String),
) -> Result<MatrixOnRanks> {
    let host = agree(&*transport, ROOT, OP, serial_host_backend())?;
    Ok(MatrixOnRanks {
        device: device.clone(),
        host: Device::Cpu(HostBackend::clone(&host)),
        dtype: T::DTYPE,
        reading,
        exchange,
        sizes: rank.sizes(),
        rank: Box::new(TypedRank { host: DistributedBackend::new(transport.clone(), host), rank }),
        transport,
    })
}
