//! Exchanges among the memories of CUDA devices: by NCCL, also of several processes, or by copies from device to
//! device.

mod access;
mod communicators;
mod copies;
mod nccl;

use crate::cu::CuDriver;
use crate::error::failed;
use crate::event::Mark;
use crate::memory::CuMemory;
use crate::queue::Queue;
use communicators::{Communicators, library, unsupported};
use copies::Mailbox;
use cudarc::driver::sys::{self, CUdeviceptr, CUuuid_st};
use sparse_core::peer::{PeerExchange, Segment};
use sparse_core::space::View as _;
use sparse_core::{Element, Error, Result, Space};
use sparse_device::{Device, View, ViewMut};
use std::fmt::{self, Display};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
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

/// The path that elements take.
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
/// [`Unsupported`](Error::Unsupported) with the reason why the path is not to be had: a device that is not CUDA's, one
/// that is there twice, no library; [`Backend`](Error::Backend) with what the library reports.
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

/// The UUID of a device, which no other device of any host has.
///
/// # Errors
/// [`Unsupported`](Error::Unsupported) if it is not CUDA's; [`Backend`](Error::Backend) with what the driver reports.
pub fn device_uuid(device: &Device) -> Result<[u8; 16]> {
    let mut uuid = CUuuid_st { bytes: [0; 16] };
    let device = device.driver_as::<CuDriver>()?.queue().device();
    // SAFETY: the device was found, and the call writes one UUID.
    let asked = unsafe { sys::cuDeviceGetUuid_v2(&raw mut uuid, device) };
    asked.result().map_err(failed("cuDeviceGetUuid_v2"))?;
    Ok(uuid.bytes.map(|byte| byte as u8))
}

/// The number by which ranks of several processes find each other in [`join`]: one of them makes it, and sends it to
/// all others. `devices` are the UUIDs of the devices of all ranks.
///
/// # Errors
/// [`Unsupported`](Error::Unsupported) if two ranks have one device, or there is no library;
/// [`Backend`](Error::Backend) with what the library reports.
pub fn unique_id(devices: &[[u8; 16]]) -> Result<Vec<u8>> {
    let before = |rank: usize| devices[..rank].iter().position(|uuid| *uuid == devices[rank]);
    if let Some((first, rank)) = (0..devices.len()).find_map(|rank| Some((before(rank)?, rank))) {
        return Err(unsupported(format!(
            "ranks {first} and {rank} have the same device, and NCCL takes it once"
        )));
    }
    Ok(library()?.unique_id()?.0.to_vec())
}

/// Connects the device of this rank with those of the ranks of other processes by NCCL, and returns its end: a call
/// that waits for all ranks, each with a device of its own and the same `id`.
///
/// ```no_run
/// use backend_cuda::{CUDA, device_uuid, join, unique_id};
///
/// // One process; another is rank 1 of device 1, and has got the id of this one.
/// let devices = [CUDA.open(0)?, CUDA.open(1)?];
/// let id = unique_id(&[device_uuid(&devices[0])?, device_uuid(&devices[1])?])?;
/// let peer = join(&devices[0], &id, 0, 2)?;
/// println!("{}", peer.name());
/// # Ok::<(), sparse_core::Error>(())
/// ```
///
/// # Errors
/// [`Unsupported`](Error::Unsupported) if the device is not CUDA's or there is no library ([`nccl_version`] asks for it
/// before others wait); [`Backend`](Error::Backend) with what the library reports.
pub fn join(device: &Device, id: &[u8], rank: usize, ranks: usize) -> Result<Peer> {
    let joint = Joint::new(device)?;
    let all = Arc::new(Communicators::of_rank(&joint, id, rank, ranks)?);
    Ok(Peer { name: all.name().into(), joint, route: Route::Nccl { rank, all }, turn: Mutex::default() })
}

/// The version of NCCL.
///
/// # Errors
/// [`Unsupported`](Error::Unsupported) with the reason why its library is not to be had.
pub fn nccl_version() -> Result<String> {
    Ok(library()?.version())
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
        let mut panic = None;
        let mut meanwhile = || panic = catch_unwind(AssertUnwindSafe(&mut *meanwhile)).err();
        let exchanged = match &self.route {
            Route::Nccl { rank, all } => all.exchange(*rank, &self.joint, sends, receives, &mut meanwhile),
            Route::Copies(mailbox) => mailbox.exchange(&self.joint, sends, receives, &mut meanwhile),
        };
        // Only now does nothing more write to what the caller has lent.
        match panic {
            Some(panic) => resume_unwind(panic),
            None => exchanged,
        }
    }

    fn abandon(&self) {
        match &self.route {
            Route::Nccl { all, .. } if all.has_others() => all.end_all(),
            Route::Nccl { .. } | Route::Copies(_) => {}
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
