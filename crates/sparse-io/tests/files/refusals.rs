//! Files that are refused, with the line if there is one and a reason that says what would be right.

use sparse_core::{Csr, DType, Error, Host, c64, f16};
use sparse_io::any::AnyValues;
use sparse_io::{matrix_market, npy, npz};

/// The reason why a text is refused; every reason has a line.
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
    insta::assert_snapshot!(refusal(""), @"line 1: the file is empty");
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
    "2 99999999999999999999 1" line 3: the number of columns, `99999999999999999999`, is more than 18446744073709551615
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
        ("<f16", "(4,)"),
        ("<c32", "(1,)"),
        (">f8", "(-1,)"),
        ("|O", "(1,)"),
    ];
    let refusals = claims.map(|(descr, shape)| {
        let error = npy::parse(&npy_bytes(descr, shape, &[0; 8])).unwrap_err();
        format!("{descr} {shape} {error}")
    });
    insta::assert_snapshot!(refusals.join("\n"), @r#"
    <f8 (2,) <memory>: shape (2,) needs 16 bytes, but 8 follow the header
    <f8 (4611686018427387904, 4611686018427387904) <memory>: shape (4611686018427387904, 4611686018427387904) with elements of 8 bytes has more bytes than can be counted
    <f8 () <memory>: the array has 0 dimensions, not one to three
    <f8 (1, 1, 1, 1) <memory>: the array has 4 dimensions, not one to three
    <f16 (4,) <memory>: the type is `<f16`, none of bool, (u)int8 to (u)int64, float16, float32, float64, complex64, complex128; NumPy converts it: .astype("float64")
    <c32 (1,) <memory>: the type is `<c32`, none of bool, (u)int8 to (u)int64, float16, float32, float64, complex64, complex128; NumPy converts it: .astype("complex128")
    >f8 (-1,) <memory>: `-1` in the shape is not a size that an array can have
    |O (1,) <memory>: the type is `|O`, none of bool, (u)int8 to (u)int64, float16, float32, float64, complex64, complex128; NumPy converts it: .astype("float64")
    "#);
    assert_eq!(
        npy::parse(&npy_bytes("<i8", "(1,)", &[7, 0, 0, 0, 0, 0, 0, 0])).unwrap().values.dtype(),
        DType::F64
    );
}

#[test]
fn a_dense_array_without_columns_claims_no_memory() {
    let array = npy::parse(&npy_bytes("<f8", "(1000000000000, 0)", &[])).unwrap();
    assert_eq!(array.into_dense::<f64>().unwrap().nrows(), 1_000_000_000_000);
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
    let error = sparse_io::read_csr::<f64, i32, i32>(&path).unwrap_err().to_string();
    assert_eq!(
        error.strip_prefix(&format!("{}: ", path.display())),
        Some("reading c64 values as f64 is not supported: they are complex; ask for c32 or c64")
    );

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

/// A compressed archive of these arrays.
fn archive(arrays: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (key, bytes) in arrays {
        zip.start_file(format!("{key}.npy"), zip::write::SimpleFileOptions::default()).unwrap();
        std::io::Write::write_all(&mut zip, bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

#[test]
fn a_missing_member_is_named() {
    let refusal = |bytes: &[u8]| npz::parse(bytes).unwrap_err().to_string();
    let others = archive(&[("a", npy_bytes("<f8", "(1,)", &[0; 8]))]);
    insta::assert_snapshot!(refusal(&others), @"<memory>: `format` is missing, which scipy.sparse.save_npz writes for a matrix of this format");
    let format = ("format", npy_bytes("|S3", "()", b"csr"));
    let shape = ("shape", npy_bytes("<i8", "(2,)", &[0; 16]));
    let mut packed = archive(&[format.clone(), shape.clone()]);
    let bzip2 = 12;
    for (signature, method_at) in [(b"PK\x03\x04", 8), (b"PK\x01\x02", 10)] {
        let heads: Vec<_> = (0..packed.len()).filter(|&at| packed[at..].starts_with(signature)).collect();
        heads.into_iter().for_each(|at| packed[at + method_at] = bzip2);
    }
    insta::assert_snapshot!(refusal(&packed), @"<memory>: `format` is neither stored nor deflated, as NumPy writes arrays");
    insta::assert_snapshot!(refusal(&archive(&[format, shape])), @"<memory>: `data` is missing, which scipy.sparse.save_npz writes for a matrix of this format");
}

#[test]
fn indices_may_be_of_any_type_of_integers() {
    let file = |descr: &str, bytes: fn(u8) -> Vec<u8>, column: u8| {
        let integers = |values: &[u8]| {
            let data: Vec<u8> = values.iter().flat_map(|&value| bytes(value)).collect();
            npy_bytes(descr, &format!("({},)", values.len()), &data)
        };
        archive(&[
            ("format", npy_bytes("|S3", "()", b"csr")),
            ("shape", integers(&[2, 200])),
            ("indptr", integers(&[0, 1, 2])),
            ("indices", integers(&[7, column])),
            ("data", integers(&[5, 6])),
        ])
    };
    type Bytes = fn(u8) -> Vec<u8>;
    let types: [(&str, Bytes); 6] = [
        ("|u1", |value| vec![value]),
        ("<u2", |value| u16::from(value).to_le_bytes().to_vec()),
        (">u4", |value| u32::from(value).to_be_bytes().to_vec()),
        ("<u8", |value| u64::from(value).to_le_bytes().to_vec()),
        ("<i2", |value| i16::from(value).to_le_bytes().to_vec()),
        (">i8", |value| i64::from(value).to_be_bytes().to_vec()),
    ];
    for (descr, bytes) in types {
        let a: Csr<f64> = npz::parse(&file(descr, bytes, 199)).unwrap().into_csr().unwrap();
        assert!(a.triplets().eq([(0, 7, 5.0), (1, 199, 6.0)]), "{descr}");
        let wrong = npz::parse(&file(descr, bytes, 201)).unwrap().into_csr::<f64, i32, i32>();
        assert_eq!(wrong.unwrap_err().to_string(), "csr: row 1: column 201 is not below 200", "{descr}");
    }
    let huge = archive(&[
        ("format", npy_bytes("|S3", "()", b"csr")),
        ("shape", npy_bytes("<u8", "(2,)", bytemuck::cast_slice(&[1_u64, 3]))),
        ("indptr", npy_bytes("<u8", "(2,)", bytemuck::cast_slice(&[0_u64, 1]))),
        ("indices", npy_bytes("<u8", "(1,)", bytemuck::cast_slice(&[u64::MAX]))),
        ("data", npy_bytes("<u8", "(1,)", bytemuck::cast_slice(&[1_u64]))),
    ]);
    let error = npz::parse(&huge).unwrap().into_csr::<f64, i64, i64>().unwrap_err();
    assert_eq!(error.to_string(), "csr: row 0: column 9223372036854775807 is not below 3");
    let fractions = file("<f2", |value| u16::from(value).to_le_bytes().to_vec(), 1);
    let error = npz::parse(&fractions).unwrap_err().to_string();
    assert!(error.contains("the type is `<f2`, where integers are needed"), "{error}");
}

#[test]
fn sizes_of_a_shape_are_below_those_of_indices() {
    let coo = |rows: u64| {
        let file = archive(&[
            ("format", npy_bytes("|S3", "()", b"coo")),
            ("shape", npy_bytes("<u8", "(2,)", bytemuck::cast_slice(&[rows, 3]))),
            ("row", npy_bytes("<u8", "(1,)", bytemuck::cast_slice(&[2_u64]))),
            ("col", npy_bytes("<u8", "(1,)", bytemuck::cast_slice(&[1_u64]))),
            ("data", npy_bytes("<f8", "(1,)", bytemuck::cast_slice(&[1.5]))),
        ]);
        npz::parse(&file)
    };
    let largest = coo(i64::MAX as u64).unwrap().into_coo::<f64, i64>().unwrap();
    assert_eq!(largest.nrows(), i64::MAX as usize);
    insta::assert_snapshot!(coo(u64::MAX).unwrap_err(), @"<memory>: `shape`: 18446744073709551615 is above 9223372036854775807, the largest index or size");
}

#[test]
fn members_of_archives_must_fit_together() {
    let integers =
        |values: &[i64]| npy_bytes("<i8", &format!("({},)", values.len()), bytemuck::cast_slice(values));
    let read = |format: &str, changed: &str, bytes: Vec<u8>| {
        let descr = format!("|S{}", format.len());
        let mut arrays = vec![
            ("format", npy_bytes(&descr, "()", format.as_bytes())),
            ("shape", integers(&[2, 2])),
            ("indptr", integers(&[0, 1, 2])),
            ("indices", integers(&[0, 1])),
            ("data", integers(&[5, 6])),
        ];
        arrays.iter_mut().filter(|(key, _)| *key == changed).for_each(|(_, array)| *array = bytes.clone());
        npz::parse(&archive(&arrays))
    };
    assert!(read("csr\0\0", "", vec![]).is_ok(), "NumPy pads strings with zeros");
    let refusal = |format: &str, changed: &str, bytes| read(format, changed, bytes).unwrap_err().to_string();
    let long = [0; 1 << 16];
    let refusals = [
        refusal("csr", "indptr", integers(&[0, 1, 2, 2])),
        refusal("csr", "indices", npy_bytes("<i8", "(4000000000,)", &[])),
        refusal("csr", "data", npy_bytes("<f8", "(9000000000000000000,)", &[])),
        refusal("csr", "data", npy_bytes("<f8", "(2,)", &long)),
        refusal("csr", "data", npy_bytes("<f8", "(1, 2)", &[0; 16])),
        refusal("csr", "shape", npy_bytes("<i8", "(1, 2)", &long)),
        refusal("lil", "", vec![]),
        refusal("csr", "data", npy_bytes("<f16", "(2,)", &[0; 32])),
    ];
    insta::assert_snapshot!(refusals.join("\n"), @r#"
    <memory>: `indptr` has 4 elements where a csr matrix of shape [2, 2] with 2 entries needs 3
    <memory>: `indices` has 4000000000 elements where a csr matrix of shape [2, 2] with 2 entries needs 2
    <memory>: `indices` has 2 elements where a csr matrix of shape [2, 2] with 9000000000000000000 entries needs 9000000000000000000
    <memory>: `data`: shape (2,) needs 16 bytes, but more follow the header
    <memory>: `data`: shape (1, 2) is not that of a vector
    <memory>: `shape`: shape (1, 2) needs 16 bytes, but more follow the header
    <memory>: `format`: `lil` is none of csr, csc, coo, bsr, dia; SciPy converts it: save_npz(file, load_npz(file).tocsr())
    <memory>: `data`: the type is `<f16`, none of bool, (u)int8 to (u)int64, float16, float32, float64, complex64, complex128; NumPy converts it: .astype("float64")
    "#);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("objects.npz");
    std::fs::write(&path, archive(&[("data", npy_bytes("|O", "(2,)", &[0; 16]))])).unwrap();
    let error = sparse_io::value_type(&path).unwrap_err().to_string();
    assert!(error.contains("objects.npz: `data`: the type is `|O`, none of"), "{error}");
}

#[test]
fn every_type_of_scipy_is_read() {
    let read = |descr: &str, data: &[u8]| npy::parse(&npy_bytes(descr, "(2,)", data)).unwrap().values;
    let as_f64 = |descr: &str, data: &[u8]| read(descr, data).into_typed::<f64>().unwrap();
    assert_eq!(as_f64("|b1", &[1, 0]), [1.0, 0.0]);
    assert_eq!(as_f64("|i1", &[0xff, 2]), [-1.0, 2.0]);
    assert_eq!(as_f64("|u1", &[0xff, 2]), [255.0, 2.0]);
    let halves = [f16::from_f32(-0.1).to_le_bytes(), f16::MAX.to_le_bytes()].concat();
    assert_eq!(read("<f2", &halves), AnyValues::F32(vec![-0.099_975_586, 65504.0]));
    assert_eq!(as_f64(">f2", &[0x3c, 0, 0xfc, 0]), [1.0, f64::NEG_INFINITY]);
    for (descr, numbers) in
        [("i2", [-2.0, 3.0]), ("u2", [65534.0, 3.0]), ("i4", [-2.0, 3.0]), ("u4", [4294967294.0, 3.0])]
    {
        let width = usize::from(descr.as_bytes()[1] - b'0');
        let little: Vec<u8> =
            [-2_i64, 3].iter().flat_map(|number| number.to_le_bytes()[..width].to_vec()).collect();
        let big: Vec<u8> = little.chunks(width).flat_map(|number| number.iter().rev().copied()).collect();
        assert_eq!(as_f64(&format!("<{descr}"), &little), numbers, "<{descr}");
        assert_eq!(as_f64(&format!(">{descr}"), &big), numbers, ">{descr}");
    }
    assert_eq!(as_f64(">u8", &[[0xff; 8], 7_u64.to_be_bytes()].concat()), [18446744073709551615.0, 7.0]);
    assert_eq!(as_f64(">f4", &[1.5_f32.to_be_bytes(), (-2.0_f32).to_be_bytes()].concat()), [1.5, -2.0]);
    let complex = [1.0_f64, 2.0, 3.0, 4.0].map(f64::to_be_bytes).concat();
    assert_eq!(read(">c16", &complex).into_typed::<c64>().unwrap(), [c64::new(1.0, 2.0), c64::new(3.0, 4.0)]);
}

#[test]
fn a_file_under_the_name_of_another_kind_is_told_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        let error = sparse_io::read_csr::<f64, i32, i32>(&path).unwrap_err().to_string();
        error.rsplit("; it is ").next().unwrap().to_owned()
    };
    let gzip = "packed by gzip, so that its name ends in .mtx.gz";
    assert_eq!(refused("a.mtx", b"\x1f\x8b\x08\x00"), gzip);
    assert_eq!(refused("a.mtx", b"BZh91AY&SY"), "packed by bzip2; unpack it first");
    assert_eq!(refused("a.mtx.gz", b"\xfd7zXZ\0\0\x04"), "packed by xz; unpack it first");
    assert_eq!(refused("a.mtx", b"\x28\xb5\x2f\xfd\x04"), "packed by zstd; unpack it first");
    assert_eq!(refused("a.mtx", b"\xff\xfe%\0%\0M\0"), "a text in UTF-16; save it in UTF-8");
    assert_eq!(refused("a.npy", b"PK\x03\x04\x14"), "a zip archive, as .npz files are");
    assert_eq!(refused("a.npz", b"\x93NUMPY\x01\0"), "a .npy file");
    let text = b"%%MatrixMarket matrix coordinate real general\n1 1 0\n";
    for name in ["a.npz", "a.npy", "a.mtx.gz"] {
        assert_eq!(refused(name, text), "a Matrix Market file, whose name ends in .mtx", "{name}");
    }
}
