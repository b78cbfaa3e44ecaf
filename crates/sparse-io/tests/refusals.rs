//! Files that are refused, with the line where there is one and a reason that says what would have been right.

use sparse_core::{Csr, DType, Error, Host, c64};
use sparse_io::{matrix_market, npy, npz};

/// Why a text is refused; every reason has a line.
fn refusal(text: &str) -> String {
    match matrix_market::parse_csr::<f64, i32, i32>(text.as_bytes()) {
        Err(Error::File { line: Some(line), reason, .. }) => format!("line {line}: {reason}"),
        other => panic!("{text}: {other:?}"),
    }
}

/// One line for each of these parts of a text: the part, and why the text is refused.
fn refusals<const N: usize>(parts: [&str; N], text: impl Fn(&str) -> String) -> String {
    parts.map(|part| format!("{part:?} {}", refusal(&text(part)))).join("\n")
}

#[test]
fn broken_headers_name_their_line() {
    let banners = [
        "",
        "3 3 1",
        "%%MatrixMarket matrix coordinate real",
        "%%MatrixMarket matrix list real general",
        "%%MatrixMarket matrix coordinate quaternion general",
        "%%MatrixMarket matrix coordinate real lower",
        "%%MatrixMarket matrix array pattern general",
        "%%MatrixMarket matrix coordinate pattern skew-symmetric",
        "%%MatrixMarket matrix coordinate complex general",
    ];
    insta::assert_snapshot!(refusals(banners, |banner| format!("{banner}\n2 2 0\n")), @r#"
    "" line 1: the banner ends where `%%MatrixMarket` is needed
    "3 3 1" line 1: the file starts with `3`, not with `%%MatrixMarket`
    "%%MatrixMarket matrix coordinate real" line 1: the banner ends where the symmetry is needed
    "%%MatrixMarket matrix list real general" line 1: the format is `list`, neither `coordinate` nor `array`
    "%%MatrixMarket matrix coordinate quaternion general" line 1: the field is `quaternion`: none of real, integer, pattern, complex
    "%%MatrixMarket matrix coordinate real lower" line 1: the symmetry is `lower`: none of general, symmetric, skew-symmetric, hermitian
    "%%MatrixMarket matrix array pattern general" line 1: an array has values, so its field cannot be pattern
    "%%MatrixMarket matrix coordinate pattern skew-symmetric" line 1: a pattern has no sign and cannot be skew-symmetric
    "%%MatrixMarket matrix coordinate complex general" line 1: the values are complex and cannot be read as f64; ask for c32 or c64
    "#);
}

#[test]
fn broken_sizes_name_their_line() {
    let sizes =
        ["", "2 2", "2 -2 1", "2 2.0 1", "2 2 1 1", "2 99999999999999999999 1", "2 2 9000000000000000000"];
    let general = |sizes: &str| format!("%%MatrixMarket matrix coordinate real general\n% note\n{sizes}");
    insta::assert_snapshot!(refusals(sizes, general), @r#"
    "" line 3: the file ends where the size line is needed
    "2 2" line 3: the size line ends where the number of entries, a whole number, is needed
    "2 -2 1" line 3: the size line has `-2` where the number of columns, a whole number, is needed
    "2 2.0 1" line 3: the size line has `2.0` where the number of columns, a whole number, is needed
    "2 2 1 1" line 3: `1` stands after the sizes
    "2 99999999999999999999 1" line 3: the size line has `99999999999999999999` where the number of columns, a whole number, is needed
    "2 2 9000000000000000000" line 3: 9000000000000000000 entries are claimed, but only 0 bytes follow
    "#);
    insta::assert_snapshot!(refusal("%%MatrixMarket matrix coordinate real symmetric\n2 3 0\n"), @"line 2: a matrix of 2 x 3 is not square and has no symmetry");
    let huge = "%%MatrixMarket matrix array real general\n4294967296 4294967296\n1\n";
    insta::assert_snapshot!(refusal(huge), @"line 2: an array of 4294967296 x 4294967296 has more elements than can be counted");
}

#[test]
fn broken_entries_name_their_line() {
    let entries = [
        "0 1 1",
        "1 3 1",
        "4294967297 1 1",
        "18446744073709551617 1 1",
        "-1 1 1",
        "1.5 1 1",
        "1",
        "1 1",
        "1 1 pi",
        "1 1 1,5",
        "1 1 1 2",
        "\0\0\0",
    ];
    let head = "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n";
    insta::assert_snapshot!(refusals(entries, |entry| format!("{head}{entry}\n")), @r#"
    "0 1 1" line 4: row 0 is not in 1..=2
    "1 3 1" line 4: column 3 is not in 1..=2
    "4294967297 1 1" line 4: row 4294967297 is not in 1..=2
    "18446744073709551617 1 1" line 4: row is `18446744073709551617`, not a whole number in 1..=2
    "-1 1 1" line 4: row is `-1`, not a whole number in 1..=2
    "1.5 1 1" line 4: row is `1.5`, not a whole number in 1..=2
    "1" line 4: column is missing, not a whole number in 1..=2
    "1 1" line 4: the value is missing
    "1 1 pi" line 4: `pi` is not a number
    "1 1 1,5" line 4: `1,5` is not a number
    "1 1 1 2" line 4: `2` stands after the entry
    "\0\0\0" line 4: row is `\x00\x00\x00`, not a whole number in 1..=2
    "#);
    insta::assert_snapshot!(refusal(&format!("{head}% the second one is missing\n")), @"line 4: the file ends after 1 entries of 2");
    insta::assert_snapshot!(refusal(&format!("{head}2 2 2\n\n1 2 3\n")), @"line 6: the size line claims 2 entries; this is one more");
    let array = "%%MatrixMarket matrix array real general\n2 1\n1\n";
    insta::assert_snapshot!(refusal(&format!("{array}% note\n")), @"line 4: the file ends before element (2, 1)");
    insta::assert_snapshot!(refusal(&format!("{array}2\n3\n")), @"line 5: the array has 2 elements; this is one more");
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
    insta::assert_snapshot!(error, @"<memory>: line 2: 3000000000 rows need 24000000000 bytes of row offsets, which 85 bytes of entries do not justify; read it as COO");
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
    let claims = [
        ("<f8", "(2,)"),
        ("<f8", "(4611686018427387904, 4611686018427387904)"),
        ("<f8", "()"),
        ("<f8", "(1, 1, 1, 1)"),
        ("<f2", "(4,)"),
        (">f8", "(1,)"),
        ("|O", "(1,)"),
    ];
    let refusals = claims.map(|(descr, shape)| {
        let error = npy::parse(&npy_bytes(descr, shape, &[0; 8])).unwrap_err();
        format!("{descr} {shape} {error}")
    });
    insta::assert_snapshot!(refusals.join("\n"), @"
    <f8 (2,) <memory>: shape [2] needs 16 bytes, but 8 follow the header
    <f8 (4611686018427387904, 4611686018427387904) <memory>: shape [4611686018427387904, 4611686018427387904] needs more than can be counted bytes, but 8 follow the header
    <f8 () <memory>: the array has 0 dimensions, not one to three
    <f8 (1, 1, 1, 1) <memory>: the array has 4 dimensions, not one to three
    <f2 (4,) <memory>: the type is `<f2`, none of f4, f8, c8, c16, i4, i8
    >f8 (1,) <memory>: the type `>f8` has not this machine's byte order `<`
    |O (1,) <memory>: the type is `|O`, none of f4, f8, c8, c16, i4, i8
    ");
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
