//! Tables for people, JSON Lines for programs.

use crate::Context;
use crate::measure::{Contender, Times, interleave};
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
    /// Our time over the time in which the machine reads as many bytes.
    fraction_of_limit: f64,
    /// This contender's time over ours.
    ratio: f64,
}

/// Collects rows; the first contender of every comparison is ours.
pub(crate) struct Report {
    json: Option<BufWriter<File>>,
    read_limit: f64,
    rounds: usize,
    ratios: BTreeMap<(String, String), Vec<f64>>,
}

impl Report {
    pub(crate) fn new(context: &Context, json: Option<&Path>) -> Result<Self> {
        let json = json
            .map(|path| File::create(path).with_context(|| format!("cannot write {}", path.display())))
            .transpose()?;
        let caps = sparse_core::Backend::caps(&context.backend);
        println!(
            "{} threads, {}; reads {:.1} GB/s; medians of {} interleaved runs",
            caps.compute_units,
            caps.features.join(" "),
            context.limits.read / 1e9,
            context.rounds
        );
        Ok(Self {
            json: json.map(BufWriter::new),
            read_limit: context.limits.read,
            rounds: context.rounds,
            ratios: BTreeMap::new(),
        })
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
                fraction_of_limit: bytes as f64 / seconds.median / self.read_limit,
                ratio: seconds.median / times[0].median,
            };
            println!(
                "  {:<28} {:>10.3} ms  [{:.3} {:.3}]  {:>6.2} GB/s  {:>5.2} of limit  {:>7.2} x ours",
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
            "\n{:<14} {:<28} {:>10} {:>10} {:>6}",
            "operation", "contender", "geomean", "worst", "cases"
        );
        for ((op, contender), ratios) in &self.ratios {
            let geomean = (ratios.iter().map(|r| r.ln()).sum::<f64>() / ratios.len() as f64).exp();
            let worst = ratios.iter().copied().fold(f64::INFINITY, f64::min);
            println!("{op:<14} {contender:<28} {geomean:>9.2}x {worst:>9.2}x {:>6}", ratios.len());
        }
    }
}
