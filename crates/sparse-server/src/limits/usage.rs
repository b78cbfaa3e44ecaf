//! The usage of a tenant on a device and on the other devices of its service: its limits are for all of them together.

use crate::lock::lock;
use crate::problem::{MemoryShortage, Problem};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::sync::Mutex;

/// The memory, matrices and jobs of a tenant.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Usage {
    /// Bytes of memory that are reserved.
    pub(crate) bytes: u64,
    pub(crate) jobs: usize,
    pub(crate) matrices: usize,
    /// Bytes of matrices, in memory and on disk.
    pub(crate) stored_bytes: u64,
}

impl Usage {
    /// The sum of two.
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            bytes: self.bytes.saturating_add(other.bytes),
            jobs: self.jobs.saturating_add(other.jobs),
            matrices: self.matrices.saturating_add(other.matrices),
            stored_bytes: self.stored_bytes.saturating_add(other.stored_bytes),
        }
    }
}

/// Fails if `bytes` more bytes would bring a tenant's matrices, which have `stored`, above `limit`.
pub(crate) fn check_stored(stored: u64, bytes: u64, limit: u64) -> Result<(), Problem> {
    if stored.saturating_add(bytes) <= limit {
        return Ok(());
    }
    let detail = format!(
        "your matrices have {stored} bytes, in memory and on disk, and {bytes} more are over the {limit} that they may \
         have: delete some"
    );
    let shortage = MemoryShortage { needed: bytes, free: limit.saturating_sub(stored), evictable: 0 };
    Err(Problem::storage(shortage, detail))
}

/// The usage of each tenant somewhere, as it was when it was last told.
#[derive(Debug, Default)]
pub(crate) struct Usages(Mutex<HashMap<String, Usage>>);

impl Usages {
    pub(crate) fn of(&self, tenant: &str) -> Usage {
        lock(&self.0).get(tenant).copied().unwrap_or_default()
    }

    pub(crate) fn set(&self, tenant: &str, usage: Usage) {
        let mut usages = lock(&self.0);
        match usage == Usage::default() {
            true => usages.remove(tenant),
            false => usages.insert(tenant.into(), usage),
        };
    }

    pub(crate) fn replace(&self, usages: HashMap<String, Usage>) {
        *lock(&self.0) = usages;
    }
}
