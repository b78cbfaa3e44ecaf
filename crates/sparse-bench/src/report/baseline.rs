//! A comparison with an earlier run, from its JSON.

use super::row::{OURS, Row};
use super::summary::geomean;

/// Prints the rows of ours that took longer than before by more than the noise, and the change of the peers' times,
/// whose code is the same.
pub(super) fn print(now: &[Row], before: &[Row]) {
    let pairs: Vec<_> = now.iter().filter_map(|row| Some((row, earlier(row, before)?))).collect();
    let (ours, peers): (Vec<_>, Vec<_>) = pairs.into_iter().partition(|(row, _)| row.library() == OURS);
    let slower: Vec<_> = ours.iter().filter(|(now, before)| is_slower(now, before)).collect();
    println!("\n{} of {} rows of ours are slower than in the baseline", slower.len(), ours.len());
    for (now, before) in slower {
        let (ratio, milliseconds) = (change(now, before), before.seconds.median * 1e3);
        println!(
            "  SLOWER {ratio:.2} x: {} {}, {}: {milliseconds:.4} ms before, {:.4} now",
            now.op,
            now.workload,
            now.contender,
            now.seconds.median * 1e3
        );
    }
    if !peers.is_empty() {
        let changes: Vec<_> = peers.iter().map(|(now, before)| change(now, before)).collect();
        println!("  the peers take {:.2} x as long as before (geometric mean)", geomean(&changes));
    }
}

/// The row of this contender and workload in an earlier run.
fn earlier<'a>(row: &Row, before: &'a [Row]) -> Option<&'a Row> {
    before.iter().find(|other| other.case() == row.case() && other.contender == row.contender)
}

/// True if nearly all runs took longer than nearly all of before.
fn is_slower(now: &Row, before: &Row) -> bool {
    now.seconds.p10 > before.seconds.p90
}

fn change(now: &Row, before: &Row) -> f64 {
    now.seconds.median / before.seconds.median
}

#[cfg(test)]
mod tests {
    use super::super::row::tests::row;
    use super::*;

    #[test]
    fn what_overlaps_is_noise() {
        let before = row("spmv", "arxiv", "ours", [1.0, 1.1, 1.3]);
        assert!(!is_slower(&row("spmv", "arxiv", "ours", [1.2, 1.4, 1.6]), &before));
        assert!(is_slower(&row("spmv", "arxiv", "ours", [1.31, 1.4, 1.6]), &before));
    }

    #[test]
    fn a_row_is_found_by_its_names() {
        let before = [row("spmv", "arxiv", "ours", [1.0; 3]), row("spmv", "arxiv", "scipy", [2.0; 3])];
        let found = earlier(&row("spmv", "arxiv", "scipy", [3.0; 3]), &before).unwrap();
        assert_eq!(found.seconds.median, 2.0);
        assert!(earlier(&row("spmm", "arxiv", "scipy", [3.0; 3]), &before).is_none());
    }
}
