//! Cases for single rules of the semantics; their names start with the rule's id.

use super::definition::{Case, Operands};
use super::pseudo_random::scramble;
use super::shapes::{entry, pattern, rows_of};
use crate::key::Key;
use crate::triplets::Triplets;
use sparse_core::{DType, c64};

const fn real(value: f64) -> c64 {
    c64::new(value, 0.0)
}

fn case(name: &str, matrix: fn() -> Triplets) -> Case {
    Case::new(name, move || Ok(matrix()))
}

/// Stored zeros of both signs beside other entries.
fn stored_zeros() -> Triplets {
    let mut matrix = pattern(8, 9, |row, col| (row + col) % 2 == 0);
    for (k, entry) in matrix.entries.iter_mut().enumerate().filter(|(k, _)| k % 3 == 0) {
        entry.2 = real(if k % 2 == 0 { 0.0 } else { -0.0 });
    }
    matrix
}

/// Unsorted coordinates that occur up to four times, some with a sum of zero.
fn duplicates() -> Triplets {
    let mut entries = pattern(9, 7, |row, col| (row + 2 * col) % 4 == 0).entries;
    let again: Vec<_> = entries.iter().copied().filter(|&(i, j, _)| (i + j) % 2 == 0).collect();
    for (k, &(i, j, value)) in again.iter().enumerate() {
        entries.extend((0..=k % 3).map(|copy| (i, j, value * (copy as f64 - 1.0))));
    }
    entries.sort_by_key(|&(i, j, _)| scramble(i, j + 3) % 13);
    Triplets::new(9, 7, entries)
}

/// The special values of every type, in one dense row after the other: zeros of both signs, subnormals, NaN,
/// infinities.
fn special_values() -> Triplets {
    let subnormals = [-24, -133, -149].map(|exponent| 2_f64.powi(exponent));
    let values = [0.0, -0.0, 1.0, -1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::from_bits(1)];
    let values: Vec<f64> = values.into_iter().chain(subnormals).collect();
    let cells = (0..3).flat_map(|row| values.iter().enumerate().map(move |(col, &value)| (row, col, value)));
    let entries = cells.filter(|(row, col, _)| row != &1 || col % 2 == 0);
    Triplets::new(3, values.len(), entries.map(|(row, col, value)| (row, col, real(value))).collect())
}

/// Integers whose row sums have up to 40 bits: exact only in double precision.
fn wide_sums() -> Triplets {
    let mut matrix = rows_of(12, 16, |row| row + 1);
    for (row, col, value) in &mut matrix.entries {
        *value = real(((1_u64 << 36) + scramble(*row, *col) % (1 << 36)) as f64) * value.re.signum();
    }
    matrix
}

/// Integers of 25 to 27 bits a sum: just above the exact sums of f32.
fn sums_above_24_bits() -> Triplets {
    let mut matrix = rows_of(12, 16, |row| 4 + row);
    for (row, col, value) in &mut matrix.entries {
        *value = real((1 << 23) as f64 + (scramble(*row, *col) % (1 << 22)) as f64);
    }
    matrix
}

fn gaussian_integers() -> Triplets {
    let mut matrix = rows_of(14, 11, |row| row % 6);
    for (row, col, value) in &mut matrix.entries {
        value.im = (scramble(*row + 5, *col) % 7) as f64 - 3.0;
    }
    matrix
}

fn not_finite_in_the_first_column() -> Triplets {
    let mut matrix = pattern(6, 6, |row, col| row != col);
    matrix.entries.iter_mut().filter(|entry| entry.1 == 0).for_each(|entry| entry.2 = real(f64::NAN));
    matrix
}

/// Three published vectors, whose prefix sums are known.
const LECTURE: [[i64; 8]; 3] = [[6, 3, 1, 0, 2, 4, 5, 7], [1, 7, 4, 6, 2, 5, 3, 0], [3, 0, 5, 4, 6, 1, 7, 2]];

fn lecture(rows: usize) -> Triplets {
    let cells = (0..rows).flat_map(|row| (0..8).map(move |col| (row, col, real(LECTURE[row][col] as f64))));
    Triplets::new(rows, 8, cells.collect())
}

/// Sums that pass 2^31 and return below it.
fn large_integers() -> Triplets {
    let mut matrix = pattern(5, 6, |row, col| (row * col) % 4 != 3);
    matrix.entries.iter_mut().for_each(|entry| entry.2 = real(2_f64.powi(30)));
    matrix
}

fn only(op: &'static str) -> impl Fn(&Key) -> bool {
    move |key| key.op == op
}

fn vector(length: usize, op: &'static str, dtypes: &'static [DType], element: fn(usize) -> c64) -> Case {
    let name = format!("a1_{op}_of_large_and_small_numbers_{}", dtypes[0]);
    let case = Case::new(name, move || Ok(Triplets::new(length, 0, vec![])));
    let takes = move |key: &Key| key.op == "vector" && key.format == op && dtypes.contains(&key.dtype);
    case.operands(Operands::Special(element)).only(takes)
}

fn scans_and_vectors() -> Vec<Case> {
    let single = &[DType::F32, DType::C32, DType::Bf16];
    let double = &[DType::F64, DType::C64];
    vec![
        case("scan_e6", || lecture(1)).only(only("scan")),
        case("scan_e7_e8", || lecture(3)).only(only("scan")),
        case("scan_wraps", large_integers).only(only("scan")),
        case("scan_of_many_blocks", || rows_of(300, 700, |row| row)).only(only("scan")),
        case("r2_long_vectors", || Triplets::new(40_000, 0, vec![]))
            .operands(Operands::Reals)
            .only(only("vector")),
        vector(900, "nrm2", single, |row| {
            real(if row % 2 == 0 { 2_f64.powi(100) } else { 2_f64.powi(-100) })
        }),
        vector(900, "nrm2", double, |row| {
            real(if row % 2 == 0 { 2_f64.powi(900) } else { 2_f64.powi(-900) })
        }),
        vector(901, "nrm2", &[DType::C64], |row| real(2_f64.powi(-900) * (row % 3) as f64)),
    ]
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = of_matrices();
    cases.extend(scans_and_vectors());
    cases
}

fn of_matrices() -> Vec<Case> {
    vec![
        case("t1_any_index_type", || rows_of(10, 12, |row| row % 5)),
        case("t2_f64_is_not_narrowed", wide_sums),
        case("t3_coordinates_past_2_31", || {
            let far = 1_usize << 40;
            Triplets::new(
                far,
                far,
                vec![entry(far - 1, 3), entry(5, far - 2), entry(5, 1 << 33), entry(0, 0)],
            )
        })
        .only(|key| key.format == "coo" && matches!(key.op, "sort" | "prune") && !key.is_narrow()),
        case("t4_sums_above_24_bits", sums_above_24_bits),
        case("t4_complex", gaussian_integers).only(|key| key.dtype.is_complex()),
        case("v1_special_values", special_values)
            .operands(Operands::Special(|_| real(1.0)))
            .only(|key| !matches!(key.op, "spmv" | "spmm" | "to_dense")),
        case("v2_stored_zeros", stored_zeros),
        case("v3_padding_never_touches_x", || {
            pattern(9, 10, |row, col| (1..9).contains(&col) && (row + col) % 4 < row % 4)
        })
        .operands(Operands::Special(|row| real(if row == 0 || row == 9 { f64::NAN } else { 2.0 }))),
        case("v3_stored_zero_times_infinity", stored_zeros)
            .operands(Operands::Special(|row| real(if row == 2 { f64::INFINITY } else { 3.0 })))
            .only(|key| !key.dtype.is_complex()),
        case("v3_stored_zero_times_nan", stored_zeros)
            .operands(Operands::Special(|row| real(if row == 2 { f64::NAN } else { 3.0 }))),
        case("v4_duplicates", duplicates),
        case("o1_dense_is_compressed_in_order", || rows_of(21, 34, |row| row)).only(only("dense_to_csr")),
        case("o2_columns_in_no_order", || {
            let mut matrix = rows_of(11, 10, |row| row % 7);
            matrix.entries.sort_by_key(|&(i, j, _)| (i, std::cmp::Reverse(j)));
            matrix
        }),
        case("b1_nan_output", || pattern(5, 4, |row, col| row != 2 && col != 1)),
        case("b2_nan_matrix", not_finite_in_the_first_column)
            .operands(Operands::Special(|_| real(2.0)))
            .only(|key| matches!(key.op, "spmv" | "spmm") && !matches!(key.dtype, DType::C32 | DType::C64)),
        case("b2_no_entries", || Triplets::new(7, 7, vec![])),
        case("b3_rows_without_entries", || pattern(16, 16, |row, col| row % 4 == 3 && col % 2 == 0)),
        case("a3_exact_patterns", || rows_of(13, 17, |row| (row * 5) % 8)),
        case("e2_x4_wrong_shapes", || pattern(5, 7, |row, col| (row + col) % 3 == 0)),
    ]
}
