//! The engine of a set's devices.

use super::{MatrixSet, MatrixSetOptions, check_devices, worker};
use crate::device::{HostBackend, host_backend, serial_host_backend};
use crate::runtime::fit::factor;
use crate::{Device, Format};
use sparse_core::op::{DenseToCsrKernel, Keep, RealOf};
use sparse_core::{Col, Error, Result, Row, Scalar};
use sparse_device::Device as Accelerator;
use sparse_distrib::{
    Calibration, Engine, NpySource, Options, Outcome, Rates, Report, Scheme, Source, Target, Transport,
};

/// The engine of some devices, and what it needs of the options.
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
    /// `moves` says whether matrices cross a link.
    pub(super) fn new(devices: &[Device], options: &MatrixSetOptions<'_>, moves: bool) -> Result<Self> {
        check_devices(devices)?;
        let is_by_rows = match options.format {
            Format::Csr => true,
            Format::Csc => false,
            other => {
                return Err(Error::unsupported(format_args!("compression to {other}"), "csr and csc are"));
            }
        };
        let keep = match options.tolerance {
            None => Keep::NonZero,
            Some(tolerance) => {
                Keep::Above(factor::<RealOf<T>>("compress", "the tolerance", tolerance.into())?)
            }
        };
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

    pub(super) fn compress(
        mut self,
        source: &dyn Source<T>,
        options: &MatrixSetOptions<'_>,
    ) -> Result<(MatrixSet, Report)> {
        let options = self.options(options);
        if self.is_by_rows {
            let Outcome { handle, report } = self.engine.compress::<Row>(source, &options)?;
            return Ok((MatrixSet::new(handle), report));
        }
        let Outcome { handle, report } = self.engine.compress::<Col>(source, &options)?;
        Ok((MatrixSet::new(handle), report))
    }

    pub(super) fn compress_on_ranks(
        mut self,
        transport: &dyn Transport,
        source: &NpySource,
        options: &MatrixSetOptions<'_>,
    ) -> Result<(Option<MatrixSet>, Report)> {
        let options = self.options(options);
        if self.is_by_rows {
            let (handle, report) = self.engine.compress_on_ranks::<Row>(transport, source, &options)?;
            return Ok((handle.map(MatrixSet::new), report));
        }
        let (handle, report) = self.engine.compress_on_ranks::<Col>(transport, source, &options)?;
        Ok((handle.map(MatrixSet::new), report))
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
