//! The real class: random and badly scaled matrices, compared within the componentwise bound, never with a snapshot.

use super::definition::{Case, Operands};
use super::pseudo_random::{fraction, scramble};
use super::tier::Tier;
use crate::triplets::Triplets;

/// `count` entries at scattered places, some of them twice.
fn scattered(rows: usize, cols: usize, count: usize) -> Triplets {
    let at = |k: usize, extent: usize, salt: usize| (scramble(k, salt) % extent as u64) as usize;
    let mut entries: Vec<_> = (0..count).map(|k| (at(k, rows, 1), at(k, cols, 2), fraction(k, 3))).collect();
    entries.sort_by_key(|&(row, ..)| row);
    Triplets::new(rows, cols, entries)
}

/// Row lengths from one entry to all, as in a graph with few hubs.
fn skewed(n: usize) -> Triplets {
    let lengths = (0..n).map(|row| (n / (row + 1)).max(1));
    let entries = lengths.enumerate().flat_map(|(row, length)| {
        let column = scramble(row, 9) as usize % n;
        (0..length).map(move |k| (column, (column + k * 7) % n, fraction(row, k)))
    });
    let mut entries: Vec<_> = entries.collect();
    entries.sort_by_key(|&(row, ..)| row);
    Triplets::new(n, n, entries)
}

/// Entries over 2^±`spread`: most of them cancel or are lost.
fn badly_scaled(spread: u64) -> Triplets {
    let mut matrix = scattered(40, 40, 500);
    for (k, entry) in matrix.entries.iter_mut().enumerate() {
        entry.2 *= 2_f64.powi((scramble(k, 17) % (2 * spread)) as i32 - spread as i32);
    }
    matrix
}

pub(super) fn cases() -> Vec<Case> {
    let real = |name: &str, matrix: fn() -> Triplets| {
        Case::new(name, move || Ok(matrix())).operands(Operands::Reals)
    };
    vec![
        real("a1_random", || scattered(120, 90, 1500)),
        real("a1_dense_rows", || scattered(7, 300, 1900)),
        real("a1_badly_scaled", || badly_scaled(12)),
        real("a1_scaled_over_the_range", || badly_scaled(60)),
        real("r1_skewed_rows", || skewed(400)),
        real("r2_more_entries_than_a_chunk", || scattered(3000, 2500, 60_000)).large(),
        // ELL takes the smaller one in every type, and refuses the larger one in every type.
        real("r2_skewed", || skewed(500)).large().tier(Tier::Ci),
        real("r2_skewed_and_large", || skewed(8000)).large().tier(Tier::Ci),
        real("r2_very_large", || scattered(200_000, 150_000, 2_000_000)).large().tier(Tier::Nightly),
    ]
}
