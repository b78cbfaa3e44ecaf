//! The engine of a set's devices.

use super::workers::{check_devices, worker};
use super::{MatrixSet, MatrixSetOptions};
use crate::device::{HostBackend, host_backend, serial_host_backend};
use crate::runtime::dispatch::operand_errors::keep;
use crate::{Device, Format};
use sparse_core::op::{DenseToCsrKernel, Keep};
use sparse_core::{Col, Error, Result, Row, Scalar};
use sparse_device::Device as Accelerator;
use sparse_distrib::{
    Calibration, Engine, NpySource, Options, Outcome, Rates, Report, Scheme, Source, Target, Transport,
};

/// The engine of some devices, with its options.
pub(super) struct Preparation<T: Scalar> {
    engine: Engine<T>,
    rates: Option<Rates>,
    keep: Keep<T>,
    is_by_rows: bool,
}

impl<T: Scalar> Preparation<T>
where
    HostBackend: DenseToCsrKernel<T, i32, i32>,
    Accelerator: DenseToCsrKernel<T, i32, i32>,
{
    /// `moves` is true if matrices cross a link.
    pub(super) fn new(devices: &[Device], options: &MatrixSetOptions<'_>, moves: bool) -> Result<Self> {
        check_devices(devices)?;
        let is_by_rows = match options.format {
            Format::Csr => true,
            Format::Csc => false,
            other => {
                return Err(Error::unsupported(format_args!("compression to {other}"), "csr and csc are"));
            }
        };
        let keep = keep::<T>("compress", options.tolerance)?;
        let workers = devices.iter().map(|device| worker(device, options.memory)).collect();
        let mut engine = Engine::<T>::new(workers)?;
        let has_accelerator = devices.iter().any(|device| matches!(device, Device::Accelerator(..)));
        let chooses = options.scheme.is_none() && has_accelerator && moves;
        let mut rates = None;
        if chooses || options.explain || options.scheme.is_some_and(|scheme| scheme != Scheme::Sfc) {
            if chooses || options.explain {
                rates = Some(rates_of(devices, &host_of(devices)?)?);
            }
            engine = engine.with_host(serial_host_backend()?);
        }
        Ok(Self { engine, rates, keep, is_by_rows })
    }

    fn options<'a>(&self, options: &MatrixSetOptions<'a>) -> Options<'a, T> {
        let &MatrixSetOptions { policy, scheme, parallelism, partition, progress, cancel, .. } = options;
        let (rates, keep) = (self.rates, self.keep);
        Options {
            policy,
            scheme,
            parallelism,
            rates,
            partition,
            keep,
            progress,
            cancel,
            ..Options::default()
        }
    }

    /// Compresses all matrices of a source; without any they have `member_shape`.
    pub(super) fn compress(
        mut self,
        source: &dyn Source<T>,
        member_shape: (usize, usize),
        options: &MatrixSetOptions<'_>,
    ) -> Result<(MatrixSet, Report)> {
        let options = self.options(options);
        if self.is_by_rows {
            let Outcome { handle, report } = self.engine.compress::<Row>(source, &options)?;
            return Ok((MatrixSet::new(handle.with_empty_shape(member_shape)), report));
        }
        let Outcome { handle, report } = self.engine.compress::<Col>(source, &options)?;
        Ok((MatrixSet::new(handle.with_empty_shape(member_shape)), report))
    }

    pub(super) fn compress_on_ranks(
        mut self,
        transport: &dyn Transport,
        source: &NpySource,
        options: &MatrixSetOptions<'_>,
    ) -> Result<(Option<MatrixSet>, Report)> {
        let (options, shape) = (self.options(options), member_shape(source));
        if self.is_by_rows {
            let (handle, report) = self.engine.compress_on_ranks::<Row>(transport, source, &options)?;
            return Ok((handle.map(|handle| MatrixSet::new(handle.with_empty_shape(shape))), report));
        }
        let (handle, report) = self.engine.compress_on_ranks::<Col>(transport, source, &options)?;
        Ok((handle.map(|handle| MatrixSet::new(handle.with_empty_shape(shape))), report))
    }
}

/// The backend by which the host compresses: that of the CPU among the devices, else a new one.
fn host_of(devices: &[Device]) -> Result<HostBackend> {
    let backend = |device: &Device| match device {
        Device::Cpu(backend) => Some(HostBackend::clone(backend)),
        Device::Accelerator(..) => None,
    };
    devices.iter().find_map(backend).map_or_else(host_backend, Ok)
}

/// The rates of the accelerators among the devices, which count as equal ones, or else of the CPU.
fn rates_of(devices: &[Device], host: &HostBackend) -> Result<Rates> {
    let accelerators = devices.iter().filter_map(|device| match device {
        Device::Cpu(_) => None,
        Device::Accelerator(backend, _) => Some(backend),
    });
    let (calibration, driver) = (Calibration::of_user(), "");
    match accelerators.clone().next() {
        Some(backend) => calibration.rates(host, &Target { backend, devices: accelerators.count(), driver }),
        None => calibration.rates(host, &Target { backend: host, devices: 1, driver }),
    }
}

/// (rows, columns) of the matrices of a source, which may be none, if all files have the same.
pub(super) fn member_shape(source: &NpySource) -> (usize, usize) {
    let mut shapes = source.stacks().map(|(_, shape)| shape);
    let first = shapes.next().unwrap_or_default();
    if shapes.all(|shape| shape == first) { first } else { (0, 0) }
}
