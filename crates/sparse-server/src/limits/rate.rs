//! Limits of each tenant, by token buckets: requests per second, and seconds of workers per minute.

use crate::lock::lock;
use crate::problem::Problem;
use std::collections::HashMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// A bucket for each tenant: it fills at a rate, up to what it holds.
#[derive(Debug)]
struct Buckets {
    per_second: f64,
    capacity: f64,
    levels: Mutex<HashMap<String, (f64, Instant)>>,
}

impl Buckets {
    fn new(per_second: f64, capacity: f64) -> Self {
        Self { per_second, capacity, levels: Mutex::default() }
    }

    /// Calls `change` with the level of a tenant's bucket now.
    fn change<T>(&self, tenant: &str, now: Instant, change: impl FnOnce(&mut f64) -> T) -> T {
        let mut levels = lock(&self.levels);
        let (level, filled) = levels.entry(tenant.into()).or_insert((self.capacity, now));
        let elapsed = now.saturating_duration_since(*filled).as_secs_f64();
        (*level, *filled) = ((*level + elapsed * self.per_second).min(self.capacity), now);
        change(level)
    }
}

/// Requests per second of each tenant.
#[derive(Debug)]
pub(crate) struct Rates(Option<Buckets>);

impl Rates {
    /// Buckets that hold the requests of one second; without a rate everything is let through.
    pub(crate) fn new(per_second: Option<u32>) -> Self {
        let rate = per_second.map(|rate| f64::from(rate.max(1)));
        Self(rate.map(|rate| Buckets::new(rate, rate)))
    }

    /// Counts a request; 429 for one too many.
    pub(crate) fn count(&self, tenant: &str, now: Instant) -> Result<(), Problem> {
        let Some(buckets) = &self.0 else { return Ok(()) };
        let is_allowed = buckets.change(tenant, now, |level| {
            let is_allowed = *level >= 1.0;
            *level -= if is_allowed { 1.0 } else { 0.0 };
            is_allowed
        });
        if is_allowed {
            return Ok(());
        }
        Err(Problem::busy(format!("more than {} requests per second: wait", buckets.per_second)))
    }
}

/// The time of workers that the operations of each tenant may take.
#[derive(Debug)]
pub(crate) struct WorkerTime(Option<Buckets>);

const MINUTE: f64 = 60.0;

impl WorkerTime {
    /// Buckets that hold the seconds of one minute; without them each tenant has all.
    pub(crate) fn new(seconds_per_minute: Option<u32>) -> Self {
        Self(seconds_per_minute.map(|seconds| {
            let seconds = f64::from(seconds.max(1));
            Buckets::new(seconds / MINUTE, seconds)
        }))
    }

    /// Fails with 429 for a tenant that has used its time.
    pub(crate) fn check(&self, tenant: &str, now: Instant) -> Result<(), Problem> {
        let Some(buckets) = &self.0 else { return Ok(()) };
        let level = buckets.change(tenant, now, |level| *level);
        if level > 0.0 {
            return Ok(());
        }
        let (seconds, wait) = (buckets.capacity, (-level / buckets.per_second).ceil().max(1.0));
        let detail = format!("your operations may run for {seconds} s of each minute: wait {wait:.0} s");
        Err(Problem::busy(detail).retry_after(wait as u64))
    }

    /// Counts time that an operation has run, which may be more than was left.
    pub(crate) fn charge(&self, tenant: &str, now: Instant, time: Duration) {
        if let Some(buckets) = &self.0 {
            buckets.change(tenant, now, |level| *level -= time.as_secs_f64());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::header;
    use axum::response::IntoResponse;

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

    #[test]
    fn a_tenant_that_has_used_its_time_waits() {
        let (time, start) = (WorkerTime::new(Some(30)), Instant::now());
        let is_allowed = |tenant, after| time.check(tenant, start + Duration::from_secs(after)).is_ok();
        time.charge("a", start, Duration::from_secs(29));
        assert!(is_allowed("a", 0));
        time.charge("a", start, Duration::from_secs(11));
        assert!(!is_allowed("a", 0) && is_allowed("b", 0));
        let refused = time.check("a", start).unwrap_err();
        assert_eq!(refused.detail(), "your operations may run for 30 s of each minute: wait 20 s");
        assert_eq!(refused.into_response().headers()[header::RETRY_AFTER], "20");
        assert!(!is_allowed("a", 19) && is_allowed("a", 21));
        WorkerTime::new(None).charge("a", start, Duration::MAX);
    }
}
