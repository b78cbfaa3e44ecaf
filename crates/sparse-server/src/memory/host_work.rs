//! Memory of the host for what it makes for an accelerator: results, and factors of preconditioners.

use crate::memory::ledger::{Ledger, Reservation};
use crate::problem::{MemoryShortage, Problem};
use nnz::Device;
use std::sync::Arc;

/// The part of the host's memory: with eight devices they have half of it together.
const PART: u64 = 16;
/// The bytes where the system does not tell how much it has.
const UNKNOWN_BYTES: u64 = 1 << 30;

/// A ledger of the host's memory for what the host makes, of which each device has its own. On the CPU that of the
/// device's memory counts it.
#[derive(Debug)]
pub(crate) struct HostWork(Option<Arc<Ledger>>);

impl HostWork {
    /// The ledger of a device: a sixteenth of the memory that the host had when it was first asked.
    pub(crate) fn of(device: &Device) -> Self {
        if matches!(device, Device::Cpu(_)) {
            return Self(None);
        }
        let memory = Device::host().ok().and_then(|host| host.caps().memory_bytes);
        Self(Some(Ledger::new(memory.map_or(UNKNOWN_BYTES, |bytes| bytes / PART), None)))
    }

    /// Bytes of the host for one operation of a tenant; none where the device is the host.
    ///
    /// # Errors
    /// 507 if there are never as many, 429 if operations that run have them.
    pub(crate) fn reserve(&self, tenant: &str, bytes: u64) -> Result<Option<Reservation>, Problem> {
        let Some(ledger) = &self.0 else { return Ok(None) };
        ledger.reserve(tenant, bytes).map(Some).map_err(|refused| shortage(ledger, bytes, refused.free))
    }

    /// Fails with 507 if there are never as many bytes, whatever operations that run have.
    pub(crate) fn check(&self, bytes: u64) -> Result<(), Problem> {
        match &self.0 {
            Some(ledger) if bytes > ledger.capacity() => Err(shortage(ledger, bytes, ledger.free())),
            Some(_) | None => Ok(()),
        }
    }
}

/// The problem of bytes that are not free: 429 if they may be later, else 507.
fn shortage(ledger: &Ledger, needed: u64, free: u64) -> Problem {
    let capacity = ledger.capacity();
    let detail = format!(
        "the host does a part of this: {needed} bytes of its memory are needed, {free} of {capacity} are free"
    );
    Problem::memory(MemoryShortage { needed, free, evictable: 0 }, needed <= capacity, detail)
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::StatusCode;

    #[test]
    fn an_accelerator_has_bounded_memory_of_the_host() {
        let work = HostWork(Some(Ledger::new(100, None)));
        let first = work.reserve("a", 60).unwrap().unwrap();
        assert_eq!(work.reserve("b", 60).unwrap_err().status, StatusCode::TOO_MANY_REQUESTS);
        let refused = work.reserve("b", 101).unwrap_err();
        assert_eq!(refused.status, StatusCode::INSUFFICIENT_STORAGE);
        assert!(refused.detail().contains("101 bytes of its memory are needed, 40 of 100"));
        assert!(work.check(60).is_ok(), "they come back");
        assert_eq!(work.check(101).unwrap_err().status, StatusCode::INSUFFICIENT_STORAGE);
        drop(first);
        assert!(work.reserve("b", 100).is_ok_and(|reserved| reserved.is_some()));
        let host = HostWork::of(&Device::host().unwrap());
        assert!(host.reserve("a", u64::MAX).unwrap().is_none(), "the device's ledger counts them");
        assert!(host.check(u64::MAX).is_ok());
    }
}
