//! Run-time choice of a device.

mod backend_kind;
mod device_id;
mod exchange;
mod host;
mod opened;

pub use backend_kind::BackendKind;
pub use device_id::DeviceId;
pub use exchange::ExchangePath;
pub(crate) use exchange::{Connections, connect, connect_ranks};
pub(crate) use host::{HostBackend, host_backend, serial_host_backend};

use sparse_core::op::WithBackend;
use sparse_core::{Backend as _, Caps, ContextId, Error, Probe, Result};
use sparse_device::Device as Accelerator;
use sparse_distrib::calibrate::memory_bandwidth;
use std::fmt::Display;
use std::str::FromStr;

/// A device chosen at run time: `cpu`, `opencl:1`, `cuda:0`.
///
/// Work for it is a visitor that is generic in the backend:
///
/// ```
/// use nnz::prelude::*;
///
/// struct RowSums(Csr<f64>);
///
/// impl WithBackend for RowSums {
///     type Out = Result<Vec<f64>>;
///
///     fn call<B: AllTypes>(self, backend: &B) -> Self::Out {
///         let a = self.0.to_device(backend)?;
///         let ones = backend.upload(&vec![1.0; a.ncols()])?;
///         let mut y = backend.zeros(a.nrows())?;
///         let mut plan = SpmvPlan::new(backend, &a, Op::None, &PlanOptions::once())?;
///         plan.run(1.0, &a, B::Space::view(&ones), 0.0, B::Space::view_mut(&mut y))?;
///         backend.download(&y)
///     }
/// }
///
/// let device = Device::host()?;
/// assert_eq!(device.with(RowSums(Csr::identity(3)?))?, [1.0, 1.0, 1.0]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub enum Device {
    /// The host's processor: the CPU backend, or without the feature `cpu` the serial reference.
    Cpu(HostBackend),
    /// A device of OpenCL, SYCL or CUDA, and its name.
    Accelerator(Accelerator, DeviceId),
}

impl Device {
    /// The host's processor, which every build has: the CPU backend with a thread for each processor, or without the
    /// feature `cpu` the serial reference.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// assert!(Device::host()?.caps().is_cpu);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Backend`] if the operating system refuses the threads.
    pub fn host() -> Result<Self> {
        host_backend().map(Self::Cpu)
    }

    /// The host's processor with `threads` threads; see [`host`](Self::host).
    ///
    /// ```
    /// use nnz::Device;
    ///
    /// assert_eq!(Device::host_with_threads(1)?.caps().compute_units, 1);
    /// # Ok::<(), nnz::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`with_threads`](Self::with_threads).
    pub fn host_with_threads(threads: usize) -> Result<Self> {
        #[cfg(feature = "cpu")]
        let backend = HostBackend::with(threads, backend_cpu::Simd::detect())?;
        #[cfg(not(feature = "cpu"))]
        let (_, backend) = (threads, HostBackend::default());
        Ok(Self::Cpu(backend))
    }

    /// The best device that starts: of CUDA, else a GPU of OpenCL or SYCL, else the CPU backend's, else a processor of
    /// the host through OpenCL or SYCL.
    ///
    /// ```
    /// use nnz::Device;
    ///
    /// let device = Device::best()?;
    /// println!("{} on {}", device.caps().backend, device.caps().device);
    /// # Ok::<(), nnz::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Unsupported`] with every backend's reason if there is no device at all.
    pub fn best() -> Result<Self> {
        Self::best_for_rank(0)
    }

    /// The best device for the process with number `local_rank` among those of its host: equally good ones are taken in
    /// turn, from that of [`best`](Self::best) on.
    ///
    /// ```
    /// use nnz::{Device, distrib::transport::launched_local_rank};
    ///
    /// let local_rank = launched_local_rank().unwrap_or(0); // by mpirun or srun
    /// println!("{}", Device::best_for_rank(local_rank)?);
    /// # Ok::<(), nnz::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`best`](Self::best).
    pub fn best_for_rank(local_rank: usize) -> Result<Self> {
        // If there is a CUDA device, no other library is loaded.
        let mut reasons = match BackendKind::Cuda.open_for_rank(local_rank) {
            Ok(device) => return Ok(device),
            Err(error) => vec![error.to_string()],
        };
        let mut candidates = vec![];
        for kind in [BackendKind::OpenCl, BackendKind::Sycl, BackendKind::Cpu] {
            let devices = kind.probe().devices;
            let is_cpu = |id: &DeviceId| devices.get(id.index).is_some_and(|caps| caps.is_cpu);
            match kind.preferred() {
                Ok(preferred) => {
                    candidates.extend(preferred.into_iter().map(|id| (rank(kind, is_cpu(&id)), id)))
                }
                Err(error) => reasons.push(error.to_string()),
            }
        }
        candidates.sort_by_key(|&(rank, _)| rank);
        let equals = candidates.iter().take_while(|(rank, _)| *rank == candidates[0].0).count();
        candidates[..equals].rotate_left(local_rank % equals.max(1));
        for (_, id) in candidates {
            match id.open() {
                Ok(device) => return Ok(device),
                Err(error) => reasons.push(error.to_string()),
            }
        }
        Err(Error::unsupported("computing", reasons.join("; ")))
    }

    /// Every backend with its devices, or the reason why it has none; the position of a device is its index.
    ///
    /// ```
    /// use nnz::Device;
    ///
    /// for (backend, probe) in Device::probe() {
    ///     match probe.reason {
    ///         None => println!("{backend}: {} device(s)", probe.devices.len()),
    ///         Some(reason) => println!("{backend}: none, since {reason}"),
    ///     }
    /// }
    /// ```
    pub fn probe() -> [(BackendKind, Probe); 4] {
        BackendKind::ALL.map(|kind| (kind, kind.probe()))
    }

    /// Runs `visitor` on the device's backend.
    pub fn with<V: WithBackend>(&self, visitor: V) -> V::Out {
        match self {
            Self::Cpu(cpu) => visitor.call(cpu),
            Self::Accelerator(device, _) => visitor.call(device),
        }
    }

    /// The same device with `threads` threads on the host; only the CPU has any.
    ///
    /// ```
    /// use nnz::Device;
    ///
    /// let device = Device::host()?;
    /// assert_eq!(device.with_threads(1)?.caps().compute_units, 1);
    /// # Ok::<(), nnz::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Unsupported`] for 0 threads and for more than `Cpu::max_threads`; [`Error::Backend`] if the operating
    /// system refuses them.
    pub fn with_threads(self, threads: usize) -> Result<Self> {
        match self {
            #[cfg(feature = "cpu")]
            Self::Cpu(cpu) => backend_cpu::Cpu::with(threads, cpu.simd()).map(Self::Cpu),
            device => Ok(device),
        }
    }

    /// Identity and abilities of the device.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let device = Device::host()?;
    /// assert_eq!((device.caps().backend, device.caps().f64), ("cpu", true));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn caps(&self) -> &Caps {
        match self {
            Self::Cpu(cpu) => cpu.caps(),
            Self::Accelerator(device, _) => device.caps(),
        }
    }

    /// Waits until all work in the device's queue is done; returns at once on the CPU.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// "cpu".parse::<Device>()?.synchronize()?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// An error of the device's runtime, those of earlier work included.
    pub fn synchronize(&self) -> Result<()> {
        match self {
            Self::Cpu(cpu) => cpu.synchronize(),
            Self::Accelerator(device, _) => device.synchronize(),
        }
    }

    /// Bytes per second that the device reads and writes in its memory, as
    /// [`memory_bandwidth`](sparse_distrib::calibrate::memory_bandwidth) measures them each time.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// assert!("cpu".parse::<Device>()?.memory_bandwidth()? > 1e6);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`memory_bandwidth`](sparse_distrib::calibrate::memory_bandwidth).
    pub fn memory_bandwidth(&self) -> Result<f64> {
        match self {
            Self::Cpu(cpu) => memory_bandwidth(cpu),
            Self::Accelerator(device, _) => memory_bandwidth(device),
        }
    }

    /// Bytes of the device's memory that this process has allocated, as the device's library counts them; `None` except
    /// for CUDA.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// assert_eq!("cpu".parse::<Device>()?.allocated_bytes(), None);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn allocated_bytes(&self) -> Option<u64> {
        match self {
            Self::Cpu(_) => None,
            Self::Accelerator(device, _) => device.driver().allocated_bytes(),
        }
    }

    /// The context of the device's memory.
    pub(crate) fn context(&self) -> ContextId {
        match self {
            Self::Cpu(cpu) => cpu.context(),
            Self::Accelerator(device, _) => device.context(),
        }
    }
}

/// The name, which parses as the device: `cpu`, `cuda:0`.
impl Display for Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Cpu(_) => BackendKind::Cpu.fmt(f),
            Self::Accelerator(_, id) => id.fmt(f),
        }
    }
}

/// `Device(cuda:0)`: what a device consists of is in its [`caps`](Device::caps).
impl std::fmt::Debug for Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Device({self})")
    }
}

/// The rank of a device among all, the best first; those of one rank are in the order of their backends.
fn rank(backend: BackendKind, is_cpu: bool) -> u8 {
    match (backend, is_cpu) {
        (BackendKind::Cuda, _) => 0,
        (BackendKind::OpenCl | BackendKind::Sycl, false) => 1,
        (BackendKind::Cpu, _) => 2,
        (BackendKind::OpenCl | BackendKind::Sycl, true) => 3,
    }
}

/// Opens the device of a name; see [`DeviceId`] and, for a name without an index, [`BackendKind::open`].
impl FromStr for Device {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        match name.contains(':') {
            true => name.parse::<DeviceId>()?.open(),
            false => name.parse::<BackendKind>()?.open(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_backend_is_probed_and_an_empty_list_has_a_reason() {
        for (kind, probe) in Device::probe() {
            assert_eq!(probe.devices.is_empty(), probe.reason.is_some(), "{kind}");
            assert!(probe.devices.iter().all(|caps| caps.backend == kind.name()));
        }
    }

    #[test]
    fn cuda_comes_first_and_the_cpu_by_another_runtime_last() {
        use BackendKind::{Cpu, Cuda, OpenCl, Sycl};
        let mut devices =
            [(OpenCl, true), (Cpu, true), (Sycl, true), (Sycl, false), (OpenCl, false), (Cuda, false)];
        devices.sort_by_key(|&(backend, is_cpu)| rank(backend, is_cpu));
        let expected =
            [(Cuda, false), (Sycl, false), (OpenCl, false), (Cpu, true), (OpenCl, true), (Sycl, true)];
        assert_eq!(devices, expected);
    }

    #[cfg(feature = "cpu")]
    #[test]
    fn the_best_device_is_the_cpu_backend_where_there_is_no_gpu() {
        if Device::probe().iter().all(|(_, probe)| probe.devices.iter().all(|caps| caps.is_cpu)) {
            assert_eq!(Device::best().unwrap().caps().backend, "cpu");
        }
    }

    #[test]
    fn bad_names_say_what_would_have_been_right() {
        for (name, expected) in [
            ("gpu", "backend `gpu` is not supported: the backends are cpu, opencl, sycl and cuda"),
            ("cpu:first", "device `cpu:first` is not supported: `first` is not a device's index"),
        ] {
            assert_eq!(name.parse::<Device>().unwrap_err().to_string(), expected);
        }
        let error = "opencl:1".parse::<BackendKind>().unwrap_err().to_string();
        assert_eq!(error, "backend `opencl:1` is not supported: it is a device, of the backend opencl");
    }

    #[cfg(feature = "cpu")]
    #[test]
    fn the_cpu_has_one_device() {
        assert_eq!("cpu".parse::<Device>().unwrap().caps().backend, "cpu");
        assert_eq!(
            "cpu:1".parse::<Device>().unwrap_err().to_string(),
            "device cpu:1 is not supported: cpu has 1 device(s)"
        );
    }

    #[cfg(feature = "cpu")]
    #[test]
    fn numbers_of_threads_that_no_pool_can_have_are_refused() {
        let most = backend_cpu::Cpu::max_threads();
        for threads in [0, most + 1, 100_000, usize::MAX] {
            let error = "cpu".parse::<Device>().unwrap().with_threads(threads).unwrap_err();
            let what = format!("a CPU backend of {threads} threads is not supported");
            assert_eq!(error.to_string(), format!("{what}: from 1 to {most} can be had"));
        }
    }

    #[cfg(not(feature = "cuda"))]
    #[test]
    fn a_backend_that_is_not_built_in_names_its_feature() {
        let error = "cuda:1".parse::<Device>().unwrap_err();
        assert_eq!(error.to_string(), "device cuda:1 is not supported: built without the feature `cuda`");
    }
}
