//! Account of the device's memory: every byte is reserved before it is used.

use crate::limits::usage::Usages;
use crate::lock::lock;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

/// Bytes in use, of all and of each tenant.
#[derive(Debug)]
pub(crate) struct Ledger {
    capacity: u64,
    /// The bytes that a tenant may have on all devices, if that is not all.
    quota: Option<u64>,
    /// The usage of tenants on other devices.
    pub(crate) elsewhere: Arc<Usages>,
    used: Mutex<Used>,
}

#[derive(Debug, Default)]
struct Used {
    total: u64,
    tenants: HashMap<String, u64>,
}

/// Bytes of a tenant, given back when dropped.
#[derive(Debug)]
pub(crate) struct Reservation {
    ledger: Arc<Ledger>,
    tenant: String,
    bytes: u64,
}

/// A reservation that was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Refused {
    /// Free bytes of the quota, or of the memory.
    pub(crate) free: u64,
    /// True if the tenant's quota is too small, not the memory.
    pub(crate) by_quota: bool,
}

impl Ledger {
    pub(crate) fn new(capacity: u64, quota: Option<u64>) -> Arc<Self> {
        Arc::new(Self { capacity, quota, elsewhere: Arc::default(), used: Mutex::default() })
    }

    pub(crate) fn reserve(self: &Arc<Self>, tenant: &str, bytes: u64) -> Result<Reservation, Refused> {
        let mut used = self.lock();
        let of_tenant = used.tenants.get(tenant).copied().unwrap_or(0);
        let taken = of_tenant.saturating_add(self.elsewhere.of(tenant).bytes);
        let free = self.capacity.saturating_sub(used.total);
        if let Some(free_of_tenant) = self.quota.map(|quota| quota.saturating_sub(taken))
            && bytes > free_of_tenant
        {
            return Err(Refused { free: free_of_tenant, by_quota: true });
        }
        if bytes > free {
            return Err(Refused { free, by_quota: false });
        }
        used.total += bytes;
        used.tenants.insert(tenant.into(), of_tenant + bytes);
        Ok(Reservation { ledger: self.clone(), tenant: tenant.into(), bytes })
    }

    /// True if `bytes` bytes could be reserved now.
    pub(crate) fn has_free(&self, tenant: &str, bytes: u64) -> bool {
        let used = self.lock();
        let of_tenant = used.tenants.get(tenant).copied().unwrap_or(0);
        let taken = of_tenant.saturating_add(self.elsewhere.of(tenant).bytes);
        let of_quota = self.quota.is_none_or(|quota| bytes <= quota.saturating_sub(taken));
        of_quota && bytes <= self.capacity.saturating_sub(used.total)
    }

    /// The most bytes that a tenant can ever have, on all devices if there is a quota.
    pub(crate) fn tenant_capacity(&self) -> u64 {
        self.quota.unwrap_or(self.capacity)
    }

    /// The most bytes that a tenant can ever have on this device.
    pub(crate) fn most_of_tenant(&self) -> u64 {
        self.tenant_capacity().min(self.capacity)
    }

    pub(crate) fn capacity(&self) -> u64 {
        self.capacity
    }

    pub(crate) fn used(&self) -> u64 {
        self.lock().total
    }

    pub(crate) fn free(&self) -> u64 {
        self.capacity.saturating_sub(self.used())
    }

    pub(crate) fn used_by(&self, tenant: &str) -> u64 {
        self.lock().tenants.get(tenant).copied().unwrap_or(0)
    }

    /// The tenants that have bytes.
    #[cfg(unix)]
    pub(crate) fn tenants(&self) -> Vec<String> {
        self.lock().tenants.keys().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, Used> {
        lock(&self.used)
    }
}

impl Reservation {
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Gives back what is above `bytes`.
    pub(crate) fn shrink_to(&mut self, bytes: u64) {
        let returned = self.bytes.saturating_sub(bytes);
        self.bytes -= returned;
        let mut used = self.ledger.lock();
        used.total -= returned;
        if let Some(of_tenant) = used.tenants.get_mut(&self.tenant) {
            *of_tenant -= returned;
            if *of_tenant == 0 {
                used.tenants.remove(&self.tenant);
            }
        }
    }

    /// Takes over the bytes of another reservation of the same tenant.
    pub(crate) fn merge(&mut self, mut other: Self) {
        self.bytes += std::mem::take(&mut other.bytes);
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.shrink_to(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::usage::Usage;

    #[test]
    fn bytes_come_back_and_quotas_hold() {
        let ledger = Ledger::new(100, Some(60));
        let mut a = ledger.reserve("a", 20).unwrap();
        a.merge(ledger.reserve("a", 40).unwrap());
        assert_eq!(ledger.reserve("a", 1).unwrap_err(), Refused { free: 0, by_quota: true });
        assert_eq!(ledger.reserve("b", 61).unwrap_err(), Refused { free: 60, by_quota: true });
        assert_eq!(ledger.reserve("b", 50).unwrap_err(), Refused { free: 40, by_quota: false });
        assert!(!ledger.has_free("a", 1) && ledger.has_free("b", 40) && !ledger.has_free("b", 41));
        let b = ledger.reserve("b", 40).unwrap();
        assert_eq!((ledger.used(), ledger.used_by("b")), (100, 40));
        a.shrink_to(50);
        assert_eq!(ledger.used(), 90);
        ledger.elsewhere.set("b", Usage { bytes: 15, ..Usage::default() });
        assert_eq!(ledger.reserve("b", 6).unwrap_err(), Refused { free: 5, by_quota: true });
        drop((a, b));
        assert_eq!((ledger.used(), ledger.lock().tenants.len()), (0, 0));
        let without_quota = Ledger::new(100, None);
        assert_eq!(without_quota.reserve("a", 101).unwrap_err(), Refused { free: 100, by_quota: false });
    }
}
