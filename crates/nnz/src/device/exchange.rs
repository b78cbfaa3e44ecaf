//! The paths on which devices exchange elements of vectors.

use super::{BackendKind, Device};
use sparse_core::peer::PeerExchange;
use sparse_core::{Element, Error, Result};
use sparse_device::Device as Accelerator;
use sparse_distrib::SharedTransport;
#[cfg(feature = "cuda")]
use sparse_distrib::agree;
use std::fmt::{Display, Formatter};
use std::str::FromStr;
use std::sync::Arc;

/// The rank that makes NCCL's unique id.
#[cfg(feature = "cuda")]
const ROOT: usize = 0;
#[cfg(feature = "cuda")]
const OP: &str = "connect";

/// A path on which several devices exchange elements of vectors; results have the same bits on each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum ExchangePath {
    /// The first that is available: NCCL, copies from device to device, the host's memory.
    #[default]
    Auto,
    /// NVIDIA's NCCL, among distinct CUDA devices; `libnccl.so.2` is looked for at run time.
    Nccl,
    /// Copies from one CUDA device to another by the driver.
    Peer,
    /// The host's memory, among devices of any kind.
    Host,
}

impl ExchangePath {
    /// All paths.
    pub const ALL: [Self; 4] = [Self::Auto, Self::Nccl, Self::Peer, Self::Host];

    /// The name of the path, as the command has it.
    ///
    /// ```
    /// # use nnz::ExchangePath;
    /// assert_eq!(ExchangePath::Nccl.name(), "nccl");
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Nccl => "nccl",
            Self::Peer => "peer",
            Self::Host => "host",
        }
    }
}

impl Display for ExchangePath {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

/// Parses an [`ExchangePath::name`], in any case.
impl FromStr for ExchangePath {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|path| path.name().eq_ignore_ascii_case(name)).ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            Error::unsupported(format_args!("the exchange `{name}`"), format_args!("there are {names}"))
        })
    }
}

/// The connections of several devices for elements `T`.
pub(crate) struct Connections<T> {
    /// The ends, by rank; none where elements go through the host's memory.
    pub(crate) peers: Vec<Arc<dyn PeerExchange<T, Accelerator>>>,
    /// The path of elements, and why there is no faster one.
    pub(crate) name: String,
}

/// Connects devices by a path.
///
/// # Errors
/// If the requested path is not available, with the reason.
pub(crate) fn connect<T: Element>(devices: &[Device], path: ExchangePath) -> Result<Connections<T>> {
    let other = devices.iter().find(|device| device.caps().backend != BackendKind::Cuda.name());
    let mut reasons = vec![];
    match (path, other) {
        (ExchangePath::Host, _) => {}
        (ExchangePath::Auto, _) if devices.len() < 2 => {}
        (ExchangePath::Auto, Some(other)) => reasons.push(not_of_cuda(other)),
        (ExchangePath::Auto, None) => {
            for fast in [ExchangePath::Nccl, ExchangePath::Peer] {
                match connect_peers(devices, fast) {
                    Ok(connections) => return Ok(because(connections, &reasons)),
                    Err(error) => reasons.push(error.to_string()),
                }
            }
        }
        (_, Some(other)) => {
            return Err(Error::unsupported(format_args!("an exchange by {path}"), not_of_cuda(other)));
        }
        (_, None) => return connect_peers(devices, path),
    }
    Ok(because(Connections { peers: vec![], name: "the host's memory".into() }, &reasons))
}

fn not_of_cuda(device: &Device) -> String {
    format!("{device} is not a CUDA device")
}

fn because<T>(connections: Connections<T>, reasons: &[String]) -> Connections<T> {
    if reasons.is_empty() {
        return connections;
    }
    let name = format!("{} ({})", connections.name, reasons.join("; "));
    Connections { name, ..connections }
}

/// Connects the device of this rank with those of the other ranks: a collective call with the same path on all.
///
/// # Errors
/// On all ranks: if the requested path is not available, with the reason.
pub(crate) fn connect_ranks<T: Element>(
    transport: &dyn SharedTransport,
    device: &Device,
    path: ExchangePath,
) -> Result<Connections<T>> {
    let mut reasons = vec![];
    match path {
        ExchangePath::Host => {}
        ExchangePath::Auto if transport.ranks() < 2 => {}
        ExchangePath::Auto => match join_ranks(transport, device) {
            Ok(connections) => return Ok(connections),
            Err(error) => reasons.push(error.to_string()),
        },
        ExchangePath::Nccl => return join_ranks(transport, device),
        ExchangePath::Peer => {
            let reason = "devices of one process exchange by it, ranks by nccl or host";
            return Err(Error::unsupported(format_args!("an exchange by {path}"), reason));
        }
    }
    Ok(because(Connections { peers: vec![], name: "the host's memory".into() }, &reasons))
}

/// Connects the CUDA devices of all ranks by NCCL, if each has another. Ranks agree before they make calls that wait
/// for each other.
#[cfg(feature = "cuda")]
fn join_ranks<T: Element>(transport: &dyn SharedTransport, device: &Device) -> Result<Connections<T>> {
    let own = agree(transport, ROOT, OP, usable_by_nccl(transport, device))?;
    let uuids = transport.gather(ROOT, own.1.to_vec())?.unwrap_or_default();
    let uuids: Vec<[u8; 16]> = uuids.iter().filter_map(|uuid| uuid[..].try_into().ok()).collect();
    let id = if transport.rank() == ROOT { backend_cuda::unique_id(&uuids) } else { Ok(vec![]) };
    let id = transport.broadcast(ROOT, agree(transport, ROOT, OP, id)?)?;
    let peer = backend_cuda::join(own.0, &id, transport.rank(), transport.ranks());
    let peer = agree(transport, ROOT, OP, peer)?;
    Ok(Connections { name: peer.name().into(), peers: vec![Arc::new(peer)] })
}

/// The device of this rank and its UUID, if NCCL may connect it with those of the other ranks.
#[cfg(feature = "cuda")]
fn usable_by_nccl<'a>(
    transport: &dyn SharedTransport,
    device: &'a Device,
) -> Result<(&'a Accelerator, [u8; 16])> {
    let unsupported = |reason: String| Error::unsupported("an exchange by NCCL", reason);
    let accelerator = match device {
        Device::Accelerator(accelerator, _) if device.caps().backend == BackendKind::Cuda.name() => {
            accelerator
        }
        _ => return Err(unsupported(not_of_cuda(device))),
    };
    if transport.local_rank() != transport.rank() {
        return Err(unsupported("the ranks are on several hosts".into()));
    }
    backend_cuda::nccl_version()?;
    Ok((accelerator, backend_cuda::device_uuid(accelerator)?))
}

#[cfg(not(feature = "cuda"))]
fn join_ranks<T: Element>(_: &dyn SharedTransport, _: &Device) -> Result<Connections<T>> {
    Err(Error::unsupported("an exchange by NCCL", "CUDA is not built in"))
}

/// Connects CUDA devices by NCCL or by copies.
#[cfg(feature = "cuda")]
fn connect_peers<T: Element>(devices: &[Device], path: ExchangePath) -> Result<Connections<T>> {
    use backend_cuda::PeerPath;
    let accelerator = |device: &Device| match device {
        Device::Accelerator(accelerator, _) => Some(accelerator.clone()),
        Device::Cpu(_) => None,
    };
    let accelerators: Vec<_> = devices.iter().filter_map(accelerator).collect();
    let path = if path == ExchangePath::Nccl { PeerPath::Nccl } else { PeerPath::Copies };
    let peers = backend_cuda::connect(&accelerators, path)?;
    let name = peers.first().map_or_else(|| path.to_string(), |peer| peer.name().into());
    let end = |peer| Arc::new(peer) as Arc<dyn PeerExchange<T, Accelerator>>;
    Ok(Connections { peers: peers.into_iter().map(end).collect(), name })
}

#[cfg(not(feature = "cuda"))]
fn connect_peers<T: Element>(_: &[Device], path: ExchangePath) -> Result<Connections<T>> {
    Err(Error::unsupported(format_args!("an exchange by {path}"), "CUDA is not built in"))
}
