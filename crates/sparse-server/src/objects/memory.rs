//! The device's memory: leases on matrices, reservations, and evictions to the host's memory or to disk.

use super::Store;
use super::object::{Content, Defect, Object, Resident};
use crate::durable::{Description, ReadError, Segment};
use crate::lock::lock;
use crate::memory::heap;
use crate::memory::ledger::Reservation;
use crate::problem::{MemoryShortage, Problem};
use nnz::{Device, Format, Matrix};
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl Store {
    /// A lease on the matrix of an object, which comes from the host's memory or from disk if it was evicted.
    pub(crate) fn lease(&self, object: &Object) -> Result<Arc<Resident>, Problem> {
        self.lease_beside(object, 0)
    }

    /// As [`lease`](Self::lease), for a request that already owns `owned` bytes.
    pub(crate) fn lease_beside(&self, object: &Object, owned: u64) -> Result<Arc<Resident>, Problem> {
        object.last_use.store(self.clock.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        let mut content = lock(&object.content);
        if let Some(resident) = &content.resident {
            return Ok(resident.clone());
        }
        if content.is_removed && object.is_durable {
            let detail = format!("`{}` was deleted while this request waited", object.label());
            return Err(Problem::not_found(detail));
        }
        let loaded = match &content.defect {
            Some(defect) => Err(defect.clone()),
            None => match self.load(object, &content, owned) {
                Ok(resident) => Ok(resident),
                Err(ReadError::Corrupt(reason)) => Err(Defect::Corrupt(reason)),
                Err(ReadError::Passing(problem)) => return Err(problem),
            },
        };
        match loaded {
            Ok(resident) => {
                let resident = Arc::new(resident);
                content.resident = Some(resident.clone());
                content.host = None;
                Ok(resident)
            }
            Err(defect) => {
                let problem = defect.problem(&object.label());
                tracing::error!(tenant = object.tenant, "{problem:?}");
                content.defect = Some(defect);
                Err(problem)
            }
        }
    }

    /// Copies the matrix of an object to the device, from the host's memory or else from its file.
    fn load(&self, object: &Object, content: &Content, owned: u64) -> Result<Resident, ReadError> {
        let reserve = || {
            let bytes = object.description.bytes;
            self.reserve_beside(&object.tenant, bytes, owned).map_err(ReadError::Passing)
        };
        let passing = |problem: Problem| ReadError::Passing(problem.within(&object.label()));
        if let Some(copy) = &content.host {
            let bytes = reserve()?;
            let matrix = copy.matrix.to_device(&self.device).map_err(|error| passing(error.into()))?;
            return Ok(Resident { matrix, _bytes: bytes });
        }
        let Some(segment) = &content.segment else { return Err(ReadError::Corrupt("it has no file".into())) };
        let bytes = reserve()?;
        match read_segment(segment, &object.description, &self.device) {
            Ok(matrix) => Ok(Resident { matrix, _bytes: bytes }),
            Err(ReadError::Passing(problem)) => Err(passing(problem)),
            Err(corrupt) => Err(corrupt),
        }
    }

    /// Bytes of the device's memory, for which idle objects are evicted where they do not suffice.
    pub(crate) fn reserve(&self, tenant: &str, bytes: u64) -> Result<Reservation, Problem> {
        self.reserve_beside(tenant, bytes, 0)
    }

    /// As [`reserve`](Self::reserve), for a request that owns `owned` bytes, which do not come back while it waits.
    pub(crate) fn reserve_beside(
        &self,
        tenant: &str,
        bytes: u64,
        owned: u64,
    ) -> Result<Reservation, Problem> {
        let mut has_evicted = false;
        loop {
            let refused = match self.ledger.reserve(tenant, bytes) {
                Ok(reservation) => {
                    // Else the memory of what was evicted would stay in the heap, beside that of what comes.
                    if has_evicted && matches!(self.device, Device::Cpu(_)) {
                        heap::trim_all();
                    }
                    heap::limit_cache(self.ledger.capacity().saturating_sub(self.ledger.used()));
                    return Ok(reservation);
                }
                Err(refused) => refused,
            };
            let only = refused.by_quota.then_some(tenant);
            let evictable = self.evictable_bytes(only);
            if refused.free.saturating_add(evictable) >= bytes && self.evict(only)? {
                has_evicted = true;
                continue;
            }
            let shortage = MemoryShortage { needed: bytes, free: refused.free, evictable };
            let capacity =
                if refused.by_quota { self.ledger.tenant_capacity() } else { self.ledger.capacity() };
            // What other requests in flight hold comes back; what is pinned does not.
            let fixed = self.pinned_bytes(only).saturating_add(owned);
            let elsewhere = if refused.by_quota { self.ledger.elsewhere.of(tenant).bytes } else { 0 };
            let may_retry = bytes <= capacity.saturating_sub(fixed).saturating_sub(elsewhere);
            let whose = if refused.by_quota { "your quota" } else { "the device's memory" };
            let detail = format!(
                "{bytes} bytes are needed, {} of {whose} are free and {evictable} more can be evicted",
                refused.free
            );
            let lacking = bytes.saturating_sub(refused.free).min(elsewhere);
            return Err(Problem::memory(shortage, may_retry, detail).lacking(lacking));
        }
    }

    /// Makes a reservation for an estimate one for the bytes that were needed.
    pub(crate) fn settle(&self, reserved: &mut Reservation, tenant: &str, bytes: u64) -> Result<(), Problem> {
        match bytes.checked_sub(reserved.bytes()) {
            None | Some(0) => reserved.shrink_to(bytes),
            Some(more) => reserved.merge(self.reserve_beside(tenant, more, reserved.bytes())?),
        }
        Ok(())
    }

    /// Bytes of the objects of a request that are not pinned, which it leases while it computes.
    pub(crate) fn leased_bytes<'a>(&self, objects: impl IntoIterator<Item = &'a Arc<Object>>) -> u64 {
        let mut objects: Vec<_> = objects.into_iter().collect();
        objects.sort_by_key(|object| Arc::as_ptr(object));
        objects.dedup_by_key(|object| Arc::as_ptr(object));
        objects.retain(|object| !object.is_pinned.load(Ordering::Relaxed));
        objects.iter().map(|object| object.description.bytes).sum()
    }

    fn evictable_bytes(&self, tenant: Option<&str>) -> u64 {
        self.owned_by(tenant).map(|object| object.evictable_bytes()).sum()
    }

    /// Bytes of pinned objects, and of parts of matrices on several devices, which stay in memory, too.
    fn pinned_bytes(&self, tenant: Option<&str>) -> u64 {
        let objects = self.owned_by(tenant);
        #[cfg(unix)]
        let objects = objects.chain(of_tenant(self.all_copies(), tenant));
        let pinned = objects.filter(|object| object.is_pinned.load(Ordering::Relaxed));
        pinned.map(|object| object.description.bytes).sum()
    }

    fn owned_by(&self, tenant: Option<&str>) -> impl Iterator<Item = Arc<Object>> {
        of_tenant(self.all(), tenant)
    }

    /// Evicts objects of a tenant from the device's memory until `bytes` bytes are free; returns the free bytes.
    #[cfg(unix)]
    pub(crate) fn evict_bytes(&self, tenant: &str, bytes: u64) -> Result<u64, Problem> {
        let before = self.ledger.used_by(tenant);
        let evicted = || before.saturating_sub(self.ledger.used_by(tenant));
        while evicted() < bytes && self.evict(Some(tenant))? {}
        Ok(evicted())
    }

    /// Moves the object whose last use is longest ago out of the device's memory; false if there is none to move.
    fn evict(&self, tenant: Option<&str>) -> Result<bool, Problem> {
        let mut candidates: Vec<_> =
            self.owned_by(tenant).filter(|object| object.evictable_bytes() > 0).collect();
        // Uses go on meanwhile, so that each is read once.
        candidates.sort_by_cached_key(|object| object.last_use.load(Ordering::Relaxed));
        for object in candidates {
            let Ok(mut content) = object.content.try_lock() else { continue };
            if content.is_removed || !content.is_idle() {
                continue;
            }
            self.move_out(&object, &mut content)?;
            self.evictions.fetch_add(1, Ordering::Relaxed);
            return Ok(true);
        }
        Ok(false)
    }
}

fn of_tenant(objects: Vec<Arc<Object>>, tenant: Option<&str>) -> impl Iterator<Item = Arc<Object>> {
    objects.into_iter().filter(move |object| tenant.is_none_or(|tenant| object.tenant == tenant))
}

fn read_segment(segment: &Segment, description: &Description, device: &Device) -> Result<Matrix, ReadError> {
    let matrix = segment.read(device)?;
    Ok(to_format_named(matrix, &description.format)?)
}

/// The matrix of a file in the format that a description names; of a batch there is one alone.
pub(super) fn to_format_named(matrix: Matrix, format: &str) -> nnz::Result<Matrix> {
    match format.parse() {
        Ok(format) if matrix.members().is_none() && format != Format::Csr => matrix.to_format(format),
        _ => Ok(matrix),
    }
}
