//! The times of one product of a matrix.

use serde::Serialize;
use std::collections::BTreeMap;

/// Microseconds by name.
pub(super) type Times = BTreeMap<String, f64>;

/// The times of one product.
#[derive(Debug, Serialize)]
pub(super) struct Measurement {
    pub(super) op: String,
    /// The algorithm of an automatic plan.
    pub(super) chosen: &'static str,
    /// Microseconds of ours, by algorithm.
    pub(super) us: Times,
    /// Microseconds of another library, by its name and algorithm.
    #[serde(skip_serializing_if = "Times::is_empty")]
    pub(super) peers: Times,
}

/// A name with the least time.
pub(super) fn best(times: &Times) -> Option<(&str, f64)> {
    let best = times.iter().min_by(|a, b| a.1.total_cmp(b.1))?;
    Some((best.0, *best.1))
}

impl Measurement {
    /// The time of the chosen algorithm.
    pub(super) fn took(&self) -> Option<f64> {
        self.us.get(self.chosen).copied()
    }

    /// The time of the chosen algorithm over that of the best of ours.
    pub(super) fn over_best(&self) -> Option<f64> {
        Some(self.took()? / best(&self.us)?.1)
    }

    /// The time of the best of the other library over that of the chosen algorithm.
    pub(super) fn ahead_of_peer(&self) -> Option<f64> {
        Some(best(&self.peers)?.1 / self.took()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ours_is_the_choice_and_theirs_the_best() {
        let times = |times: &[(&str, f64)]| times.iter().map(|&(name, us)| (name.into(), us)).collect();
        let measurement = Measurement {
            op: "spmv f32".into(),
            chosen: "row_per_vector",
            us: times(&[("row_per_vector", 4.0), ("merge_path", 2.0)]),
            peers: times(&[("cusparse:coo_alg1", 3.0), ("cusparse:csr_alg1", 5.0)]),
        };
        assert_eq!((measurement.over_best(), measurement.ahead_of_peer()), (Some(2.0), Some(0.75)));
        assert_eq!(Measurement { peers: Times::new(), ..measurement }.ahead_of_peer(), None);
    }
}
