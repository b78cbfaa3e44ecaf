//! The report of `nnz distribute`.

use crate::command::compress::Target;
use crate::text::bytes;
use nnz::MatrixSet;
use nnz::distrib::{DeviceReport, Explanation, Prediction, Report};
use serde::{Deserialize, Serialize};
use std::fmt::{Display, Formatter};

/// A run's work and time.
#[derive(Debug, Serialize)]
pub(super) struct Summary {
    matrices: usize,
    /// The parts of all matrices, if some are cut.
    #[serde(skip_serializing_if = "Option::is_none")]
    parts: Option<usize>,
    format: &'static str,
    policy: &'static str,
    parallelism: &'static str,
    #[serde(flatten)]
    work: Work,
    /// The predictions of all schemes, if requested, by rank.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    predictions: Vec<PredictionSummary>,
    /// The model's table of each rank.
    #[serde(skip)]
    tables: Vec<String>,
}

/// The model's table for the matrices of one rank.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Explained {
    predictions: Vec<PredictionSummary>,
    table: String,
}

/// The work of one rank, or of all.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Work {
    entries: u64,
    bytes_in: u64,
    bytes_out: u64,
    seconds: f64,
    retries: usize,
    devices: Vec<DeviceSummary>,
}

/// The part of one device in a run.
#[derive(Debug, Serialize, Deserialize)]
struct DeviceSummary {
    device: String,
    scheme: String,
    items: usize,
    bytes_in: u64,
    seconds: f64,
    spills: usize,
    splits: usize,
    failure: Option<String>,
}

/// The prediction for one scheme.
#[derive(Debug, Serialize, Deserialize)]
struct PredictionSummary {
    /// The rank whose matrices it is for, if there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    rank: Option<usize>,
    scheme: String,
    wire_ratio: f64,
    seconds: f64,
    limit: String,
    /// True if the model prefers the scheme.
    chosen: bool,
    /// The seconds of the run, if it was by this scheme.
    measured_seconds: Option<f64>,
}

impl Summary {
    /// The summary of a run that made the `set`, with the tables of all ranks if they are to be shown.
    pub(super) fn new(
        set: &MatrixSet,
        to: Target,
        report: &Report,
        work: Work,
        explained: Vec<Explained>,
    ) -> Self {
        let parts = (0..set.len()).filter_map(|item| set.partition(item)).map(|cut| cut.parts()).sum();
        let has_ranks = explained.len() > 1;
        let (mut predictions, mut tables) = (vec![], vec![]);
        for (rank, of_rank) in explained.into_iter().enumerate() {
            let rank = has_ranks.then_some(rank);
            let named = |prediction| PredictionSummary { rank, ..prediction };
            predictions.extend(of_rank.predictions.into_iter().map(named));
            let title = rank.map_or(String::new(), |rank| format!("rank {rank}\n"));
            tables.push(title + &of_rank.table);
        }
        Self {
            matrices: (0..set.len()).filter(|&item| set.nnz(item).is_some()).count(),
            parts: (parts != set.len()).then_some(parts),
            format: to.name(),
            policy: report.policy.name(),
            parallelism: report.parallelism.name(),
            work,
            predictions,
            tables,
        }
    }
}

impl Explained {
    pub(super) fn new(table: &Explanation) -> Self {
        let predictions =
            table.predictions.iter().map(|prediction| PredictionSummary::new(prediction, table));
        Self { predictions: predictions.collect(), table: table.to_string() }
    }
}

impl Work {
    pub(super) fn new(report: &Report) -> Self {
        Self {
            entries: report.nnz,
            bytes_in: report.bytes_in,
            bytes_out: report.bytes_out,
            seconds: report.seconds,
            retries: report.retries,
            devices: report.devices.iter().map(DeviceSummary::new).collect(),
        }
    }

    /// The work of all ranks, which work at the same time; devices get the number of their rank.
    pub(super) fn of_ranks(ranks: Vec<Self>) -> Self {
        let mut all = Self::default();
        for (rank, work) in ranks.into_iter().enumerate() {
            all.entries += work.entries;
            all.bytes_in += work.bytes_in;
            all.bytes_out += work.bytes_out;
            all.seconds = all.seconds.max(work.seconds);
            all.retries += work.retries;
            let named = |device: DeviceSummary| {
                let name = format!("rank {rank}: {}", device.device);
                DeviceSummary { device: name, ..device }
            };
            all.devices.extend(work.devices.into_iter().map(named));
        }
        all
    }
}

impl DeviceSummary {
    fn new(device: &DeviceReport) -> Self {
        Self {
            device: device.name.clone(),
            scheme: device.scheme.info().name.to_owned(),
            items: device.items,
            bytes_in: device.bytes_in,
            seconds: device.busy_seconds,
            spills: device.spills,
            splits: device.splits,
            failure: device.failure.clone(),
        }
    }
}

impl PredictionSummary {
    fn new(prediction: &Prediction, table: &Explanation) -> Self {
        let Prediction { scheme, wire_ratio, seconds, limit } = *prediction;
        let outcome = table.outcome.filter(|&(taken, _)| taken == scheme);
        Self {
            rank: None,
            scheme: scheme.info().name.to_owned(),
            wire_ratio,
            seconds,
            limit: limit.to_string(),
            chosen: table.chosen == scheme,
            measured_seconds: outcome.map(|(_, seconds)| seconds),
        }
    }
}

impl Display for Summary {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let Self { matrices, format, policy, parallelism, .. } = self;
        let Work { entries, bytes_in, bytes_out, seconds, retries, devices } = &self.work;
        match self.parts {
            Some(parts) => writeln!(f, "matrices  {matrices} in {parts} parts, {entries} entries")?,
            None => writeln!(f, "matrices  {matrices}, {entries} entries")?,
        }
        writeln!(f, "bytes     {} dense, {} as {format}", bytes(*bytes_in), bytes(*bytes_out))?;
        write!(f, "time      {seconds:.3} s, policy {policy}, parallelism {parallelism}")?;
        if *retries > 0 {
            write!(f, ", {retries} tried again")?;
        }
        let unit = if self.parts.is_some() { "parts" } else { "matrices" };
        for DeviceSummary { device, scheme, items, bytes_in, seconds, spills, splits, failure } in devices {
            write!(f, "\n{device:<9} {items} {unit}, {} in {seconds:.3} s by {scheme}", bytes(*bytes_in))?;
            if *spills > 0 {
                write!(f, ", {spills} {} moved to the host", if *spills == 1 { "batch" } else { "batches" })?;
            }
            if *splits > 0 {
                write!(f, ", {splits} {} halved", if *splits == 1 { "chunk" } else { "chunks" })?;
            }
            if let Some(failure) = failure {
                write!(f, ", failed: {failure}")?;
            }
        }
        self.tables.iter().try_for_each(|table| write!(f, "\n\n{table}"))
    }
}
