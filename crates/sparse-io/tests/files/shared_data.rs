//! Files of a larger collection beside the repository; where it is absent these tests check nothing.

use serde_json::Value;
use sparse_core::{Error, Scalar, c64};
use sparse_io::matrix_market::{self, Field, Layout};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn shared(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data").join(folder)
}

/// The matrix files of a folder of the shared data; none where it is absent.
fn files(folder: &str) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(shared(folder)) else {
        return vec![];
    };
    let paths = entries.map(|entry| entry.unwrap().path());
    paths
        .filter(|path| path.to_str().is_some_and(|p| p.ends_with(".mtx") || p.ends_with(".mtx.gz")))
        .collect()
}

#[test]
fn malformed_files_are_refused_with_their_line() {
    for path in files("malformed") {
        let error = matrix_market::read_csr::<c64, i64, i64>(&path).expect_err(&path.display().to_string());
        let Error::File { line, .. } = &error else { panic!("{}: {error}", path.display()) };
        let is_text = path.extension().is_some_and(|e| e == "mtx");
        assert_eq!(line.is_some(), is_text, "{error}");
        assert!(matrix_market::read_coo::<c64, i64>(&path).is_err());
    }
}

fn expected_value(entry: &Value) -> c64 {
    let part = |k: usize| entry.get(k).map_or(0.0, |text| text.as_str().unwrap().parse().unwrap());
    c64::new(part(2), part(3))
}

fn expected_entries(file: &Value) -> BTreeMap<(usize, usize), c64> {
    let position = |entry: &Value, k: usize| entry[k].as_u64().unwrap() as usize;
    let entries = file["entries"].as_array().unwrap().iter();
    entries.map(|e| ((position(e, 0), position(e, 1)), expected_value(e))).collect()
}

fn same(a: c64, b: c64) -> bool {
    let same = |a: f64, b: f64| a == b || a.is_nan() && b.is_nan();
    same(a.re, b.re) && same(a.im, b.im)
}

fn assert_reads_as(path: &Path, expected: &Value) {
    let name = path.display();
    let info = matrix_market::read_header(path).unwrap();
    for (claim, value) in [("rows", info.rows), ("cols", info.cols), ("stored", info.stored)] {
        assert_eq!(expected[claim], value, "{name}: {claim}");
    }
    let mut entries = expected_entries(expected);
    if info.layout == Layout::Array {
        let dense = matrix_market::read_dense::<c64>(path).unwrap();
        assert!(entries.iter().all(|(&(i, j), &v)| same(dense.as_view().at(i, j), v)), "{name}");
        entries.retain(|_, value| !value.is_zero());
    }
    let mut sums = BTreeMap::new();
    for (i, j, value) in matrix_market::read_coo::<c64, i64>(path).unwrap().triplets() {
        sums.entry((i, j)).and_modify(|sum| *sum += value).or_insert(value);
    }
    assert_same_entries(path, sums, &entries);
    if info.rows < 1 << 31 {
        let matrix = matrix_market::read_csr::<c64, i32, i64>(path).unwrap();
        assert_same_entries(path, matrix.triplets().map(|(i, j, v)| ((i, j), v)), &entries);
    }
    if info.rows < 1 << 31 && info.field != Field::Complex {
        let matrix = matrix_market::read_csr::<f64, i32, i32>(path).unwrap();
        assert_same_entries(path, matrix.triplets().map(|(i, j, v)| ((i, j), v.to_c64())), &entries);
    }
}

fn assert_same_entries(
    path: &Path,
    found: impl IntoIterator<Item = ((usize, usize), c64)>,
    expected: &BTreeMap<(usize, usize), c64>,
) {
    let found: Vec<_> = found.into_iter().collect();
    assert_eq!(found.len(), expected.len(), "{}", path.display());
    for ((position, value), (&at, &expected)) in found.into_iter().zip(expected) {
        assert!(position == at && same(value, expected), "{}: {value} at {position:?}", path.display());
    }
}

#[test]
fn valid_files_read_as_expected() {
    let Ok(text) = std::fs::read_to_string(shared("valid-odd").join("EXPECTED.json")) else {
        return;
    };
    let expected: BTreeMap<String, Value> = serde_json::from_str(&text).unwrap();
    let files = files("valid-odd");
    assert_eq!(files.len(), expected.len());
    for path in files {
        assert_reads_as(&path, &expected[path.file_name().unwrap().to_str().unwrap()]);
    }
}

#[test]
fn a_matrix_of_more_than_2p31_rows_needs_64_bit_indices() {
    let path = shared("valid-odd").join("our_dims_over_2p31.mtx");
    if !path.exists() {
        return;
    }
    let error = matrix_market::read_coo::<f64, i32>(&path).unwrap_err();
    assert!(matches!(error, Error::IndexOverflow { value: 3_000_000_000, .. }), "{error}");
    let error = matrix_market::read_csr::<f64, i64, i64>(&path).unwrap_err();
    assert!(error.to_string().contains("read it as COO"), "{error}");
}
