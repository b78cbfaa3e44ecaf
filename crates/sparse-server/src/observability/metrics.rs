//! Counters and times for Prometheus.

use crate::objects::TIERS;
use crate::operations::Traffic;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::{encode_eof, encode_registry};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};
use std::fmt;
use std::hash::Hash;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

/// The pattern of a request's address or the name of its operation, and how it was answered.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    route: String,
    code: u16,
}

/// The operation of a job, and how it ended.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct JobLabels {
    operation: &'static str,
    code: u16,
}

/// The tier of memory in which matrices are.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct TierLabels {
    tier: &'static str,
}

/// Upper bounds of the classes of times, in seconds.
const BOUNDS: [f64; 12] = [1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 0.1, 1.0, 10.0, 60.0, 600.0];

/// A histogram of times for each set of labels.
type Times<L> = Family<L, Histogram>;

fn times<L: Clone + Eq + Hash>() -> Times<L> {
    Family::new_with_constructor(|| Histogram::new(BOUNDS))
}

/// Bytes that went over the connections of clients, without those that TLS adds.
#[derive(Debug, Clone, Default)]
pub(crate) struct Link {
    pub(crate) received: Counter,
    pub(crate) sent: Counter,
}

/// The metrics of requests, which are the front end's.
#[derive(Debug)]
pub(crate) struct RequestMetrics {
    registry: Registry,
    requests: Family<RequestLabels, Counter>,
    seconds: Times<RequestLabels>,
    /// The bytes of all connections.
    pub(crate) link: Link,
    /// Worker processes that took the place of one that had ended.
    pub(crate) restarts: Counter,
}

impl RequestMetrics {
    pub(crate) fn new() -> Self {
        let mut registry = Registry::with_prefix("nnz");
        let (requests, seconds, restarts) = (Family::default(), times(), Counter::default());
        registry.register("requests", "Requests by route and status", requests.clone());
        let help = "Time to the header of the answer";
        registry.register_with_unit("request", help, Unit::Seconds, seconds.clone());
        let link = Link::default();
        let help = "Bytes that clients sent";
        registry.register_with_unit("link_received", help, Unit::Bytes, link.received.clone());
        let help = "Bytes that clients were sent";
        registry.register_with_unit("link_sent", help, Unit::Bytes, link.sent.clone());
        let help = "Worker processes that took the place of one that had ended";
        registry.register("worker_restarts", help, restarts.clone());
        Self { registry, requests, seconds, link, restarts }
    }

    pub(crate) fn observe(&self, route: &str, code: u16, time: Duration) {
        let labels = RequestLabels { route: route.into(), code };
        self.requests.get_or_create(&labels).inc();
        self.seconds.get_or_create(&labels).observe(time.as_secs_f64());
    }

    /// The metrics in the text form of OpenMetrics, without its end.
    pub(crate) fn text(&self) -> Result<String, fmt::Error> {
        let mut text = String::new();
        encode_registry(&mut text, &self.registry)?;
        Ok(text)
    }
}

/// The metrics of a device, which are those of the process that holds it.
#[derive(Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    job_seconds: Times<JobLabels>,
    merged: Histogram,
    memory_used: Gauge,
    memory_capacity: Gauge,
    memory_allocated: Gauge,
    bandwidth: Gauge<f64, AtomicU64>,
    traffic: Traffic,
    host_memory_capacity: Gauge,
    tiers: Family<TierLabels, Gauge>,
    objects: Gauge,
    running: Gauge,
    waiting: Gauge,
    jobs: Gauge,
    evictions: Gauge,
}

/// Numbers that are read when the metrics are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Snapshot {
    pub(crate) memory_used: u64,
    pub(crate) memory_capacity: u64,
    /// As the device's library counts them, if it does.
    pub(crate) memory_allocated: Option<u64>,
    /// Bytes per second that the device's memory moves, if that could be measured.
    pub(crate) bandwidth: Option<f64>,
    pub(crate) host_memory_capacity: u64,
    /// The bytes of matrices in each of the [`TIERS`].
    pub(crate) tiers: [u64; 3],
    pub(crate) objects: usize,
    pub(crate) running: usize,
    pub(crate) waiting: usize,
    pub(crate) jobs: usize,
    pub(crate) evictions: u64,
}

impl Metrics {
    /// The metrics of a device, in whose labels is its number if it has one.
    pub(crate) fn new(device: Option<usize>, traffic: &Traffic) -> Self {
        let labels = device.map(|number| ("device".into(), number.to_string().into()));
        let mut metrics = Self {
            registry: Registry::with_prefix_and_labels("nnz", labels.into_iter()),
            job_seconds: times(),
            merged: Histogram::new([1.0, 2.0, 4.0, 8.0, 16.0]),
            memory_used: Gauge::default(),
            memory_capacity: Gauge::default(),
            memory_allocated: Gauge::default(),
            bandwidth: Gauge::default(),
            traffic: traffic.clone(),
            host_memory_capacity: Gauge::default(),
            tiers: Family::default(),
            objects: Gauge::default(),
            running: Gauge::default(),
            waiting: Gauge::default(),
            jobs: Gauge::default(),
            evictions: Gauge::default(),
        };
        metrics.register();
        traffic.register(&mut metrics.registry);
        metrics
    }

    fn register(&mut self) {
        let registry = &mut self.registry;
        let help = "Time of a job by operation and status";
        registry.register_with_unit("job", help, Unit::Seconds, self.job_seconds.clone());
        registry.register("merged", "Requests that were multiplied together", self.merged.clone());
        for (name, help, gauge) in [
            ("memory_used", "Bytes of the device's memory that are reserved", &self.memory_used),
            ("memory_capacity", "Bytes of the device's memory that may be", &self.memory_capacity),
            (
                "memory_allocated",
                "Bytes of the device's memory that its library has allocated; 0 where it counts none",
                &self.memory_allocated,
            ),
            ("host_memory_capacity", "Bytes of the host's memory that may be", &self.host_memory_capacity),
        ] {
            registry.register_with_unit(name, help, Unit::Bytes, gauge.clone());
        }
        let help = "Bytes per second that the device's memory was measured to move; 0 if it was not";
        let unit = Unit::Other("bytes_per_second".into());
        registry.register_with_unit("memory_bandwidth", help, unit, self.bandwidth.clone());
        let help = "Bytes of matrices in the device's memory, in the host's, and of those on disk alone";
        registry.register_with_unit("tier", help, Unit::Bytes, self.tiers.clone());
        for (name, help, gauge) in [
            ("objects", "Matrices that are ready", &self.objects),
            ("operations_running", "Operations that run", &self.running),
            ("operations_waiting", "Operations that wait for a worker", &self.waiting),
            ("jobs", "Jobs, with those whose results are kept", &self.jobs),
            ("evictions", "Matrices that left the device's memory since the start", &self.evictions),
        ] {
            registry.register(name, help, gauge.clone());
        }
    }

    /// Counts a job that has ended.
    pub(crate) fn observe_job(&self, operation: &'static str, code: u16, time: Duration) {
        self.job_seconds.get_or_create(&JobLabels { operation, code }).observe(time.as_secs_f64());
    }

    /// Counts a product that served this many requests.
    pub(crate) fn observe_merged(&self, requests: usize) {
        self.merged.observe(requests as f64);
    }

    /// The metrics in the text form of OpenMetrics.
    pub(crate) fn text(&self, now: Snapshot) -> Result<String, fmt::Error> {
        self.memory_used.set(clamp(now.memory_used));
        self.memory_capacity.set(clamp(now.memory_capacity));
        self.memory_allocated.set(clamp(now.memory_allocated.unwrap_or(0)));
        if let Some(bandwidth) = now.bandwidth {
            self.bandwidth.set(bandwidth);
            self.traffic.compare_with(bandwidth);
        }
        self.host_memory_capacity.set(clamp(now.host_memory_capacity));
        for (tier, bytes) in TIERS.into_iter().zip(now.tiers) {
            self.tiers.get_or_create(&TierLabels { tier }).set(clamp(bytes));
        }
        self.objects.set(clamp(now.objects as u64));
        self.running.set(clamp(now.running as u64));
        self.waiting.set(clamp(now.waiting as u64));
        self.jobs.set(clamp(now.jobs as u64));
        self.evictions.set(clamp(now.evictions));
        let mut text = String::new();
        encode_registry(&mut text, &self.registry)?;
        encode_eof(&mut text)?;
        Ok(text)
    }
}

/// The metrics of several devices, each with a label for its own, as one text: samples of a metric stand together.
#[cfg(unix)]
pub(crate) fn merge(texts: &[String]) -> Result<String, fmt::Error> {
    let mut metrics: Vec<(&str, String, String)> = vec![];
    for text in texts {
        let mut current = 0;
        for line in text.lines().filter(|line| *line != "# EOF") {
            let Some(about) = line.strip_prefix("# ") else {
                metrics
                    .get_mut(current)
                    .iter_mut()
                    .for_each(|(_, _, samples)| *samples += &format!("{line}\n"));
                continue;
            };
            let name = about.split(' ').nth(1).unwrap_or_default();
            current = metrics.iter().position(|(known, ..)| *known == name).unwrap_or(metrics.len());
            if current == metrics.len() {
                metrics.push((name, String::new(), String::new()));
            }
            let heading = &mut metrics[current].1;
            if !heading.contains(line) {
                *heading += &format!("{line}\n");
            }
        }
    }
    let mut merged: String = metrics.into_iter().map(|(_, heading, samples)| heading + &samples).collect();
    encode_eof(&mut merged)?;
    Ok(merged)
}

fn clamp(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn samples_of_several_devices_stand_together() {
        let now = Snapshot {
            memory_used: 1,
            memory_allocated: Some(2),
            memory_capacity: 2,
            bandwidth: None,
            host_memory_capacity: 0,
            tiers: [1, 0, 0],
            objects: 3,
            running: 0,
            waiting: 0,
            jobs: 0,
            evictions: 0,
        };
        let texts = [0, 1].map(|device| Metrics::new(Some(device), &Traffic::default()).text(now).unwrap());
        let merged = merge(&texts).unwrap();
        let objects = "# TYPE nnz_objects gauge\nnnz_objects{device=\"0\"} 3\nnnz_objects{device=\"1\"} 3\n";
        assert!(merged.contains(objects) && merged.ends_with("# EOF\n"), "{merged}");
        assert_eq!(merged.matches("# EOF").count(), 1);
        assert_eq!(merge(&texts[..1]).unwrap(), texts[0], "one is as it was");
    }
}
