//! Bytes and seconds of the operations that have run, by which the times of others are predicted.

use super::{OPERATIONS, Operation};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};
use std::sync::atomic::AtomicU64;
use std::time::Duration;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Labels {
    operation: &'static str,
}

/// Counters of bytes, seconds and runs for each operation of a device. Clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Traffic {
    bytes: Family<Labels, Counter>,
    seconds: Family<Labels, Counter<f64, AtomicU64>>,
    runs: Family<Labels, Counter>,
    ratios: Family<Labels, Gauge<f64, AtomicU64>>,
}

/// Runs of an operation from which on its time is predicted.
const ENOUGH_RUNS: u64 = 3;

impl Traffic {
    pub(crate) fn register(&self, registry: &mut Registry) {
        let help = "Bytes of operands, and of results and workspaces from above";
        registry.register_with_unit("operation_moved", help, Unit::Bytes, self.bytes.clone());
        let help = "Time of operations without their waits and bodies";
        registry.register_with_unit("operation_busy", help, Unit::Seconds, self.seconds.clone());
        registry.register("operation_runs", "Operations that have run", self.runs.clone());
        let help =
            "Bytes moved each second of operations since the start, as a fraction of the memory's bandwidth";
        registry.register("operation_bandwidth_ratio", help, self.ratios.clone());
    }

    /// Counts an operation that has run, or a product for several requests.
    pub(crate) fn observe(&self, operation: &'static str, bytes: u64, time: Duration) {
        let labels = Labels { operation };
        self.bytes.get_or_create(&labels).inc_by(bytes);
        self.seconds.get_or_create(&labels).inc_by(time.as_secs_f64());
        self.runs.get_or_create(&labels).inc();
    }

    /// Brings the fractions of this bandwidth, in bytes per second, up to date for the operations that have run.
    pub(crate) fn compare_with(&self, bandwidth: f64) {
        for Operation { name, .. } in OPERATIONS {
            let labels = Labels { operation: name };
            let (Some(bytes), Some(seconds)) = (self.bytes.get(&labels), self.seconds.get(&labels)) else {
                continue;
            };
            let ratio = bytes.get() as f64 / (seconds.get() * bandwidth);
            if ratio.is_finite() {
                self.ratios.get_or_create(&labels).set(ratio);
            }
        }
    }

    /// The seconds that an operation takes for `bytes` bytes at the mean rate of its runs, once there are enough runs.
    pub(crate) fn predict(&self, operation: &'static str, bytes: u64) -> Option<f64> {
        let labels = Labels { operation };
        if self.runs.get_or_create(&labels).get() < ENOUGH_RUNS {
            return None;
        }
        let moved = self.bytes.get_or_create(&labels).get();
        let seconds = self.seconds.get_or_create(&labels).get() * (bytes as f64 / moved as f64);
        seconds.is_finite().then_some(seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_predicted_by_the_rate_of_enough_runs() {
        let traffic = Traffic::default();
        (0..3).for_each(|_| traffic.observe("spmv", 1000, Duration::from_millis(2)));
        assert_eq!(traffic.predict("spgemm", 1000), None);
        traffic.compare_with(1e6);
        let ratio = |operation| traffic.ratios.get(&Labels { operation }).map(|ratio| ratio.get());
        assert!((ratio("spmv").unwrap() - 0.5).abs() < 1e-12 && ratio("norm").is_none());
        let seconds = traffic.predict("spmv", 4000).unwrap();
        assert!((seconds - 0.008).abs() < 1e-12, "{seconds}");
        (0..3).for_each(|_| traffic.observe("norm", 0, Duration::ZERO));
        assert_eq!(traffic.predict("norm", 0), None, "nothing was moved");
    }
}
