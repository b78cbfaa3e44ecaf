//! Divides the rows of a matrix among devices.

use super::MatrixOnDevices;
use super::thread_per_device::on_all;
use super::turn::Turn;
use super::typed_ranks::Ranks;
use crate::device::{Connections, HostBackend, connect};
use crate::runtime::dispatch::operand_errors::half_precision;
use crate::runtime::several_devices::rank::{AnyRank, Rank, RankKernels, host_rows};
use crate::runtime::{Format, Matrix};
use crate::{Device, ExchangePath};
use sparse_core::{Accumulator, DType, Error, Result, c32, c64};
use sparse_device::Device as Accelerator;
use sparse_distrib::{Local, Ownership};
use std::sync::Arc;

/// Several devices.
impl Matrix {
    /// A copy of the matrix with its rows divided among `devices` by their entries, as CSR with 32-bit indices. A
    /// device may be named several times.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let cpu = Device::host()?;
    /// let a = Matrix::from_typed(&cpu, nnz::generate::stencil_5::<f64>(8, 8)?)?;
    /// let divided = a.distribute(&[cpu.clone(), cpu])?; // as well cuda:0 and cuda:1
    /// assert!(divided.rows().eq([0..32, 32..64]) && divided.nnz() == a.nnz());
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Shape`](Error::Shape) without devices; [`Unsupported`](Error::Unsupported) for values of 16 bits;
    /// [`IndexOverflow`](Error::IndexOverflow) where a device would get 2³¹ entries or more; those of
    /// [`to_format`](Self::to_format), and what a device's runtime reports.
    pub fn distribute(&self, devices: &[Device]) -> Result<MatrixOnDevices> {
        self.distribute_by(devices, ExchangePath::Auto)
    }

    /// As [`distribute`](Self::distribute), with the path on which devices exchange elements.
    ///
    /// ```
    /// # use nnz::{ExchangePath, prelude::*};
    /// let cpu = Device::host()?;
    /// let a = Matrix::from_typed(&cpu, nnz::generate::stencil_5::<f64>(8, 8)?)?;
    /// assert_eq!(a.distribute(&[cpu.clone()])?.exchange(), "the host's memory");
    /// let refused = a.distribute_by(&[cpu.clone(), cpu], ExchangePath::Nccl).unwrap_err();
    /// assert!(refused.to_string().ends_with("cpu is not a CUDA device"));
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`distribute`](Self::distribute); the reason if the path is not available.
    pub fn distribute_by(&self, devices: &[Device], path: ExchangePath) -> Result<MatrixOnDevices> {
        match self.dtype() {
            DType::F32 => distribute::<f32>(self, devices, path),
            DType::F64 => distribute::<f64>(self, devices, path),
            DType::C32 => distribute::<c32>(self, devices, path),
            DType::C64 => distribute::<c64>(self, devices, path),
            half @ (DType::F16 | DType::Bf16) => Err(half_precision(half)),
        }
    }
}

fn distribute<T: Accumulator>(a: &Matrix, devices: &[Device], path: ExchangePath) -> Result<MatrixOnDevices>
where
    HostBackend: RankKernels<T>,
    Accelerator: RankKernels<T>,
{
    if devices.is_empty() {
        return Err(Error::shape("distribute", "there are no devices where at least one is needed"));
    }
    let csr = a.to_format(Format::Csr)?;
    let host = csr.on_host()?;
    let csr = host_rows::<T>(&csr, &host)?;
    let rows = csr.divide(devices.len())?;
    let parts: Vec<_> = (0..devices.len()).map(|rank| csr.rows(rows.range(rank))).collect::<Result<_>>()?;
    let columns = match a.nrows() == a.ncols() {
        true => rows.clone(),
        false => Ownership::even(a.ncols(), devices.len())?,
    };
    let Connections { peers, name: exchange } = connect::<T>(devices, path)?;
    let items = Local::group(devices.len()).into_iter().enumerate().zip(devices).zip(parts).collect();
    let ranks = on_all(items, |(((rank, end), device), part)| -> Result<Box<dyn AnyRank<T>>> {
        Ok(match device {
            Device::Cpu(backend) => Box::new(Rank::from_rows(Arc::new(end), backend, &part, Some(&columns))?),
            Device::Accelerator(backend, _) => {
                let peers = peers.get(rank).cloned();
                Box::new(Rank::from_rows(Arc::new(end), backend, &part, Some(&columns))?.with_peers(peers))
            }
        })
    })?;
    Ok(MatrixOnDevices {
        devices: devices.to_vec(),
        host: Device::host_with_threads(1)?,
        dtype: T::DTYPE,
        nnz: a.nnz(),
        rows,
        columns,
        exchange,
        turn: Turn::default(),
        ranks: Box::new(Ranks(ranks)),
    })
}
