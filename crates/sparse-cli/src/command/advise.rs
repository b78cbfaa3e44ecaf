//! `nnz advise`: the best format and algorithm, with the reason.

use crate::analysis::RowLengths;
use crate::context::Context;
use crate::file;
use crate::format::Format;
use crate::storage::{Row, Storage};
use crate::text::{bytes, table};
use anyhow::Result;
use clap::Args;
use nnz::op::{Op, RowStatistics};
use nnz::{Matrix, MatrixSpmvPlan, PlanOptions, Vector};
use serde::Serialize;
use std::fmt::{Display, Formatter};
use std::path::PathBuf;
use std::time::Instant;

/// Runs of which --measure takes the fastest.
const RUNS: usize = 10;

/// The fraction of padding up to which SELL is recommended over CSR.
const PADDING: f64 = 0.1;

/// The most bytes for which ELL and HYB are recommended, as a multiple of the bytes of CSR.
const MAX_BYTES: u64 = 2;

/// Recommends a format and an algorithm for products with a matrix, with the reason
///
/// The recommendation follows from the row lengths and the bytes of each format. Algorithms are those that plans for
/// the device would choose.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  nnz advise a.mtx\n  nnz advise a.mtx --measure")]
pub(crate) struct Advise {
    /// Matrix; - is stdin
    matrix: PathBuf,
    /// Runs a product in each format and recommends the fastest
    #[arg(long)]
    measure: bool,
}

impl Advise {
    pub(crate) fn run(self, context: &Context) -> Result<()> {
        let device = context.device()?;
        let matrix = file::open(&self.matrix)?;
        let dtype = file::dtype_of(&matrix, context)?;
        let host = file::read(&matrix, dtype, &Context::host_of(&device)?)?;
        drop(matrix);
        let lengths = host.row_lengths()?;
        let storage = Storage::of(&host, &lengths);
        let statistics = RowStatistics::from_lengths(lengths);
        let a = host.to_device(&device)?;
        drop(host);
        let spinner = context.spinner("planning");
        let candidates: Vec<Candidate> = Format::ALL
            .into_iter()
            .map(|format| {
                spinner.set_message(format!("planning {}", format.name()));
                let planned = storage.check_size(format).and_then(|()| plan(&a, format, self.measure));
                Candidate::new(format, &storage, planned)
            })
            .collect();
        spinner.finish_and_clear();
        let (recommended, reason) = recommend(&statistics, &candidates);
        let caps = device.caps();
        context.report(&Advice {
            device: format!("{} {}", caps.backend, caps.device),
            format: recommended.format,
            algorithm: recommended.algorithm,
            reason,
            row_lengths: statistics.into(),
            candidates,
        })
    }
}

/// The choice and the workspace of a plan.
struct Planned {
    algorithm: &'static str,
    reason: String,
    workspace_bytes: usize,
    seconds: Option<f64>,
}

/// Plans a product in a format, and perhaps runs it.
fn plan(a: &Matrix, format: Format, measure: bool) -> Result<Planned> {
    let a = a.to_format(format.into())?;
    let mut plan = a.plan_spmv(Op::None, &PlanOptions::default())?;
    let seconds = if measure { Some(fastest_run(&mut plan, &a)?) } else { None };
    let choice = plan.choice();
    Ok(Planned {
        algorithm: choice.algorithm,
        reason: choice.reason.clone(),
        workspace_bytes: plan.workspace_bytes(),
        seconds,
    })
}

/// Seconds of the fastest of some runs.
fn fastest_run(plan: &mut MatrixSpmvPlan, a: &Matrix) -> Result<f64> {
    let (device, dtype) = (a.device(), a.dtype());
    let x = Vector::from_vec(device, vec![1.0_f32; a.ncols()])?.cast(dtype)?;
    let mut y = Vector::zeros(device, dtype, a.nrows())?;
    let mut fastest = f64::INFINITY;
    for _ in 0..RUNS {
        let started = Instant::now();
        plan.run(1.0, a, &x, 0.0, &mut y)?;
        device.synchronize()?;
        fastest = fastest.min(started.elapsed().as_secs_f64());
    }
    Ok(fastest)
}

/// A format, and the result of planning a product in it.
#[derive(Debug, Clone, Serialize)]
struct Candidate {
    format: &'static str,
    bytes: Option<u64>,
    /// Padded entries.
    padding: Option<u64>,
    algorithm: Option<&'static str>,
    /// The reason for the algorithm, or why the format cannot be used.
    reason: String,
    workspace_bytes: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seconds: Option<f64>,
}

impl Candidate {
    fn new(format: Format, storage: &Storage, planned: Result<Planned>) -> Self {
        let Row { bytes, slots, .. } = storage.row(format);
        let padding = slots.zip(storage.row(Format::Coo).slots).map(|(slots, nnz)| slots - nnz);
        let candidate = Self {
            format: format.name(),
            bytes: *bytes,
            padding,
            algorithm: None,
            reason: String::new(),
            workspace_bytes: None,
            seconds: None,
        };
        match planned {
            Err(error) => Self { reason: error.to_string(), ..candidate },
            Ok(Planned { algorithm, reason, workspace_bytes, seconds }) => Self {
                algorithm: Some(algorithm),
                workspace_bytes: Some(workspace_bytes),
                reason,
                seconds,
                ..candidate
            },
        }
    }

    fn cells(&self) -> Vec<String> {
        let number = |count: Option<u64>| count.map_or_else(|| "over 2^64".into(), |count| count.to_string());
        let mut cells = vec![
            self.format.to_string(),
            self.bytes.map_or_else(|| "over 2^64".into(), bytes),
            number(self.padding),
            self.algorithm.unwrap_or("none").to_string(),
        ];
        cells.extend(self.seconds.map(|seconds| format!("{:.3} ms", seconds * 1e3)));
        cells
    }
}

/// True for ELL and HYB if a long row makes them take more than [`MAX_BYTES`] times the bytes of CSR.
fn pads_too_much(candidate: &Candidate, candidates: &[Candidate]) -> bool {
    let csr = candidates.iter().find(|c| c.format == Format::Csr.name()).and_then(|csr| csr.bytes);
    let most = csr.map_or(u64::MAX, |bytes| bytes.saturating_mul(MAX_BYTES));
    [Format::Ell, Format::Hyb].iter().any(|format| format.name() == candidate.format)
        && candidate.bytes.is_none_or(|bytes| bytes > most)
}

/// The candidate to take, with the reason.
///
/// The fastest if they were measured, but no ELL and no HYB of more than twice the bytes of CSR. Otherwise CSR, which
/// suits every pattern, unless rows are so uniform that ELL, or SELL, has next to no padding: then neighbouring rows
/// are computed side by side.
fn recommend<'a>(statistics: &RowStatistics, candidates: &'a [Candidate]) -> (&'a Candidate, String) {
    let usable = |format: &str| candidates.iter().find(|c| c.format == format && c.algorithm.is_some());
    let padding_share =
        |c: &Candidate| c.padding.unwrap_or(u64::MAX) as f64 / (statistics.nnz as f64).max(1.0);
    let measured = candidates.iter().filter_map(|c| c.seconds.map(|seconds| (c, seconds)));
    let fastest = measured.filter(|(c, _)| !pads_too_much(c, candidates)).min_by(|a, b| a.1.total_cmp(&b.1));
    if let Some((fastest, _)) = fastest {
        return (fastest, format!("the fastest of {RUNS} measured products in each format"));
    }
    let ell = usable("ell").filter(|c| c.padding == Some(0) && statistics.nnz > 0);
    if let Some(ell) = ell {
        return (ell, format!("every row has {} entries: no padding and no row offsets", statistics.longest));
    }
    let sell = usable("sell").filter(|c| statistics.nnz > 0 && padding_share(c) <= PADDING);
    if let Some(sell) = sell {
        let share = 100.0 * padding_share(sell);
        return (sell, format!("rows of a slice are uniform: the padding is {share:.1} % of the entries"));
    }
    let csr = usable("csr").unwrap_or(&candidates[0]);
    let reason = match usable("sell") {
        _ if statistics.nnz == 0 => "there are no entries".to_string(),
        Some(sell) => {
            let (nnz, padding) = (statistics.nnz, sell.padding.unwrap_or(u64::MAX));
            format!("row lengths differ: sell would pad {nnz} entries with {padding} more")
        }
        None => "it suits every pattern".to_string(),
    };
    (csr, reason)
}

#[derive(Debug, Serialize)]
struct Advice {
    device: String,
    row_lengths: RowLengths,
    format: &'static str,
    algorithm: Option<&'static str>,
    reason: String,
    candidates: Vec<Candidate>,
}

impl Display for Advice {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "advice       {}, {}", self.format, self.algorithm.unwrap_or("none"))?;
        writeln!(f, "because      {}", self.reason)?;
        writeln!(f, "device       {}", self.device)?;
        writeln!(f, "row lengths  {}\n", self.row_lengths)?;
        let mut header = ["format", "bytes", "padding", "algorithm"].map(String::from).to_vec();
        header.extend(self.candidates.iter().find_map(|c| c.seconds).map(|_| "time".to_string()));
        let rows = std::iter::once(header).chain(self.candidates.iter().map(Candidate::cells));
        writeln!(f, "{}\n", table(&rows.collect::<Vec<_>>()))?;
        let reasons = self.candidates.iter().map(|c| format!("{}: {}", c.format, c.reason));
        f.write_str(&reasons.collect::<Vec<_>>().join("\n"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(format: Format, bytes: u64, seconds: f64) -> Candidate {
        Candidate {
            format: format.name(),
            bytes: Some(bytes),
            padding: Some(0),
            algorithm: Some("any"),
            reason: String::new(),
            workspace_bytes: Some(0),
            seconds: Some(seconds),
        }
    }

    #[test]
    fn formats_that_a_row_makes_large_are_not_recommended() {
        let statistics = RowStatistics::from_lengths([1, 1, 1]);
        for format in [Format::Ell, Format::Hyb] {
            for (bytes, recommended) in [(200, format), (201, Format::Sell)] {
                let candidates = [
                    candidate(Format::Csr, 100, 3.0),
                    candidate(format, bytes, 1.0),
                    candidate(Format::Sell, 900, 2.0),
                ];
                assert_eq!(recommend(&statistics, &candidates).0.format, recommended.name(), "{bytes} bytes");
            }
        }
    }
}
