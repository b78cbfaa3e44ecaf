//! How the work of a device is timed.

use super::gather;
use super::peer::{Nobody, Peer};
use crate::peer::cusparse::Cusparse;
use backend_cuda::{CuDriver, Event, Graph};
use backend_opencl::ClDriver;
use kernels_core::File;
use sparse_core::{Backend, Result};
use sparse_device::{Device, Driver};
use std::time::Instant;

/// Something that enqueues work.
pub(crate) type Work<'a> = dyn FnMut() -> Result<()> + 'a;

/// A driver whose work can be timed.
pub(crate) trait Measured: Driver {
    /// The library that ours is compared with.
    type Peer: Peer<Self>;
    /// Whether times are the device's own, so that a single launch can be measured.
    const HAS_EVENTS: bool;
    /// The kernel of the gather limit.
    const GATHER: File;

    /// The seconds from the begin of the first work to the end of the last.
    fn seconds(device: &Device<Self>, work: &mut Work<'_>) -> Result<f64>;

    /// Whether [`replayed`](Self::replayed) can record `work`.
    fn replays(_: &Device<Self>, _: &mut Work<'_>) -> bool {
        false
    }

    /// The seconds of `times` repetitions, recorded and then enqueued at once.
    fn replayed(device: &Device<Self>, times: usize, work: &mut Work<'_>) -> Result<f64> {
        Self::seconds(device, &mut || (0..times).try_for_each(|_| work()))
    }
}

impl Measured for CuDriver {
    type Peer = Cusparse;
    const HAS_EVENTS: bool = true;
    const GATHER: File = gather::file("gather.cu");

    fn seconds(device: &Device<Self>, work: &mut Work<'_>) -> Result<f64> {
        let start = Event::record(device)?;
        work()?;
        Event::record(device)?.seconds_since(&start)
    }

    fn replays(device: &Device<Self>, work: &mut Work<'_>) -> bool {
        Graph::record(device, work).is_ok()
    }

    /// The first launch of a graph, which also brings it to the device, is not timed.
    fn replayed(device: &Device<Self>, times: usize, work: &mut Work<'_>) -> Result<f64> {
        let mut graph = Graph::record(device, || (0..times).try_for_each(|_| work()))?;
        graph.launch()?;
        Self::seconds(device, &mut || graph.launch())
    }
}

/// Between two moments at which the queue is empty: what a single launch takes drowns in the waiting.
impl Measured for ClDriver {
    type Peer = Nobody;
    const HAS_EVENTS: bool = false;
    const GATHER: File = gather::file("gather.cl");

    fn seconds(device: &Device<Self>, work: &mut Work<'_>) -> Result<f64> {
        device.synchronize()?;
        let start = Instant::now();
        work()?;
        device.synchronize()?;
        Ok(start.elapsed().as_secs_f64())
    }
}
