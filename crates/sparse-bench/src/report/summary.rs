//! Geometric means over the workloads of an operation.

use super::row::{Row, best_and_default, peers};
use std::collections::BTreeMap;

/// The ratios of each contender of each operation, and of the best of each library that has several.
pub(super) fn ratios<'a>(cases: impl Iterator<Item = &'a [Row]>) -> BTreeMap<(String, String), Vec<f64>> {
    let mut ratios: BTreeMap<_, Vec<_>> = BTreeMap::new();
    let mut add = |row: &Row, name: String| ratios.entry((row.op.clone(), name)).or_default().push(row.ratio);
    for rows in cases {
        for row in rows.iter().filter(|row| !row.is_ours()) {
            add(row, row.contender.clone());
        }
        for library in peers(rows) {
            if let Some((best, _)) = best_and_default(rows, library) {
                add(best, format!("{library} (best)"));
            }
        }
    }
    ratios
}

/// The geometric mean.
pub(crate) fn geomean(ratios: &[f64]) -> f64 {
    (ratios.iter().map(|r| r.ln()).sum::<f64>() / ratios.len() as f64).exp()
}

/// The mean over all workloads of entries a second, of ours, for each product with a dense matrix.
fn entries_a_second<'a>(cases: impl Iterator<Item = &'a [Row]>) -> BTreeMap<String, f64> {
    let mut speeds: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for row in cases.flatten().filter(|row| row.is_ours() && row.op.starts_with("spmm")) {
        speeds.entry(row.op.clone()).or_default().push(row.entries as f64 / row.seconds.median);
    }
    let mean = |speeds: Vec<f64>| speeds.iter().sum::<f64>() / speeds.len() as f64;
    speeds.into_iter().map(|(op, speeds)| (op, mean(speeds))).collect()
}

/// Prints the geometric mean and the worst ratio of each contender and operation.
pub(super) fn print<'a>(cases: impl Iterator<Item = &'a [Row]> + Clone) {
    println!("\n{:<18} {:<28} {:>10} {:>10} {:>6}", "operation", "contender", "geomean", "worst", "cases");
    for ((op, contender), ratios) in ratios(cases.clone()) {
        let worst = ratios.iter().copied().fold(f64::INFINITY, f64::min);
        println!("{op:<18} {contender:<28} {:>9.2}x {worst:>9.2}x {:>6}", geomean(&ratios), ratios.len());
    }
    for (op, speed) in entries_a_second(cases) {
        println!("{op}: ours takes {speed:.3e} entries a second, on average over the matrices");
    }
}
