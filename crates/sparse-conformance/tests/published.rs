//! Published answers are in the snapshots: three worked examples of prefix sums.

use std::fs;
use std::path::Path;

fn holds(case: &str, line: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("snapshots/scan__{case}.snap"));
    let text = fs::read_to_string(&path).expect("the snapshot is there");
    assert!(text.lines().any(|found| found == line), "{} has no line `{line}`", path.display());
}

#[test]
fn tps_of_e6() {
    holds("scan_e6", "i32 1x8 Flat Inclusive: 6 9 10 10 12 16 21 28");
    holds("scan_e6", "i64 1x8 Flat Exclusive: 0 6 9 10 10 12 16 21");
}

#[test]
fn hps_of_e7() {
    let inclusive = "6 9 10 10 12 16 21 28 29 36 40 46 48 53 56 56 59 59 64 68 74 75 82 84";
    let exclusive = "0 6 9 10 10 12 16 21 28 29 36 40 46 48 53 56 56 59 59 64 68 74 75 82";
    holds("scan_e7_e8", &format!("i32 3x8 RowMajor Inclusive: {inclusive}"));
    holds("scan_e7_e8", &format!("i64 3x8 RowMajor Exclusive: {exclusive}"));
}

#[test]
fn vps_of_e8() {
    let inclusive = "6 13 21 30 42 54 65 82 7 20 25 36 44 59 68 82 10 20 30 40 50 60 75 84";
    let exclusive = "0 10 20 30 40 50 60 75 6 13 21 30 42 54 65 82 7 20 25 36 44 59 68 82";
    holds("scan_e7_e8", &format!("i64 3x8 ColumnMajor Inclusive: {inclusive}"));
    holds("scan_e7_e8", &format!("i32 3x8 ColumnMajor Exclusive: {exclusive}"));
}
