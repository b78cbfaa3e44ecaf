//! Shapes and patterns: the table of Ginkgo's `test/matrix/matrix.cpp`, and sizes around every edge of a block.

use super::definition::Case;
use super::pseudo_random::scramble;
use super::tier::Tier;
use crate::triplets::{Triplet, Triplets};
use sparse_core::c64;
use std::collections::BTreeSet;

/// A small integer that is not zero.
pub(super) fn integer(row: usize, col: usize) -> c64 {
    let magnitude = 1.0 + (scramble(row + 101, col) % 9) as f64;
    let sign = if scramble(col, row + 53).is_multiple_of(2) { 1.0 } else { -1.0 };
    c64::new(sign * magnitude, 0.0)
}

pub(super) fn entry(row: usize, col: usize) -> Triplet {
    (row, col, integer(row, col))
}

/// A matrix with the entries for which `stored` is true.
pub(super) fn pattern(rows: usize, cols: usize, stored: impl Fn(usize, usize) -> bool) -> Triplets {
    let cells = (0..rows).flat_map(|row| (0..cols).map(move |col| (row, col)));
    Triplets::new(
        rows,
        cols,
        cells.filter(|&(row, col)| stored(row, col)).map(|(i, j)| entry(i, j)).collect(),
    )
}

/// A matrix whose row `i` has `length(i)` entries at scattered columns.
pub(super) fn rows_of(rows: usize, cols: usize, length: impl Fn(usize) -> usize) -> Triplets {
    let mut entries = vec![];
    for row in 0..rows {
        let mut columns: Vec<usize> = (0..cols).collect();
        columns.sort_by_key(|&col| scramble(row, col));
        columns.truncate(length(row));
        columns.sort_unstable();
        entries.extend(columns.into_iter().map(|col| entry(row, col)));
    }
    Triplets::new(rows, cols, entries)
}

/// The 5-point stencil on an n × n grid.
fn stencil(n: usize) -> Triplets {
    let near = |a: usize, b: usize| {
        let (dx, dy) = ((a % n).abs_diff(b % n), (a / n).abs_diff(b / n));
        dx + dy <= 1
    };
    pattern(n * n, n * n, near)
}

/// Square blocks of the unknowns of `nodes` nodes, whose rows have 0 to 4 of them.
fn blocks(nodes: usize, unknowns: usize) -> Triplets {
    let neighbours = rows_of(nodes, nodes, |node| node % 5);
    let pairs: BTreeSet<_> = neighbours.entries.iter().map(|&(row, col, _)| (row, col)).collect();
    let n = nodes * unknowns;
    pattern(n, n, |row, col| pairs.contains(&(row / unknowns, col / unknowns)))
}

fn with_one_long_row(mut matrix: Triplets, row: usize) -> Triplets {
    matrix.entries.retain(|entry| entry.0 != row);
    matrix.entries.extend((0..matrix.cols).map(|col| entry(row, col)));
    matrix.entries.sort_by_key(|&(i, j, _)| (i, j));
    matrix
}

/// Entries in an order that no format uses.
fn shuffled(mut matrix: Triplets) -> Triplets {
    matrix.entries.sort_by_key(|&(i, j, _)| scramble(i + 31, j));
    matrix
}

/// Sizes around the edges of blocks, warps and slices.
const EDGES: [usize; 7] = [31, 32, 33, 255, 256, 257, 1025];

fn around_an_edge(size: usize) -> Case {
    let tier = if size <= 33 { Tier::Quick } else { Tier::Ci };
    Case::new(format!("edge_{size}"), move || Ok(rows_of(size, size, |row| (scramble(row, 7) % 7) as usize)))
        .tier(tier)
}

/// Small matrices in few settings that still use several work-groups and chunks of a scan, and several warps for a row.
fn tiny() -> [Case; 2] {
    [
        Case::new("tiny_tall", || Ok(rows_of(66, 8, |row| row % 9))),
        Case::new("tiny_unsorted", || Ok(shuffled(rows_of(5, 40, |row| 9 * row)))),
    ]
    .map(|case| case.tier(Tier::Tiny).large())
}

pub(super) fn cases() -> Vec<Case> {
    let case = |name: &str, matrix: fn() -> Triplets| Case::new(name, move || Ok(matrix()));
    let mut cases = vec![
        case("e1_0x0", || Triplets::new(0, 0, vec![])),
        case("e1_0x2", || Triplets::new(0, 2, vec![])),
        case("e1_2x0", || Triplets::new(2, 0, vec![])),
        case("e1_no_entries", || Triplets::new(3, 4, vec![])),
        case("e1_one_entry", || Triplets::new(1, 1, vec![entry(0, 0)])),
        case("e1_one_row", || pattern(1, 35, |_, col| col % 3 != 1)),
        case("e1_one_column", || pattern(35, 1, |row, _| row % 3 != 1)),
        case("e1_empty_first_rows_and_columns", || {
            pattern(9, 8, |row, col| row > 2 && col > 1 && row != col)
        }),
        case("e1_empty_middle_rows_and_columns", || pattern(9, 8, |row, col| row % 3 != 1 && col != 4)),
        case("e1_empty_last_rows_and_columns", || pattern(9, 8, |row, col| row < 6 && col < 5)),
        case("fixed_row_lengths", || rows_of(20, 30, |_| 5)),
        case("varying_row_lengths", || rows_of(25, 20, |row| (row * row) % 17)),
        case("fully_dense", || pattern(17, 13, |_, _| true)),
        case("diagonal", || pattern(33, 33, |row, col| row == col)),
        case("stencil", || stencil(6)),
        case("one_long_row_in_a_stencil", || with_one_long_row(stencil(6), 11)),
        case("blocks_of_2_unknowns", || blocks(23, 2)),
        case("blocks_of_3_unknowns", || blocks(13, 3)),
        case("one_column_hit_by_all", || pattern(40, 21, |row, col| col == 5 || row == col)),
        case("wide", || rows_of(4, 40, |row| row * 11)),
        case("tall", || rows_of(40, 4, |row| row % 5)),
        case("unsorted", || shuffled(rows_of(15, 18, |row| row % 9))),
    ];
    cases.extend(EDGES.map(around_an_edge));
    cases.push(case("rows_of_0_to_34_entries", || rows_of(66, 34, |row| (row * row) % 35)).large());
    cases.extend(tiny());
    cases.push(Case::new("long_rows_around_256", || {
        Ok(rows_of(6, 1100, |row| [255, 256, 257, 0, 1025, 3][row]))
    }));
    cases
}
