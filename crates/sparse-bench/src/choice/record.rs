//! The measurements as one line of JSON per matrix, and their summary.

use super::products::Product;
use super::sources::Source;
use crate::report::geomean;
use anyhow::{Context as _, Result};
use serde::Serialize;
use sparse_core::op::RowStatistics;
use sparse_core::{Backend, Csr, SparseFormat};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

/// A matrix, statistics of its rows, and its products.
#[derive(Serialize)]
struct Record<'a> {
    matrix: &'a str,
    half: &'static str,
    device: &'a str,
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
    products: Vec<Product>,
}

/// Collects the ratios of chosen to best, and writes the lines.
pub(super) struct Records {
    json: Option<BufWriter<File>>,
    /// The ratios, and the matrix of each, by operation and half.
    ratios: BTreeMap<(String, &'static str), Vec<(f64, String)>>,
}

impl Records {
    pub(super) fn new(json: Option<&Path>) -> Result<Self> {
        let create =
            |path: &Path| File::create(path).with_context(|| format!("cannot write {}", path.display()));
        Ok(Self { json: json.map(create).transpose()?.map(BufWriter::new), ratios: BTreeMap::new() })
    }

    /// Prints and writes the measurements of a matrix.
    pub(super) fn add(
        &mut self,
        source: &Source,
        a: &Csr<f32>,
        backend: &impl Backend,
        products: Vec<Product>,
    ) -> Result<()> {
        let rows = RowStatistics::from_lengths(a.row_lengths());
        let half = source.half.name();
        println!("\n{} ({half}): {} x {}, {} entries", source.name, a.rows(), a.cols(), a.nnz());
        println!("  rows of {:.1} on average, {} at most, {} empty", rows.mean, rows.longest, rows.empty);
        for product in &products {
            let Some((ratio, best)) = product.ratio().zip(product.best()) else { continue };
            let (chosen, took) = (product.chosen, product.us[product.chosen]);
            println!("  {:<10} {chosen:<18} {took:>12.3} us  {ratio:>6.3} x {best}", product.op);
            let key = (product.op.clone(), half);
            self.ratios.entry(key).or_default().push((ratio, source.name.clone()));
        }
        let Some(json) = &mut self.json else { return Ok(()) };
        let record = Record {
            matrix: &source.name,
            half,
            device: &backend.caps().device,
            rows: a.rows(),
            cols: a.cols(),
            nnz: a.nnz(),
            mean: rounded(rows.mean),
            max: rows.longest,
            empty: rounded(rows.empty as f64 / a.rows().max(1) as f64),
            cv: rounded(rows.deviation / rows.mean),
            products,
        };
        serde_json::to_writer(&mut *json, &record)?;
        writeln!(json)?;
        Ok(json.flush()?)
    }

    /// Prints the geometric mean and the worst ratio of each operation and half.
    pub(super) fn finish(&self) -> Result<()> {
        println!("\nthe chosen algorithm's time over the best one's");
        println!(
            "{:<12} {:<6} {:>8} {:>8} {:>8}  worst on",
            "operation", "half", "geomean", "worst", "matrices"
        );
        for ((op, half), ratios) in &self.ratios {
            let all: Vec<f64> = ratios.iter().map(|(ratio, _)| *ratio).collect();
            let Some((worst, matrix)) = ratios.iter().max_by(|a, b| a.0.total_cmp(&b.0)) else { continue };
            println!("{op:<12} {half:<6} {:>8.3} {worst:>8.3} {:>8}  {matrix}", geomean(&all), all.len());
        }
        Ok(())
    }
}

/// Rounds to four places.
fn rounded(number: f64) -> f64 {
    (number * 1e4).round() / 1e4
}
