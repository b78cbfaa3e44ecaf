//! Buffers of bodies that are received, which are not in the ledger: all together they take a bounded part of memory, and
//! those of one tenant no more than they leave.
//!
//! A body for whose large buffer no bytes are left goes to its decoder or file sooner, and in smaller parts. So no
//! client waits for the bytes of another.

use crate::limits::shared_capacity::{CapacityPermit, SharedCapacity};
use std::ops::Deref;
use std::sync::{Arc, LazyLock};

/// Bytes of a small buffer, which each body may have, however many there are.
pub(super) const SMALL_BUFFER_BYTES: usize = 64 << 10;

/// Bytes of the large buffers of all bodies of this process, of which one tenant has half at most. Before there was a
/// limit, 900 clients that paused after 1 MB each took 1.4 GB.
const LARGE_BUFFER_BYTES: usize = 64 << 20;

type Capacity = Arc<SharedCapacity<Arc<str>>>;

static LARGE_BUFFERS: LazyLock<Capacity> = LazyLock::new(|| SharedCapacity::new(LARGE_BUFFER_BYTES));

/// Bytes of a body: few, or as many as its limit, which are counted.
#[derive(Debug)]
pub(crate) struct BodyBuffer {
    bytes: Vec<u8>,
    limit: usize,
    growth: Growth,
}

/// The size class of a buffer, with its bytes among those of all.
#[derive(Debug)]
enum Growth {
    /// It is small, and may be counted as one of a tenant's.
    Small(Capacity, Arc<str>),
    /// It is large, and counted.
    Large(CapacityPermit<Arc<str>>),
    /// The ledger counts it.
    None,
}

impl BodyBuffer {
    /// An empty buffer of a tenant for at most `limit` bytes.
    pub(super) fn new(limit: usize, tenant: &Arc<str>) -> Self {
        Self::of_capacity(limit, &LARGE_BUFFERS, tenant)
    }

    fn of_capacity(limit: usize, capacity: &Capacity, tenant: &Arc<str>) -> Self {
        Self { bytes: vec![], limit, growth: Growth::Small(capacity.clone(), tenant.clone()) }
    }

    /// Appends bytes and returns true, or false if they are too many.
    #[must_use]
    pub(super) fn push(&mut self, more: &[u8]) -> bool {
        let length = self.bytes.len() + more.len();
        if length > self.limit || (length > SMALL_BUFFER_BYTES && !self.is_large()) {
            return false;
        }
        // A buffer that grows by itself is copied, and may be twice as long.
        let capacity = match self.growth {
            Growth::Large(_) => self.limit,
            Growth::Small(..) | Growth::None => self.limit.min(SMALL_BUFFER_BYTES),
        };
        self.bytes.reserve_exact(capacity - self.bytes.len());
        self.bytes.extend_from_slice(more);
        true
    }

    /// True if the buffer is large, which it becomes if its bytes can be counted.
    fn is_large(&mut self) -> bool {
        if let Growth::Small(capacity, tenant) = &self.growth
            && let Some(permit) = capacity.take(tenant, self.limit)
        {
            self.growth = Growth::Large(permit);
        }
        matches!(self.growth, Growth::Large(_))
    }

    /// Removes all bytes. From then on the buffer has at most `limit`, if that is less than before.
    pub(super) fn clear(&mut self, limit: usize) {
        self.bytes.clear();
        self.limit = self.limit.min(limit);
        if let Growth::Large(permit) = &mut self.growth {
            permit.shrink_to(self.limit);
        }
        self.bytes.shrink_to(self.limit);
    }
}

/// Bytes that the ledger counts.
impl From<Vec<u8>> for BodyBuffer {
    fn from(bytes: Vec<u8>) -> Self {
        Self { limit: bytes.len(), bytes, growth: Growth::None }
    }
}

impl Deref for BodyBuffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

impl AsRef<[u8]> for BodyBuffer {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::Bytes;

    #[test]
    fn large_buffers_are_counted_and_small_ones_are_always_there() {
        const LARGE: usize = 4 * SMALL_BUFFER_BYTES;
        let capacity: Capacity = SharedCapacity::new(4 * LARGE);
        let [a, b] = ["a", "b"].map(Arc::<str>::from);
        let new = |tenant| BodyBuffer::of_capacity(LARGE, &capacity, tenant);
        let part = vec![7; SMALL_BUFFER_BYTES];
        let fill = |buffer: &mut BodyBuffer| (0..9).take_while(|_| buffer.push(&part)).count();
        let [mut first, mut second, mut third] = [&a; 3].map(new);
        assert_eq!([&mut first, &mut second, &mut third].map(fill), [4, 4, 1]);
        assert_eq!((capacity.taken(), third.len()), (2 * LARGE, SMALL_BUFFER_BYTES));
        let [mut of_other, mut last] = [&b; 2].map(new);
        assert_eq!([&mut of_other, &mut last].map(fill), [4, 1], "another tenant has one, too");
        drop(of_other);

        // It becomes a buffer of parts, and the other one is gone.
        first.clear(LARGE / 2);
        assert_eq!((capacity.taken(), fill(&mut first), fill(&mut third)), (LARGE + LARGE / 2, 2, 0));
        drop(second);
        assert_eq!((fill(&mut third), capacity.taken()), (3, LARGE + LARGE / 2));

        // The bytes are counted until the last user of them is gone.
        let bytes = Bytes::from_owner(third);
        let part = bytes.slice(1..);
        drop(bytes);
        assert_eq!((part.len(), capacity.taken()), (LARGE - 1, LARGE + LARGE / 2));
        drop(part);
        assert_eq!(capacity.taken(), LARGE / 2);
        drop(first);
        assert_eq!(capacity.taken(), 0);
    }
}
