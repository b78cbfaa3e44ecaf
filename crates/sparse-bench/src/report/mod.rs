//! Tables for people, JSON Lines for programs.

mod baseline;
pub(crate) mod plot;
mod row;
mod summary;

pub(crate) use summary::geomean;

use crate::arguments::Arguments;
use crate::limit::Reading;
use crate::measure::{Contender, PeakMemory, Rounds, Times, interleave};
use anyhow::{Context as _, Result, ensure};
use row::{Row, best, best_and_default, peers};
use sparse_core::Choice;
use std::fmt::{self, Display, Formatter};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

/// The workload of a comparison of contenders.
pub(crate) struct Case<'a> {
    pub(crate) op: &'a str,
    pub(crate) workload: &'a str,
    /// Bytes that have to move.
    pub(crate) bytes: usize,
    /// Entries of the matrix.
    pub(crate) entries: usize,
    /// Multiplications and additions; 0 if there are none.
    pub(crate) flops: usize,
    /// A kernel with only the gathers of the product, if columns may be scattered: a second limit.
    pub(crate) gather: Option<Contender<'a>>,
}

impl<'a> Case<'a> {
    /// A case that is bound only by its bytes.
    pub(crate) fn streams(op: &'a str, workload: &'a str, bytes: usize, entries: usize) -> Self {
        Self { op, workload, bytes, entries, flops: 0, gather: None }
    }
}

/// The least possible seconds.
struct Limits {
    /// The least seconds that reading and writing the bytes takes.
    stream: f64,
    gather: Option<f64>,
}

impl Limits {
    /// The larger one.
    fn seconds(&self) -> f64 {
        self.stream.max(self.gather.unwrap_or(0.0))
    }
}

impl Display for Limits {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, ", which take {:.4} ms", self.stream * 1e3)?;
        self.gather.map_or(Ok(()), |gather| write!(f, ", its gathers {:.4} ms", gather * 1e3))
    }
}

/// Collects rows; the first contender of every comparison is ours.
pub(crate) struct Report {
    json: Option<BufWriter<File>>,
    /// The most bytes a second so far.
    limit: f64,
    /// A reading that runs in turn with contenders, so that the limit is of the same moment.
    reading: Option<Reading>,
    rounds: Rounds,
    rows: Vec<Row>,
    /// The rows of an earlier run to compare with.
    before: Option<Vec<Row>>,
    plots: Option<PathBuf>,
}

impl Report {
    /// A report on a machine that moves `limit` bytes a second, which `machine` describes.
    pub(crate) fn new(machine: &str, limit: f64, rounds: Rounds, arguments: &Arguments) -> Result<Self> {
        let json = &arguments.json;
        let json = json
            .as_ref()
            .map(|path| File::create(path).with_context(|| format!("cannot write {}", path.display())))
            .transpose()?;
        println!("{machine}; medians of {} interleaved runs, of long ones fewer", rounds.most);
        let before = arguments.baseline.as_deref().map(row::read).transpose()?;
        let (json, plots) = (json.map(BufWriter::new), arguments.plot.clone());
        Ok(Self { json, limit, reading: None, rounds, rows: vec![], before, plots })
    }

    /// The rows of earlier runs. The bandwidth is the most of theirs.
    pub(crate) fn recorded(arguments: &Arguments) -> Result<Self> {
        let rows: Vec<_> = arguments.from.iter().map(|path| row::read(path)).collect::<Result<_>>()?;
        let rows = rows.concat();
        let bandwidths = rows.iter().filter_map(|row| Some(row.bytes as f64 / row.stream_seconds?));
        let limit = bandwidths.fold(0.0, f64::max);
        let machine = format!("{} rows of earlier runs, which moved {:.1} GB/s", rows.len(), limit / 1e9);
        Ok(Self { rows, ..Self::new(&machine, limit, arguments.rounds(0.0), arguments)? })
    }

    /// Measures the limit of bytes anew in every comparison.
    pub(crate) fn reading(self, reading: Reading) -> Self {
        Self { reading: Some(reading), ..self }
    }

    /// Times the contenders, ours first, and the limit with them, and adds a row for each.
    pub(crate) fn compare<'a>(&mut self, case: Case<'a>, mut contenders: Vec<Contender<'a>>) -> Result<()> {
        let (times, limits) = self.measure(case.bytes, case.gather, &mut contenders)?;
        println!("\n{} {}: {:.1} MB{limits}", case.op, case.workload, case.bytes as f64 / 1e6);
        let first = self.rows.len();
        for (contender, &seconds) in contenders.iter().zip(&times) {
            self.add(Row {
                op: case.op.into(),
                workload: case.workload.into(),
                contender: contender.name.clone(),
                seconds,
                bytes: case.bytes as u64,
                entries: case.entries as u64,
                flops: case.flops as u64,
                bytes_per_second: case.bytes as f64 / seconds.median,
                stream_seconds: Some(limits.stream),
                gather_seconds: limits.gather,
                fraction_of_limit: limits.seconds() / seconds.median,
                ratio: seconds.median / times[0].median,
                plan_seconds: contender.plan_seconds,
                algorithm: contender.choice.as_ref().map(|choice| choice.algorithm.into()),
                peak_memory: contender.peak_memory,
            })?;
        }
        if let Some(Choice { algorithm, reason }) = &contenders[0].choice {
            println!("  ours is {algorithm}: {reason}");
        }
        print_best(&self.rows[first..]);
        Ok(())
    }

    /// The times of the contenders, and the limits with them.
    fn measure<'a>(
        &mut self,
        bytes: usize,
        gather: Option<Contender<'a>>,
        contenders: &mut Vec<Contender<'a>>,
    ) -> Result<(Vec<Times>, Limits)> {
        let (compared, gathers) = (contenders.len(), gather.is_some());
        contenders.extend(gather);
        contenders.extend(self.reading.as_ref().map(Reading::contender));
        let mut times = interleave(contenders, self.rounds)?;
        contenders.truncate(compared);
        let mut limits = times.split_off(compared).into_iter().map(|times| times.median);
        let gather = limits.by_ref().take(usize::from(gathers)).next();
        let bandwidth = match (&self.reading, limits.next()) {
            (Some(reading), Some(seconds)) => reading.bytes as f64 / seconds,
            _ => self.limit,
        };
        self.limit = self.limit.max(bandwidth);
        Ok((times, Limits { stream: bytes as f64 / bandwidth, gather }))
    }

    fn add(&mut self, row: Row) -> Result<()> {
        let Times { median, p10, p90 } = row.seconds;
        let plan = row.plan_seconds.map(|s| format!("  plan {:.3} ms", s * 1e3)).unwrap_or_default();
        let memory = row.peak_memory.map(|PeakMemory { bytes, workspace_bytes }| {
            let [peak, workspace] = [bytes, workspace_bytes].map(|bytes| bytes as f64 / 1e6);
            format!("  peak {peak:.1} MB, workspace {workspace:.1} MB")
        });
        let memory = memory.unwrap_or_default();
        println!(
            "  {:<28} {:>10.4} ms  [{:.4} {:.4}]  {:>7.2} GB/s  {:>5.2} of limit  {:>7.2} x ours{plan}{memory}",
            row.contender,
            median * 1e3,
            p10 * 1e3,
            p90 * 1e3,
            row.bytes_per_second / 1e9,
            row.fraction_of_limit,
            row.ratio
        );
        if let Some(json) = &mut self.json {
            serde_json::to_writer(&mut *json, &row)?;
            writeln!(json)?;
            json.flush()?;
        }
        self.rows.push(row);
        Ok(())
    }

    /// The rows, one comparison after the other.
    fn cases(&self) -> impl Iterator<Item = &[Row]> + Clone {
        self.rows.chunk_by(|a, b| a.case() == b.case())
    }

    /// Prints the geometric mean and the worst ratio of each contender and operation, and the comparison with the
    /// baseline, and writes the plots.
    ///
    /// # Errors
    /// If no comparison was made, or a plot cannot be written.
    pub(crate) fn finish(&self) -> Result<()> {
        ensure!(!self.rows.is_empty(), "the suite has no workload of the names that are asked for");
        summary::print(self.cases());
        if let Some(before) = &self.before {
            baseline::print(&self.rows, before);
        }
        match &self.plots {
            Some(folder) => plot::write(&self.rows, self.limit, folder),
            None => Ok(()),
        }
    }
}

/// Prints the best algorithm of each library beside its default, if it has several, and the number of calls from which
/// on a plan takes less time in total.
fn print_best(rows: &[Row]) {
    for library in peers(rows) {
        if let Some((best, default)) = best_and_default(rows, library) {
            println!(
                "  best of {library}: {} at {:.2} x ours; its default: {} at {:.2} x",
                best.contender, best.ratio, default.contender, default.ratio
            );
        }
        if let Some(lead) = best(rows, library).and_then(|best| rows[0].lead(best)) {
            println!("  beside the best of {library}, plans counted, ours is ahead {lead}");
        }
    }
}
