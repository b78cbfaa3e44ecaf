//! Requests per second of each tenant, by token buckets.

use crate::problem::Problem;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// A bucket for each tenant: it fills at the rate, and holds what a tenant may send at once.
#[derive(Debug)]
pub(crate) struct Rates {
    per_second: f64,
    buckets: Mutex<HashMap<String, Bucket>>,
}

#[derive(Debug, Clone, Copy)]
struct Bucket {
    requests: f64,
    filled: Instant,
}

impl Rates {
    /// Buckets that hold the requests of one second; without a rate everything is let through.
    pub(crate) fn new(per_second: Option<u32>) -> Self {
        Self {
            per_second: per_second.map_or(f64::INFINITY, |rate| f64::from(rate.max(1))),
            buckets: Mutex::default(),
        }
    }

    /// Counts a request; 429 for one too many.
    pub(crate) fn count(&self, tenant: &str, now: Instant) -> Result<(), Problem> {
        if self.per_second.is_infinite() {
            return Ok(());
        }
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let full = Bucket { requests: self.per_second, filled: now };
        let bucket = buckets.entry(tenant.into()).or_insert(full);
        let elapsed = now.saturating_duration_since(bucket.filled).as_secs_f64();
        let requests = (bucket.requests + elapsed * self.per_second).min(self.per_second);
        let is_allowed = requests >= 1.0;
        *bucket = Bucket { requests: if is_allowed { requests - 1.0 } else { requests }, filled: now };
        if is_allowed {
            return Ok(());
        }
        Err(Problem::busy(format!("more than {} requests per second: wait", self.per_second)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_tenant_has_its_rate_and_a_burst_of_one_second() {
        let (rates, start) = (Rates::new(Some(10)), Instant::now());
        let allowed = |tenant, after| {
            let now = start + Duration::from_millis(after);
            (0..100).filter(|_| rates.count(tenant, now).is_ok()).count()
        };
        assert_eq!((allowed("a", 0), allowed("b", 0)), (10, 10));
        assert_eq!((allowed("a", 50), allowed("a", 100), allowed("a", 600)), (0, 1, 5));
        assert_eq!(allowed("a", 60_000), 10, "a bucket holds one second");
        assert!((0..1000).all(|_| Rates::new(None).count("a", start).is_ok()));
    }
}
