//! The measurements as one line of JSON per matrix, and their summary.

use super::measurement::{Measurement, best};
use super::sources::Source;
use super::summary::Ratios;
use crate::value::Value;
use anyhow::{Context as _, Result};
use serde::Serialize;
use sparse_core::Csr;
use sparse_core::op::RowStatistics;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

/// A matrix, statistics of its rows, and its products.
#[derive(Serialize)]
struct Record<'a> {
    matrix: &'a str,
    half: &'static str,
    device: &'a str,
    /// The other library and its version.
    beside: &'a str,
    rows: usize,
    cols: usize,
    nnz: usize,
    /// Entries of a row, on average.
    mean: f64,
    /// Entries of the longest row.
    max: usize,
    /// Rows without entries, over all rows.
    empty: f64,
    /// The standard deviation of row lengths over their mean.
    cv: f64,
    products: Vec<Measurement>,
}

/// Collects ratios, and writes the lines.
pub(super) struct Records {
    json: Option<BufWriter<File>>,
    device: String,
    library: String,
    /// Chosen over best.
    over_best: Ratios,
    /// The other library over chosen.
    ahead_of_peer: Ratios,
}

impl Records {
    pub(super) fn new(json: Option<&Path>, device: String, library: String) -> Result<Self> {
        let create =
            |path: &Path| File::create(path).with_context(|| format!("cannot write {}", path.display()));
        let json = json.map(create).transpose()?.map(BufWriter::new);
        let (over_best, ahead_of_peer) = (Ratios::default(), Ratios::default());
        Ok(Self { json, device, library, over_best, ahead_of_peer })
    }

    /// True if nothing was measured.
    pub(super) fn is_empty(&self) -> bool {
        self.over_best.is_empty()
    }

    /// Prints and writes the measurements of a matrix.
    pub(super) fn add<T: Value>(
        &mut self,
        source: &Source<T>,
        a: &Csr<T>,
        products: Vec<Measurement>,
    ) -> Result<()> {
        let rows = RowStatistics::from_lengths(a.row_lengths());
        let (name, half) = (&source.name, source.half.name());
        println!("\n{name} ({half}): {} x {}, {} entries", a.nrows(), a.ncols(), a.nnz());
        println!("  rows of {:.1} on average, {} at most, {} empty", rows.mean, rows.longest, rows.empty);
        products.iter().for_each(|product| self.count(name, half, product));
        let Some(json) = &mut self.json else { return Ok(()) };
        let record = Record {
            matrix: name,
            half,
            device: &self.device,
            beside: &self.library,
            rows: a.nrows(),
            cols: a.ncols(),
            nnz: a.nnz(),
            mean: rounded(rows.mean),
            max: rows.longest,
            empty: rounded(rows.empty as f64 / a.nrows().max(1) as f64),
            cv: rounded(rows.deviation / rows.mean),
            products,
        };
        serde_json::to_writer(&mut *json, &record)?;
        writeln!(json)?;
        Ok(json.flush()?)
    }

    /// Prints a product and adds its ratios.
    fn count(&mut self, matrix: &str, half: &'static str, product: &Measurement) {
        let Measurement { op, chosen, us, peers } = product;
        let Some(((took, over_best), (fastest, _))) = product.took().zip(product.over_best()).zip(best(us))
        else {
            return;
        };
        self.over_best.add(op, half, over_best, matrix);
        let beside = product.ahead_of_peer().zip(best(peers)).map_or(String::new(), |(ahead, (name, _))| {
            self.ahead_of_peer.add(op, half, ahead, matrix);
            format!("; {name} takes {ahead:.3} x")
        });
        println!("  {op:<10} {chosen:<18} {took:>12.3} us  {over_best:>6.3} x {fastest}{beside}");
    }

    /// Prints the geometric mean and the worst ratios of each operation and half.
    pub(super) fn finish(&self) {
        println!("\nthe chosen algorithm's time over the best one's");
        self.over_best.largest().iter().for_each(|line| println!("{line}"));
        if !self.ahead_of_peer.is_empty() {
            println!("\nthe time of the best of {} over the chosen algorithm's", self.library);
            self.ahead_of_peer.smallest().iter().for_each(|line| println!("{line}"));
        }
    }
}

/// Rounds to four places.
fn rounded(number: f64) -> f64 {
    (number * 1e4).round() / 1e4
}
