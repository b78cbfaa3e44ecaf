//! Ratios of times over many matrices, by operation and half.

use crate::report::geomean;
use std::collections::BTreeMap;

/// Behind the other library: less than this of its time over ours.
const BEHIND: f64 = 0.95;

/// The matrices that are named.
const NAMED: usize = 5;

/// The ratios, and the matrix of each, by operation and half.
#[derive(Debug, Default)]
pub(super) struct Ratios(BTreeMap<(String, &'static str), Vec<(f64, String)>>);

impl Ratios {
    pub(super) fn add(&mut self, op: &str, half: &'static str, ratio: f64, matrix: &str) {
        self.0.entry((op.into(), half)).or_default().push((ratio, matrix.into()));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The geometric mean and the largest ratio of each operation and half.
    pub(super) fn largest(&self) -> Vec<String> {
        let mut lines = vec![format!(
            "{:<12} {:<6} {:>8} {:>8} {:>8}  worst on",
            "operation", "half", "geomean", "worst", "matrices"
        )];
        for ((op, half), ratios) in &self.0 {
            let Some((worst, matrix)) = ratios.iter().max_by(|a, b| a.0.total_cmp(&b.0)) else { continue };
            let (mean, count) = (mean(ratios), ratios.len());
            lines.push(format!("{op:<12} {half:<6} {mean:>8.3} {worst:>8.3} {count:>8}  {matrix}"));
        }
        lines
    }

    /// The geometric mean and the smallest ratios of each operation and half, with the number of those below
    /// [`BEHIND`].
    pub(super) fn smallest(&self) -> Vec<String> {
        let below = format!("< {BEHIND}");
        let mut lines = vec![format!(
            "{:<12} {:<6} {:>8} {:>8} {below:>8} {:>8}  worst on",
            "operation", "half", "geomean", "worst", "matrices"
        )];
        for ((op, half), ratios) in &self.0 {
            let mut sorted: Vec<_> = ratios.iter().collect();
            sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
            let Some((worst, _)) = sorted.first() else { continue };
            let behind = ratios.iter().filter(|(ratio, _)| *ratio < BEHIND).count();
            let named: Vec<_> =
                sorted.iter().take(NAMED).map(|(ratio, matrix)| format!("{matrix} {ratio:.2}")).collect();
            let (mean, count, named) = (mean(ratios), ratios.len(), named.join(", "));
            lines
                .push(format!("{op:<12} {half:<6} {mean:>8.3} {worst:>8.3} {behind:>8} {count:>8}  {named}"));
        }
        lines
    }
}

fn mean(ratios: &[(f64, String)]) -> f64 {
    geomean(&ratios.iter().map(|(ratio, _)| *ratio).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratios() -> Ratios {
        let mut ratios = Ratios::default();
        for (ratio, matrix) in
            [(2.0, "a"), (0.5, "b"), (0.94, "c"), (0.96, "d"), (1.0, "e"), (1.0 / 0.94 / 0.96, "f")]
        {
            ratios.add("spmv f32", "judge", ratio, matrix);
        }
        ratios
    }

    #[test]
    fn the_smallest_ratios_are_counted_and_named() {
        let lines = ratios().smallest();
        assert_eq!(lines.len(), 2);
        let words: Vec<_> = lines[1].split_whitespace().collect();
        assert_eq!(words[..7], ["spmv", "f32", "judge", "1.000", "0.500", "2", "6"]);
        assert_eq!(words[7..].join(" "), "b 0.50, c 0.94, d 0.96, e 1.00, f 1.11");
    }

    #[test]
    fn the_largest_ratio_is_named() {
        let words: Vec<String> = ratios().largest()[1].split_whitespace().map(Into::into).collect();
        assert_eq!(words, ["spmv", "f32", "judge", "1.000", "2.000", "6", "a"]);
    }
}
