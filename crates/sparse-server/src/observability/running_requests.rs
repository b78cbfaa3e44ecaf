//! Lists the requests that run, and the slow ones of before.

use crate::lock::lock;
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The most slow requests of a tenant in the list; the oldest go first.
const SLOW_REQUESTS: usize = 100;

/// The requests of all tenants.
#[derive(Debug)]
pub(crate) struct Requests {
    /// Time from which a request is slow.
    slow_time: Duration,
    running: Mutex<HashMap<String, Subject>>,
    slow: Mutex<HashMap<String, VecDeque<SlowRequest>>>,
}

/// A request by what it is about.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Subject {
    pub(crate) id: String,
    #[serde(skip)]
    pub(crate) tenant: String,
    /// The method, and the pattern of the address or the operation.
    pub(crate) action: String,
    /// The name of the address, or the id of a job.
    pub(crate) object: Option<String>,
    /// Seconds since 1970.
    created: f64,
    #[serde(skip)]
    began: Instant,
}

#[derive(Debug, Clone, Serialize)]
struct SlowRequest {
    #[serde(flatten)]
    subject: Subject,
    seconds: f64,
    /// The status of the answer; none if the client was gone before it.
    status: Option<u16>,
}

/// A request that runs until the value is dropped.
#[derive(Debug)]
pub(crate) struct RunningRequest {
    requests: Arc<Requests>,
    id: String,
    pub(crate) status: Option<u16>,
}

impl Subject {
    pub(crate) fn new(id: &str, tenant: &str, action: String, object: Option<String>) -> Self {
        let created = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |time| time.as_secs_f64());
        Self { id: id.into(), tenant: tenant.into(), action, object, created, began: Instant::now() }
    }
}

impl Requests {
    pub(crate) fn new(slow_time: Duration) -> Arc<Self> {
        Arc::new(Self { slow_time, running: Mutex::default(), slow: Mutex::default() })
    }

    /// Lists a request while the value lives.
    pub(crate) fn begin(self: &Arc<Self>, subject: Subject) -> RunningRequest {
        let id = subject.id.clone();
        lock(&self.running).insert(id.clone(), subject);
        RunningRequest { requests: self.clone(), id, status: None }
    }

    fn finish(&self, id: &str, status: Option<u16>) {
        let Some(subject) = lock(&self.running).remove(id) else { return };
        let time = subject.began.elapsed();
        if time < self.slow_time {
            return;
        }
        let (seconds, action, object) = (time.as_secs_f64(), &subject.action, &subject.object);
        tracing::warn!(id, action, object, status, seconds, "slow request");
        let mut slow = lock(&self.slow);
        let of_tenant = slow.entry(subject.tenant.clone()).or_default();
        if of_tenant.len() == SLOW_REQUESTS {
            of_tenant.pop_front();
        }
        of_tenant.push_back(SlowRequest { subject, seconds, status });
    }

    /// The requests of a tenant: those that run, the oldest first, and those that were slow, the newest first.
    pub(crate) fn of(&self, tenant: &str) -> Value {
        let mut running: Vec<_> =
            lock(&self.running).values().filter(|it| it.tenant == tenant).cloned().collect();
        running.sort_by_key(|subject| subject.began);
        let seconds = |subject: Subject| {
            let seconds = subject.began.elapsed().as_secs_f64();
            SlowRequest { subject, seconds, status: None }
        };
        let running: Vec<_> = running.into_iter().map(seconds).collect();
        let slow = lock(&self.slow);
        let slow: Vec<_> = slow.get(tenant).into_iter().flatten().rev().collect();
        json!({ "running": running, "slow": slow })
    }
}

impl Drop for RunningRequest {
    fn drop(&mut self) {
        self.requests.finish(&self.id, self.status);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_listed_while_they_run_and_afterwards_if_they_were_slow() {
        let begin = |requests: &Arc<Requests>, id: &str| {
            requests.begin(Subject::new(id, "lab", "POST spmv".into(), Some("a".into())))
        };
        let slow = Requests::new(Duration::ZERO);
        let mut first = begin(&slow, "1");
        let listed = slow.of("lab");
        assert_eq!((&listed["running"][0]["id"], &listed["slow"]), (&"1".into(), &json!([])));
        assert_eq!(slow.of("other"), json!({ "running": [], "slow": [] }));
        first.status = Some(200);
        drop(first);
        (0..SLOW_REQUESTS).for_each(|k| drop(begin(&slow, &format!("2-{k}"))));
        let listed = slow.of("lab");
        let slow: Vec<_> =
            listed["slow"].as_array().unwrap().iter().map(|it| it["id"].as_str().unwrap()).collect();
        assert_eq!((slow.len(), slow[0], slow[SLOW_REQUESTS - 1]), (SLOW_REQUESTS, "2-99", "2-0"));
        let quick = Requests::new(Duration::from_secs(60));
        drop(begin(&quick, "3"));
        assert_eq!(quick.of("lab"), json!({ "running": [], "slow": [] }));
    }
}
