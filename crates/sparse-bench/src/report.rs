//! Tables for people, JSON Lines for programs.

use crate::measure::{Contender, Rounds, Times, interleave};
use anyhow::{Context as _, Result};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

/// One contender on one workload.
#[derive(serde::Serialize)]
struct Row<'a> {
    op: &'a str,
    workload: &'a str,
    contender: &'a str,
    seconds: Times,
    /// The bytes that had to move.
    bytes: u64,
    bytes_per_second: f64,
    /// The time in which the machine moves as many bytes, over the contender's.
    fraction_of_limit: f64,
    /// This contender's time over ours.
    ratio: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    plan_seconds: Option<f64>,
}

/// Collects rows; the first contender of every comparison is ours.
pub(crate) struct Report {
    json: Option<BufWriter<File>>,
    /// Bytes a second.
    limit: f64,
    rounds: Rounds,
    ratios: BTreeMap<(String, String), Vec<f64>>,
}

impl Report {
    /// A report on a machine that moves `limit` bytes a second, which `machine` describes.
    pub(crate) fn new(machine: &str, limit: f64, rounds: Rounds, json: Option<&Path>) -> Result<Self> {
        let json = json
            .map(|path| File::create(path).with_context(|| format!("cannot write {}", path.display())))
            .transpose()?;
        println!("{machine}; medians of {} interleaved runs, of long ones fewer", rounds.most);
        Ok(Self { json: json.map(BufWriter::new), limit, rounds, ratios: BTreeMap::new() })
    }

    /// Times the contenders, ours first, and adds a row for each. `bytes` had to move.
    pub(crate) fn compare(
        &mut self,
        op: &str,
        workload: &str,
        bytes: usize,
        mut contenders: Vec<Contender<'_>>,
    ) -> Result<()> {
        let times = interleave(&mut contenders, self.rounds)?;
        println!("\n{op} {workload}: {:.1} MB", bytes as f64 / 1e6);
        for (contender, seconds) in contenders.iter().zip(&times) {
            let row = Row {
                op,
                workload,
                contender: &contender.name,
                seconds: *seconds,
                bytes: bytes as u64,
                bytes_per_second: bytes as f64 / seconds.median,
                fraction_of_limit: bytes as f64 / seconds.median / self.limit,
                ratio: seconds.median / times[0].median,
                plan_seconds: contender.plan_seconds,
            };
            let plan = row.plan_seconds.map(|s| format!("  plan {:.3} ms", s * 1e3)).unwrap_or_default();
            println!(
                "  {:<28} {:>10.4} ms  [{:.4} {:.4}]  {:>7.2} GB/s  {:>5.2} of limit  {:>7.2} x ours{plan}",
                row.contender,
                seconds.median * 1e3,
                seconds.p10 * 1e3,
                seconds.p90 * 1e3,
                row.bytes_per_second / 1e9,
                row.fraction_of_limit,
                row.ratio
            );
            if let Some(json) = &mut self.json {
                serde_json::to_writer(&mut *json, &row)?;
                writeln!(json)?;
                json.flush()?;
            }
            self.ratios.entry((op.to_string(), contender.name.clone())).or_default().push(row.ratio);
        }
        Ok(())
    }

    /// Prints the geometric mean and the worst ratio of each contender and operation.
    pub(crate) fn summary(&self) {
        println!(
            "\n{:<18} {:<28} {:>10} {:>10} {:>6}",
            "operation", "contender", "geomean", "worst", "cases"
        );
        for ((op, contender), ratios) in &self.ratios {
            let geomean = (ratios.iter().map(|r| r.ln()).sum::<f64>() / ratios.len() as f64).exp();
            let worst = ratios.iter().copied().fold(f64::INFINITY, f64::min);
            println!("{op:<18} {contender:<28} {geomean:>9.2}x {worst:>9.2}x {:>6}", ratios.len());
        }
    }
}
