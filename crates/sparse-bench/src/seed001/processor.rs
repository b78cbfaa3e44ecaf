//! The processors of this machine, each with a name.

use super::data::Data;
use crate::arguments::Arguments;
use anyhow::{Result, ensure};
use backend_cpu::{Cpu, Simd};
use backend_cuda::CUDA;
use backend_opencl::OPENCL;
use sparse_core::op::{DenseToCsrKernel, ScanKernel};
use sparse_core::{Axis, Backend, Row};
use sparse_device::{Device, Library};
use sparse_distrib::schedule::Policy;
use sparse_distrib::{DeviceWorker, Engine, Options, Report, Source, Worker};

/// A backend with the operations of the suite.
pub(super) trait Compresses: DenseToCsrKernel<f32, i32, i32> + ScanKernel<i32> {}

impl<B: DenseToCsrKernel<f32, i32, i32> + ScanKernel<i32>> Compresses for B {}

/// A processor and its name in figures.
#[derive(Clone)]
pub(super) struct Processor {
    pub(super) name: String,
    pub(super) backend: AnyBackend,
}

/// The backend of a processor.
#[derive(Clone)]
pub(super) enum AnyBackend {
    Cpu(Cpu),
    Device(Device),
}

/// Evaluates an expression with `$backend` bound to the backend of a processor.
macro_rules! with_backend {
    ($processor:expr, $backend:ident => $work:expr) => {
        match &$processor.backend {
            $crate::seed001::processor::AnyBackend::Cpu($backend) => $work,
            $crate::seed001::processor::AnyBackend::Device($backend) => $work,
        }
    };
}
pub(super) use with_backend;

impl Processor {
    /// `threads` threads of the host with an instruction set.
    pub(super) fn cpu(threads: usize, simd: Simd) -> Result<Self> {
        let plural = if threads == 1 { "" } else { "s" };
        let name = format!("{threads} thread{plural}, {}", simd.name());
        Ok(Self { name, backend: AnyBackend::Cpu(Cpu::with(threads, simd)?) })
    }

    /// The devices of a library that start: the one that the environment names, or all.
    fn devices(library: &'static Library) -> Result<Vec<Self>> {
        let indices = match library.probe().reason {
            None => library.preferred()?,
            Some(reason) => {
                println!("no {} device: {reason}", library.name);
                vec![]
            }
        };
        let open = |index| match library.open(index) {
            Ok(device) => {
                let name = format!("{}:{index}", library.name);
                println!("{name} is {}", device.caps().device);
                Some(Self { name, backend: AnyBackend::Device(device) })
            }
            Err(error) => {
                eprintln!("left out: {} device {index}: {error}", library.name);
                None
            }
        };
        Ok(indices.into_iter().filter_map(open).collect())
    }

    /// All processors: one thread without vector instructions of its own, all threads with them, and all devices.
    pub(super) fn all(arguments: &Arguments) -> Result<Vec<Self>> {
        let threads = arguments.threads.map_or_else(|| Cpu::new().map(|cpu| cpu.threads()), Ok)?;
        let mut all = vec![Self::cpu(1, Simd::Portable)?, Self::cpu(threads, Simd::detect())?];
        for library in [&OPENCL, &CUDA] {
            all.extend(Self::devices(library)?);
        }
        Ok(all)
    }

    /// True if it is a device and not threads of the host.
    pub(super) fn is_device(&self) -> bool {
        matches!(self.backend, AnyBackend::Device(_))
    }

    fn worker(&self, rate: Option<f64>) -> Box<dyn Worker<f32, i32, i32>> {
        fn boxed<B: Compresses>(
            worker: DeviceWorker<B, f32, i32, i32>,
            rate: Option<f64>,
        ) -> Box<dyn Worker<f32, i32, i32>> {
            match rate {
                Some(rate) => Box::new(worker.with_rate(rate)),
                None => Box::new(worker),
            }
        }
        match &self.backend {
            AnyBackend::Cpu(cpu) => boxed(DeviceWorker::new(cpu.clone()).named(&self.name), rate),
            AnyBackend::Device(device) => {
                boxed(DeviceWorker::new(device.clone()).named(&self.name).unpacking(), rate)
            }
        }
    }
}

/// An engine of some processors.
pub(super) struct Compressor {
    engine: Engine<f32>,
}

impl Compressor {
    /// An engine of processors whose rates are not known.
    pub(super) fn new(processors: &[Processor]) -> Result<Self> {
        Self::of(processors.iter().map(|processor| processor.worker(None)).collect())
    }

    /// An engine of processors with their rates, in dense bytes per second.
    pub(super) fn with_rates(processors: &[(Processor, f64)]) -> Result<Self> {
        let workers = processors.iter().map(|(processor, rate)| processor.worker(Some(*rate)));
        Self::of(workers.collect())
    }

    fn of(workers: Vec<Box<dyn Worker<f32, i32, i32>>>) -> Result<Self> {
        Ok(Self { engine: Engine::new(workers)?.with_host(Cpu::with(1, Simd::detect())?) })
    }

    /// Compresses `count` matrices to CSR in the devices' memory, by `policy` or the engine's own choice. The first and
    /// the last result, and the number of entries, are compared with the reference's.
    pub(super) fn run(&mut self, data: &Data, count: usize, policy: Option<Policy>) -> Result<Report> {
        self.compress(data, &data.source(count), &Options { policy, ..Options::default() })
    }

    /// As [`run`](Self::run), of a source that has the matrices of `data`.
    pub(super) fn compress(
        &mut self,
        data: &Data,
        source: &dyn Source<f32>,
        options: &Options<'_, f32>,
    ) -> Result<Report> {
        self.compress_to::<Row>(data, source, options)
    }

    /// As [`compress`](Self::compress), to CSR or CSC.
    pub(super) fn compress_to<A: Axis>(
        &mut self,
        data: &Data,
        source: &dyn Source<f32>,
        options: &Options<'_, f32>,
    ) -> Result<Report> {
        let count = source.len();
        let (handle, report) = self.engine.compress::<A>(source, options)?.complete()?;
        let who = || report.devices.iter().map(|device| device.name.as_str()).collect::<Vec<_>>().join(", ");
        ensure!(report.nnz == data.nnz(count) as u64, "{}: {} entries", who(), report.nnz);
        for item in [0, count - 1] {
            data.check(&who(), item, &handle.fetch(item)?)?;
        }
        Ok(report)
    }
}
