//! Timing of the work of a device.

use super::memory_pool::MemoryPool;
use crate::peer::cusparse::Cusparse;
#[cfg(feature = "sycl")]
use crate::peer::interface::Nobody;
use crate::peer::interface::Peer;
use crate::peer::viennacl::ViennaCl;
use backend_cuda::{CUDA, Graph};
use backend_opencl::OPENCL;
#[cfg(feature = "sycl")]
use backend_opencl::sycl::{self, SYCL};
use sparse_core::{Backend, Result};
use sparse_device::{Device, Library};

/// A function that enqueues work.
pub(crate) type Work<'a> = dyn FnMut() -> Result<()> + 'a;

/// A library whose work can be timed, by the device's own clock.
pub(crate) trait DeviceTimer: 'static {
    /// The library.
    const LIBRARY: &'static Library;
    /// The library to compare with.
    type Peer: Peer;
    /// True if work can be recorded and replayed.
    const HAS_GRAPHS: bool;
    /// True if CuPy runs on such devices.
    const HAS_CUPY: bool;
    /// The name of the gather limit's kernel, with its language.
    const GATHER: &'static str;

    /// The device that the environment names.
    fn device() -> Result<Device>;

    /// The seconds from the start of the first work to the end of the last.
    fn seconds(device: &Device, work: &mut Work<'_>) -> Result<f64>;

    /// True if [`replayed`](Self::replayed) can record `work`.
    fn replays(_: &Device, _: &mut Work<'_>) -> bool {
        false
    }

    /// The seconds of `times` repetitions, recorded and then enqueued at once.
    fn replayed(device: &Device, times: usize, work: &mut Work<'_>) -> Result<f64> {
        Self::seconds(device, &mut || (0..times).try_for_each(|_| work()))
    }

    /// The bytes of the device's memory that are in use, if its driver says.
    fn bytes_in_use(_: &Device) -> Result<Option<u64>> {
        Ok(None)
    }

    /// Does `work`; returns the most bytes that were in use meanwhile, if the driver says.
    fn peak_bytes(_: &Device, work: &mut Work<'_>) -> Result<Option<u64>> {
        work()?;
        Ok(None)
    }
}

/// CUDA, beside cuSPARSE.
pub(crate) struct Cuda;

impl DeviceTimer for Cuda {
    const LIBRARY: &'static Library = &CUDA;
    type Peer = Cusparse;
    const HAS_GRAPHS: bool = true;
    const HAS_CUPY: bool = true;
    const GATHER: &'static str = "gather.cu";

    fn device() -> Result<Device> {
        CUDA.open_preferred()
    }

    fn seconds(device: &Device, work: &mut Work<'_>) -> Result<f64> {
        let start = backend_cuda::Event::record(device)?;
        work()?;
        backend_cuda::Event::record(device)?.seconds_since(&start)
    }

    fn replays(device: &Device, work: &mut Work<'_>) -> bool {
        Graph::record(device, work).is_ok()
    }

    /// The first launch of a graph, which also uploads it to the device, is not timed.
    fn replayed(device: &Device, times: usize, work: &mut Work<'_>) -> Result<f64> {
        let mut graph = Graph::record(device, || (0..times).try_for_each(|_| work()))?;
        graph.launch()?;
        Self::seconds(device, &mut || graph.launch())
    }

    fn bytes_in_use(device: &Device) -> Result<Option<u64>> {
        device.synchronize()?;
        MemoryPool::preferred()?.in_use().map(Some)
    }

    fn peak_bytes(device: &Device, work: &mut Work<'_>) -> Result<Option<u64>> {
        device.synchronize()?;
        let pool = MemoryPool::preferred()?;
        pool.reset()?;
        work()?;
        device.synchronize()?;
        pool.peak().map(Some)
    }
}

/// OpenCL, beside ViennaCL.
pub(crate) struct OpenCl;

impl DeviceTimer for OpenCl {
    const LIBRARY: &'static Library = &OPENCL;
    type Peer = ViennaCl;
    const HAS_GRAPHS: bool = false;
    const HAS_CUPY: bool = false;
    const GATHER: &'static str = "gather.cl";

    fn device() -> Result<Device> {
        backend_opencl::with_clock(OPENCL.preferred_index()?)
    }

    fn seconds(device: &Device, work: &mut Work<'_>) -> Result<f64> {
        let start = backend_opencl::Event::record(device)?;
        work()?;
        backend_opencl::Event::record(device)?.seconds_since(&start)
    }
}

/// SYCL.
#[cfg(feature = "sycl")]
pub(crate) struct Sycl;

#[cfg(feature = "sycl")]
impl DeviceTimer for Sycl {
    const LIBRARY: &'static Library = &SYCL;
    type Peer = Nobody;
    const HAS_GRAPHS: bool = false;
    const HAS_CUPY: bool = false;
    const GATHER: &'static str = "gather.cl";

    fn device() -> Result<Device> {
        sycl::with_clock(SYCL.preferred_index()?)
    }

    fn seconds(device: &Device, work: &mut Work<'_>) -> Result<f64> {
        let start = sycl::Event::record(device)?;
        work()?;
        sycl::Event::record(device)?.seconds_since(&start)
    }
}
