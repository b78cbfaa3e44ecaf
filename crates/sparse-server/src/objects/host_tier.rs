//! The host's memory, where matrices are that the device's has no bytes for, before they move on to disk.

use super::Store;
use super::object::{Content, Object, Resident};
use crate::error::StartError;
use crate::memory::ledger::{Ledger, Reservation};
use crate::problem::Problem;
use nnz::Device;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The memory of the host for matrices, with a ledger of its own. Backends copy from there through pinned memory where
/// their device has it.
#[derive(Debug)]
pub(crate) struct HostTier {
    /// The CPU, whose memory it is.
    host: Device,
    pub(crate) ledger: Arc<Ledger>,
}

impl HostTier {
    /// The tier of a device, of `bytes` bytes; none if they are 0.
    pub(crate) fn open(device: &Device, bytes: u64) -> Result<Option<Self>, StartError> {
        if bytes == 0 {
            return Ok(None);
        }
        let host = match device {
            Device::Cpu(_) => device.clone(),
            _ => Device::host().map_err(|error| StartError::Device(error.to_string()))?,
        };
        Ok(Some(Self { host, ledger: Ledger::new(bytes, None) }))
    }
}

impl Store {
    /// Moves the matrix of an object that nobody uses out of the device's memory: to the host's where it has the bytes
    /// once others there have moved on, else to disk.
    pub(super) fn move_out(&self, object: &Object, content: &mut Content) -> Result<(), Problem> {
        let Some(resident) = content.resident.clone() else { return Ok(()) };
        match self.copy_to_host(object, &resident)? {
            Some(copy) => content.host = Some(copy),
            None => self.spill(object, content, &resident)?,
        }
        content.resident = None;
        Ok(())
    }

    /// A copy in the host's memory; none if it does not fit there or cannot be made.
    fn copy_to_host(&self, object: &Object, resident: &Resident) -> Result<Option<Resident>, Problem> {
        let Some(tier) = &self.host_tier else { return Ok(None) };
        let Some(bytes) = self.reserve_host(tier, object)? else { return Ok(None) };
        let copy = resident.matrix.to_device(&tier.host).ok();
        Ok(copy.map(|matrix| Resident { matrix, _bytes: bytes }))
    }

    /// Reserves the host's memory for a matrix, for which others move on to disk; none if it does not fit.
    fn reserve_host(&self, tier: &HostTier, object: &Object) -> Result<Option<Reservation>, Problem> {
        let bytes = object.description.bytes;
        while bytes <= tier.ledger.capacity() {
            if let Ok(reservation) = tier.ledger.reserve(&object.tenant, bytes) {
                return Ok(Some(reservation));
            }
            if !self.spill_from_host()? {
                break;
            }
        }
        Ok(None)
    }

    /// Moves the object in the host's memory whose last use is longest ago to disk; false if there is none to move.
    fn spill_from_host(&self) -> Result<bool, Problem> {
        let mut objects = self.all();
        // Uses go on meanwhile, so that each is read once.
        objects.sort_by_cached_key(|object| object.last_use.load(Ordering::Relaxed));
        for object in objects {
            let Ok(mut content) = object.content.try_lock() else { continue };
            let Some(copy) = content.host.take() else { continue };
            if !content.is_removed
                && let Err(problem) = self.spill(&object, &mut content, &copy)
            {
                content.host = Some(copy);
                return Err(problem);
            }
            return Ok(true);
        }
        Ok(false)
    }

    /// Writes a matrix that leaves memory to disk, unless it is there already.
    fn spill(&self, object: &Object, content: &mut Content, from: &Resident) -> Result<(), Problem> {
        if content.segment.is_none() {
            let segment = self.disk.write_spilled(&from.matrix)?;
            self.disk.note(&object.record(Some(&segment)))?;
            content.segment = Some(segment);
        }
        Ok(())
    }
}
