//! The common data of every benchmark of a device.

use super::device_timer::DeviceTimer;
use crate::arguments::Arguments;
use crate::peer::interface::{Peer, Products};
use crate::report::Report;
use crate::value::Value;
use anyhow::Result;
use sparse_core::{Backend, Csr, Element, Space};
use sparse_device::{Buffer, Device};
use std::cell::RefCell;

/// Words of 8 bytes that fill every cache twice over.
const MORE_THAN_CACHE: usize = 1 << 24;

/// Seconds of the timed runs of one contender, at most.
const BUDGET: f64 = 0.1;

/// The common data of every benchmark of a device.
pub(super) struct Bench<'a, D: DeviceTimer> {
    pub(super) arguments: &'a Arguments,
    pub(super) device: Device,
    pub(super) peer: Option<D::Peer>,
    other: RefCell<OtherData>,
}

/// Two buffers that do not fit the cache.
pub(super) struct OtherData([Buffer<u64>; 2]);

impl OtherData {
    pub(super) fn new(device: &Device, arguments: &Arguments) -> sparse_core::Result<Self> {
        let words = if arguments.smoke { 1 << 10 } else { MORE_THAN_CACHE };
        Ok(Self([device.zeros(words)?, device.zeros(words)?]))
    }

    /// Fills the device's cache with them.
    pub(super) fn fill_cache(&mut self, device: &Device) -> sparse_core::Result<()> {
        let Self([from, to]) = self;
        device.copy(Device::view(from), Device::view_mut(to))
    }
}

/// A matrix, in both memories.
pub(super) struct Graph<'a, T: Value> {
    pub(super) name: &'a str,
    pub(super) host: &'a Csr<T>,
    pub(super) device: Csr<T, Device>,
}

/// The library to compare with, if it is selected and there; the reason why it is not is printed.
pub(super) fn peer<D: DeviceTimer>(device: &Device, arguments: &Arguments) -> Option<D::Peer> {
    let asked = D::Peer::ASKED_AS.is_some_and(|name| arguments.wants_peer(name));
    let peer = asked.then(|| D::Peer::connect(device))?;
    peer.inspect_err(|error| eprintln!("left out: {error}")).ok()
}

impl<'a, D: DeviceTimer> Bench<'a, D> {
    pub(super) fn new(arguments: &'a Arguments) -> Result<Self> {
        let device = D::device()?;
        let peer = peer::<D>(&device, arguments);
        let other = RefCell::new(OtherData::new(&device, arguments)?);
        Ok(Self { arguments, device, peer, other })
    }

    /// A report that begins with the device, its peer and its copy bandwidth.
    pub(super) fn report(&self) -> Result<Report> {
        let limit = self.copy_bandwidth()?;
        let caps = self.device.caps();
        let peer = self.peer.as_ref().map_or("no peer".into(), Products::name);
        let machine = format!(
            "{} ({}), {peer}; copies {:.1} GB/s, read and written",
            caps.device,
            caps.backend,
            limit / 1e9
        );
        Report::new(&machine, limit, self.arguments.rounds(BUDGET), self.arguments)
    }

    /// Bytes a second that a copy reads and writes: the best of ten.
    fn copy_bandwidth(&self) -> Result<f64> {
        let words = if self.arguments.smoke { 1 << 16 } else { 1 << 27 };
        let from = self.device.zeros::<u64>(words)?;
        let mut to = self.device.zeros::<u64>(words)?;
        let mut best = f64::INFINITY;
        for _ in 0..10 {
            let mut copy = || self.device.copy(Device::view(&from), Device::view_mut(&mut to));
            best = best.min(D::seconds(&self.device, &mut copy)?);
        }
        Ok((2 * words * size_of::<u64>()) as f64 / best)
    }

    /// Fills the device's cache with other data.
    pub(super) fn fill_cache(&self) -> sparse_core::Result<()> {
        self.other.borrow_mut().fill_cache(&self.device)
    }

    /// Writes `elements` into a buffer, repeated.
    pub(super) fn fill<T: Element>(&self, buffer: &mut Buffer<T>, elements: &[T]) -> sparse_core::Result<()> {
        let source = self.device.upload(elements)?;
        let len = sparse_core::space::Buffer::len(buffer);
        for start in (0..len).step_by(elements.len()) {
            let end = len.min(start + elements.len());
            let from = Device::slice(Device::view(&source), 0..end - start);
            self.device.copy(from, Device::slice_mut(Device::view_mut(buffer), start..end))?;
        }
        Ok(())
    }

    /// A buffer of `len` elements that repeat.
    pub(super) fn filled<T: Element>(&self, elements: &[T], len: usize) -> sparse_core::Result<Buffer<T>> {
        let mut buffer = self.device.zeros(len)?;
        self.fill(&mut buffer, elements)?;
        Ok(buffer)
    }
}
