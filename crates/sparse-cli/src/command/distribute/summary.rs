//! The report of `nnz distribute`.

use crate::command::compress::Target;
use crate::text::bytes;
use nnz::distrib::{DeviceReport, Explanation, Prediction, Report};
use serde::Serialize;
use std::fmt::{Display, Formatter};

/// A run's work and time.
#[derive(Debug, Serialize)]
pub(super) struct Summary {
    matrices: usize,
    /// The parts of all matrices, if some are cut.
    #[serde(skip_serializing_if = "Option::is_none")]
    parts: Option<usize>,
    entries: u64,
    format: &'static str,
    bytes_in: u64,
    bytes_out: u64,
    seconds: f64,
    policy: &'static str,
    retries: usize,
    devices: Vec<DeviceSummary>,
    /// The predictions of all schemes, if they were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    predictions: Option<Vec<PredictionSummary>>,
    #[serde(skip)]
    explanation: Option<Explanation>,
}

/// The part of one device in a run.
#[derive(Debug, Serialize)]
struct DeviceSummary {
    device: String,
    scheme: &'static str,
    items: usize,
    bytes_in: u64,
    seconds: f64,
    spills: usize,
    splits: usize,
    failure: Option<String>,
}

/// The prediction for one scheme.
#[derive(Debug, Serialize)]
struct PredictionSummary {
    scheme: &'static str,
    wire_ratio: f64,
    seconds: f64,
    limit: String,
    /// True if the model prefers the scheme.
    chosen: bool,
    /// The seconds of the run, if it was by this scheme.
    measured_seconds: Option<f64>,
}

impl Summary {
    /// The summary of a run that made `parts` parts of all matrices, with the predictions if they are to be shown.
    pub(super) fn new(report: &Report, to: Target, (matrices, parts): (usize, usize), explain: bool) -> Self {
        let explanation = report.explanation.clone().filter(|_| explain);
        let predictions = |table: &Explanation| {
            table.predictions.iter().map(|prediction| PredictionSummary::new(prediction, table)).collect()
        };
        Self {
            matrices: report.items,
            parts: (parts != matrices).then_some(parts),
            entries: report.nnz,
            format: to.name(),
            bytes_in: report.bytes_in,
            bytes_out: report.bytes_out,
            seconds: report.seconds,
            policy: report.policy.name(),
            retries: report.retries,
            devices: report.devices.iter().map(DeviceSummary::new).collect(),
            predictions: explanation.as_ref().map(predictions),
            explanation,
        }
    }
}

impl DeviceSummary {
    fn new(device: &DeviceReport) -> Self {
        Self {
            device: device.name.clone(),
            scheme: device.scheme.info().name,
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
            scheme: scheme.info().name,
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
        let Self { matrices, entries, format, seconds, policy, .. } = self;
        match self.parts {
            Some(parts) => writeln!(f, "matrices  {matrices} in {parts} parts, {entries} entries")?,
            None => writeln!(f, "matrices  {matrices}, {entries} entries")?,
        }
        writeln!(f, "bytes     {} dense, {} as {format}", bytes(self.bytes_in), bytes(self.bytes_out))?;
        write!(f, "time      {seconds:.3} s, policy {policy}")?;
        if self.retries > 0 {
            write!(f, ", {} tried again", self.retries)?;
        }
        let unit = if self.parts.is_some() { "parts" } else { "matrices" };
        for DeviceSummary { device, scheme, items, bytes_in, seconds, spills, splits, failure } in
            &self.devices
        {
            write!(f, "\n{device:<9} {items} {unit}, {} in {seconds:.3} s by {scheme}", bytes(*bytes_in))?;
            if *spills > 0 {
                write!(f, ", {spills} batches moved to the host")?;
            }
            if *splits > 0 {
                write!(f, ", {splits} chunks halved")?;
            }
            if let Some(failure) = failure {
                write!(f, ", failed: {failure}")?;
            }
        }
        match &self.explanation {
            Some(explanation) => write!(f, "\n\n{explanation}"),
            None => Ok(()),
        }
    }
}
