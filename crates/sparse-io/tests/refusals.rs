//! Files that are refused, with the line where there is one and a reason that says what would have been right.

use sparse_core::{Csr, DType, Error, Host, c64};
use sparse_io::{matrix_market, npy, npz};

fn refused(text: &str, line: u64, part: &str) {
    match matrix_market::parse_csr::<f64, i32, i32>(text.as_bytes()) {
        Err(Error::File { line: found, reason, .. }) => {
            assert_eq!(found, Some(line), "{text}: {reason}");
            assert!(reason.contains(part), "{text}: {reason}");
        }
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn broken_headers_name_their_line() {
    for (banner, part) in [
        ("", "the banner ends where `%%MatrixMarket` is needed"),
        ("3 3 1", "the file starts with `3`"),
        ("%%MatrixMarket matrix coordinate real", "the banner ends where the symmetry is needed"),
        ("%%MatrixMarket matrix list real general", "the format is `list`"),
        ("%%MatrixMarket matrix coordinate quaternion general", "the field is `quaternion`"),
        ("%%MatrixMarket matrix coordinate real lower", "the symmetry is `lower`"),
        ("%%MatrixMarket matrix array pattern general", "an array has values"),
        ("%%MatrixMarket matrix coordinate pattern skew-symmetric", "a pattern has no sign"),
        (
            "%%MatrixMarket matrix coordinate complex general",
            "the values are complex and cannot be read as f64",
        ),
    ] {
        refused(&format!("{banner}\n2 2 0\n"), 1, part);
    }
}

#[test]
fn broken_sizes_name_their_line() {
    for (sizes, part) in [
        ("", "the file ends where the size line is needed"),
        ("2 2", "the size line ends where the number of entries"),
        ("2 -2 1", "the size line has `-2` where the number of columns"),
        ("2 2.0 1", "the size line has `2.0`"),
        ("2 2 1 1", "`1` stands after the sizes"),
        ("2 99999999999999999999 1", "the size line has `99999999999999999999`"),
        ("2 2 9000000000000000000", "9000000000000000000 entries are claimed, but only"),
    ] {
        refused(&format!("%%MatrixMarket matrix coordinate real general\n% note\n{sizes}"), 3, part);
    }
    let square = "%%MatrixMarket matrix coordinate real symmetric\n2 3 0\n";
    refused(square, 2, "is not square");
    let huge = "%%MatrixMarket matrix array real general\n4294967296 4294967296\n1\n";
    refused(huge, 2, "more elements than can be counted");
}

#[test]
fn broken_entries_name_their_line() {
    for (entry, part) in [
        ("0 1 1", "row 0 is not in 1..=2"),
        ("1 3 1", "column 3 is not in 1..=2"),
        ("4294967297 1 1", "row 4294967297 is not in 1..=2"),
        ("18446744073709551617 1 1", "row is `18446744073709551617`"),
        ("-1 1 1", "row is `-1`"),
        ("1.5 1 1", "row is `1.5`"),
        ("1", "column is missing"),
        ("1 1", "the value is missing"),
        ("1 1 pi", "`pi` is not a number"),
        ("1 1 1,5", "`1,5` is not a number"),
        ("1 1 1 2", "`2` stands after the entry"),
        ("\0\0\0", "row is `\\x00\\x00\\x00`"),
    ] {
        refused(&format!("%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n{entry}\n"), 4, part);
    }
    let head = "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n";
    refused(&format!("{head}% the second one is missing\n"), 4, "the file ends after 1 entries of 2");
    refused(&format!("{head}2 2 2\n\n1 2 3\n"), 6, "this is one more");
    let array = "%%MatrixMarket matrix array real general\n2 1\n1\n";
    refused(&format!("{array}% note\n"), 4, "the file ends before element (2, 1)");
    refused(&format!("{array}2\n3\n"), 5, "this is one more");
}

#[test]
fn a_value_that_becomes_infinite_names_its_line() {
    let text = "%%MatrixMarket matrix coordinate real general\n1 2 2\n1 1 1e-300\n1 2 1e300\n";
    let error = matrix_market::parse_csr::<f32, i32, i32>(text.as_bytes()).unwrap_err();
    assert!(
        matches!(error, Error::File { line: Some(4), .. }) && error.to_string().contains("does not fit f32")
    );
    let infinite = text.replace("1e300", "inf");
    let matrix = matrix_market::parse_csr::<f32, i32, i32>(infinite.as_bytes()).unwrap();
    assert_eq!(matrix.values(), &[0.0, f32::INFINITY]);
}

#[test]
fn extents_must_fit_the_index_type() {
    let text = "%%MatrixMarket matrix coordinate real general\n3000000000 3000000000 1\n3000000000 1 2\n";
    let error = matrix_market::parse_coo::<f64, i32>(text.as_bytes()).unwrap_err();
    assert!(matches!(error, Error::IndexOverflow { value: 3_000_000_000, .. }), "{error}");
    let matrix = matrix_market::parse_coo::<f64, i64>(text.as_bytes()).unwrap();
    assert_eq!(matrix.triplets().collect::<Vec<_>>(), [(2_999_999_999, 0, 2.0)]);
    let error = matrix_market::parse_csr::<f64, i64, i64>(text.as_bytes()).unwrap_err();
    assert!(error.to_string().contains("line 2") && error.to_string().contains("read it as COO"), "{error}");
}

#[test]
fn what_is_not_gzip_is_not_read_as_text() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.mtx.gz");
    std::fs::write(&path, "%%MatrixMarket matrix coordinate real general\n1 1 0\n").unwrap();
    let error = sparse_io::read_csr::<f64, i32, i32>(&path).unwrap_err();
    assert!(error.to_string().contains("not a sound gzip file"), "{error}");
}

#[test]
fn a_coordinate_file_is_not_dense() {
    let text = "%%MatrixMarket matrix coordinate real general\n1 1 0\n";
    assert!(matches!(matrix_market::parse_dense::<f64>(text.as_bytes()), Err(Error::Unsupported { .. })));
}

fn npy_bytes(descr: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}}}\n");
    [b"\x93NUMPY\x01\x00", &(header.len() as u16).to_le_bytes()[..], header.as_bytes(), data].concat()
}

#[test]
fn claims_of_npy_headers_are_checked() {
    for (descr, shape, part) in [
        ("<f8", "(2,)", "needs 16 bytes, but 8 follow"),
        ("<f8", "(4611686018427387904, 4611686018427387904)", "needs more than can be counted"),
        ("<f8", "()", "0 dimensions"),
        ("<f8", "(1, 1, 1, 1)", "4 dimensions"),
        ("<f2", "(4,)", "none of f4, f8, c8, c16, i4, i8"),
        (">f8", "(1,)", "byte order"),
        ("|O", "(1,)", "none of f4"),
    ] {
        let error = npy::parse(&npy_bytes(descr, shape, &[0; 8])).unwrap_err();
        assert!(error.to_string().contains(part), "{descr} {shape}: {error}");
    }
    assert_eq!(
        npy::parse(&npy_bytes("<i8", "(1,)", &[7, 0, 0, 0, 0, 0, 0, 0])).unwrap().values.dtype(),
        DType::F64
    );
}

#[test]
fn a_dense_array_without_columns_claims_no_memory() {
    let array = npy::parse(&npy_bytes("<f8", "(1000000000000, 0)", &[])).unwrap();
    assert_eq!(array.into_dense::<f64>().unwrap().rows(), 1_000_000_000_000);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.npy");
    std::fs::write(&path, npy_bytes("<f8", "(1000000000000, 0)", &[])).unwrap();
    assert!(sparse_io::read_csr::<f64, i64, i64>(&path).is_err());
}

#[test]
fn unsound_archives_and_matrices_are_refused() {
    assert!(npz::parse(b"PK\x03\x04").unwrap_err().to_string().contains("not a sound zip file"));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.npz");
    let matrix = Csr::<c64>::new(2, 2, vec![0, 1, 2], vec![0, 1], vec![c64::new(1.0, 2.0); 2]).unwrap();
    npz::write_csr(&path, &matrix).unwrap();
    let error = sparse_io::read_csr::<f64, i32, i32>(&path).unwrap_err();
    assert!(matches!(error, Error::Unsupported { .. }), "{error}");

    let mut sparse = npz::read(&path).unwrap();
    sparse.rows = 3;
    let read: sparse_core::Result<Csr<c64, Host, i32, i32>> = sparse.into_csr();
    assert!(matches!(read, Err(Error::Format { .. })));
    let bytes = std::fs::read(&path).unwrap();
    for length in 0..bytes.len() {
        assert!(npz::parse(&bytes[..length]).is_err());
    }
}

#[test]
fn other_names_are_not_guessed() {
    for name in ["a.txt", "a", "a.gz", "a.npz.gz", "mtx"] {
        assert!(matches!(sparse_io::value_type(name), Err(Error::Unsupported { .. })), "{name}");
    }
    assert!(matches!(sparse_io::value_type("absent.mtx"), Err(Error::Io { .. })));
}
