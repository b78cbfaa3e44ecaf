//! Exchanges among the memories of CUDA devices of one process: by NCCL, or by copies from device to device.

mod access;
mod communicators;
mod copies;
mod nccl;

use crate::cu::CuDriver;
use crate::event::Mark;
use crate::memory::CuMemory;
use crate::queue::Queue;
use communicators::Communicators;
use copies::Mailbox;
use cudarc::driver::sys::CUdeviceptr;
use sparse_core::peer::{PeerExchange, Segment};
use sparse_core::space::View as _;
use sparse_core::{Element, Error, Result, Space};
use sparse_device::{Device, View, ViewMut};
use std::fmt::{self, Display};
use std::sync::{Arc, Mutex, PoisonError};

const OP: &str = "an exchange among devices";

/// The path of elements from one CUDA device to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PeerPath {
    /// NCCL, whose library (`libnccl.so.2`) is looked for at run time. It connects distinct devices.
    Nccl,
    /// Copies by the driver. A device may be there several times.
    Copies,
}

/// One device's end of the connections among several, which [`connect`] makes: a rank of a
/// [`PeerExchange`], to be used by one thread at a time.
///
/// Elements travel on a stream of their own, joined with the device's stream by events, so that the host waits for no
/// device.
#[derive(Debug)]
pub struct Peer {
    // Fields are dropped in this order: streams are done before NCCL ends.
    joint: Joint,
    route: Route,
    name: Arc<str>,
    turn: Mutex<()>,
}

/// The stream of a device and that of its exchanges.
#[derive(Debug)]
struct Joint {
    queue: Arc<Queue>,
    exchanges: Arc<Queue>,
    /// The end of what was enqueued on `queue` before an exchange.
    ready: Arc<Mark>,
    /// The end of an exchange.
    done: Arc<Mark>,
}

/// The way of elements.
#[derive(Debug)]
enum Route {
    Nccl { rank: usize, all: Arc<Communicators> },
    Copies(Mailbox),
}

/// Bytes in the memory of this rank's device that go to, or come from, another rank.
#[derive(Debug, Clone, Copy)]
struct Transfer {
    rank: usize,
    address: CUdeviceptr,
    bytes: usize,
}

/// Connects devices of this process: their ends, in the order of their ranks.
///
/// # Errors
/// [`Unsupported`](Error::Unsupported) with the reason why the path is not to be had: a device that is not CUDA's, one that
/// is there twice, no library; [`Backend`](Error::Backend) with what the library reports.
pub fn connect(devices: &[Device], path: PeerPath) -> Result<Vec<Peer>> {
    let joints = devices.iter().map(Joint::new).collect::<Result<Vec<_>>>()?;
    let is_direct = access::allow(joints.iter().map(|joint| &*joint.queue))?;
    let (name, routes): (Arc<str>, Vec<Route>) = match path {
        PeerPath::Nccl => {
            let all = Arc::new(Communicators::new(&joints)?);
            let routes = (0..joints.len()).map(|rank| Route::Nccl { rank, all: all.clone() });
            (all.name().into(), routes.collect())
        }
        PeerPath::Copies => {
            let name = if is_direct { "peer copies" } else { "copies that the driver stages" };
            (name.into(), Mailbox::group(joints.len()).into_iter().map(Route::Copies).collect())
        }
    };
    let peer = |(route, joint)| Peer { joint, route, name: name.clone(), turn: Mutex::default() };
    Ok(routes.into_iter().zip(joints).map(peer).collect())
}

impl Peer {
    /// The name of the path: `NCCL 2.28.3`, `peer copies`.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl<T: Element> PeerExchange<T, Device> for Peer {
    fn exchange(
        &self,
        outgoing: View<'_, T>,
        sends: &[Segment],
        incoming: ViewMut<'_, T>,
        receives: &[Segment],
        meanwhile: &mut dyn FnMut(),
    ) -> Result<()> {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let sends = self.joint.transfers(outgoing, sends);
        let receives = self.joint.transfers(Device::as_shared(&incoming), receives);
        match &self.route {
            Route::Nccl { rank, all } => all.exchange(*rank, &self.joint, sends, receives, meanwhile),
            Route::Copies(mailbox) => mailbox.exchange(&self.joint, sends, receives, meanwhile),
        }
    }
}

impl Joint {
    fn new(device: &Device) -> Result<Self> {
        let queue = device.driver_as::<CuDriver>()?.queue().clone();
        let exchanges = Arc::new(queue.urgent_sibling()?);
        let (ready, done) = (Mark::new(&queue)?, Mark::new(&queue)?);
        Ok(Self { queue, exchanges, ready: Arc::new(ready), done: Arc::new(done) })
    }

    /// The addresses of segments of a view; their ranks stay as they are, so that each can be told of an error.
    fn transfers<T: Element>(&self, view: View<'_, T>, segments: &[Segment]) -> Transfers {
        let transfer = |Segment { rank, range }: &Segment| {
            if range.end > view.len() {
                return Err(Error::shape(OP, format_args!("elements {range:?} of {}", view.len())));
            }
            let (memory, start) = view.place();
            let (offset, bytes) = (start + range.start * size_of::<T>(), range.len() * size_of::<T>());
            let address = CuMemory::of(memory, &self.queue)?.range(offset, bytes)?;
            Ok(Transfer { rank: *rank, address, bytes })
        };
        let ranks = segments.iter().map(|segment| segment.rank).collect();
        Transfers { ranks, all: segments.iter().map(transfer).collect() }
    }

    /// Lets the exchange that is enqueued next begin behind the work of the device so far.
    fn begin(&self) -> Result<()> {
        self.queue.refuse_in_recording(OP)?;
        self.ready.record(&self.queue)?;
        self.ready.precedes(&self.exchanges)
    }
}

/// The transfers of one exchange, or why they cannot be.
#[derive(Debug)]
struct Transfers {
    ranks: Vec<usize>,
    all: Result<Vec<Transfer>>,
}

impl Display for PeerPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Nccl => "NCCL",
            Self::Copies => "peer copies",
        })
    }
}
