//! The rules of `docs/matrix-market.md`, on small texts and, where a larger collection lies beside the repository, on
//! its debatable files.

use Outcome::{Reads, Refused};
use sparse_core::{Error, c64};
use sparse_io::matrix_market;
use std::path::Path;

#[derive(Debug, Clone, Copy)]
enum Outcome {
    /// The number of entries of the CSR form and the sum of their values.
    Reads(usize, (f64, f64)),
    /// The line and a part of the reason.
    Refused(u64, &'static str),
}

fn check(name: &str, outcome: Outcome, read: sparse_core::Result<sparse_core::Csr<c64>>) {
    match (outcome, read) {
        (Reads(nnz, (re, im)), Ok(matrix)) => {
            let sum: c64 = matrix.values().iter().sum();
            assert_eq!(matrix.values().len(), nnz, "{name}");
            assert!((sum - c64::new(re, im)).norm() <= 1e-12 * sum.norm(), "{name}: {sum}");
        }
        (Refused(line, part), Err(Error::File { line: Some(found), reason, .. })) => {
            assert_eq!(found, line, "{name}: {reason}");
            assert!(reason.contains(part), "{name}: {reason}");
        }
        (outcome, read) => panic!("{name}: {outcome:?} was expected, not {read:?}"),
    }
}

const REAL: &str = "%%MatrixMarket matrix coordinate real general\n";

/// Rule, text, outcome.
const TEXTS: &[(&str, &str, Outcome)] = &[
    (
        "M1",
        "\u{feff} \t%%matrixMARKET MATRIX Coordinate REAL General \r\n 1 1 1\n\t1 1 2\n",
        Reads(1, (2.0, 0.0)),
    ),
    ("M1", "\n%%MatrixMarket matrix coordinate real general\n1 1 0\n", Refused(1, "the banner ends")),
    (
        "M2",
        "%MatrixMarket matrix coordinate real general\n1 1 0\n",
        Refused(1, "starts with `%MatrixMarket`"),
    ),
    (
        "M2",
        "%%MatrixMarket matrix coordinate real general 3\n1 1 0\n",
        Refused(1, "`3` stands after the banner"),
    ),
    ("M3", "%%MatrixMarket vector coordinate real general\n4 1\n1 5\n", Refused(1, "the object is `vector`")),
    ("M4", "%%MatrixMarket matrix coordinate double general\n1 1 1\n1 1 2.5\n", Reads(1, (2.5, 0.0))),
    ("M5", "%%MatrixMarket matrix coordinate real hermitian\n1 1 0\n", Refused(1, "only a complex matrix")),
    (
        "M6",
        "%%MatrixMarket matrix coordinate complex hermitian\n2 2 2\n2 1 3 4\n1 1 1 2\n",
        Refused(4, "real numbers"),
    ),
    (
        "M7",
        "%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 2\n2 1 5\n1 1 3\n",
        Refused(4, "zeros on its"),
    ),
    (
        "M7",
        "%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 2\n2 1 5\n1 1 0\n",
        Reads(3, (0.0, 0.0)),
    ),
    ("M8", "%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 1 1\n1 2 5\n", Reads(3, (11.0, 0.0))),
    (
        "M8",
        "%%MatrixMarket matrix coordinate real symmetric\n3 3 2\n2 1 1\n2 3 5\n",
        Refused(4, "one triangle"),
    ),
    (
        "M9",
        "%%MatrixMarket matrix coordinate real general\n1 2 3\n1 2 1\n1 1 5\n1 2 2\n",
        Reads(2, (8.0, 0.0)),
    ),
    (
        "M10",
        "%%MatrixMarket matrix array real general\n%\n2 1\n% a\n\n1\n % \u{e9} \n2\n%",
        Reads(2, (3.0, 0.0)),
    ),
    (
        "M11",
        "%%MatrixMarket matrix coordinate integer general\n%%GraphBLAS type bool\n1 1 1\n1 1 7\n",
        Reads(1, (7.0, 0.0)),
    ),
    (
        "M12",
        "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 1 % a\n",
        Refused(3, "`%` stands after the entry"),
    ),
    (
        "M12",
        "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1\n4.5\n",
        Refused(3, "the value is missing"),
    ),
    ("M12", "%%MatrixMarket matrix array real general\n2 1\n1 2\n", Refused(3, "`2` stands after the entry")),
    (
        "M13",
        "%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1.5D+03 -2.5d-1\n",
        Reads(1, (1500.0, -0.25)),
    ),
    (
        "M14",
        "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 -1E310\n",
        Refused(3, "does not fit f64"),
    ),
    (
        "M15",
        "%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 1e3\n",
        Refused(3, "is not an integer"),
    ),
    (
        "M15",
        "%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 18446744073709551615\n",
        Reads(1, (1.8446744073709552e19, 0.0)),
    ),
    (
        "M15",
        "%%MatrixMarket matrix coordinate unsigned-integer general\n1 1 1\n1 1 7\n",
        Reads(1, (7.0, 0.0)),
    ),
    (
        "M16",
        "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 0x1p3\n",
        Refused(3, "`0x1p3` is not a number"),
    ),
    ("M17", "%%MatrixMarket matrix coordinate real general\n+1 1 1\n+1 +1 +2\n", Reads(1, (2.0, 0.0))),
];

#[test]
fn texts_are_read_by_the_rules() {
    for &(rule, text, outcome) in TEXTS {
        check(&format!("{rule}: {text}"), outcome, matrix_market::parse_csr(text.as_bytes()));
    }
}

#[test]
fn padding_after_gzip_is_skipped_and_other_names_are_not_unpacked() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("padded.mtx.gz");
    let matrix =
        matrix_market::parse_csr::<f64, i32, i32>(format!("{REAL}1 1 1\n1 1 2\n").as_bytes()).unwrap();
    matrix_market::write_csr(&path, &matrix).unwrap();
    let packed = std::fs::read(&path).unwrap();
    std::fs::write(&path, [&packed[..], &[0; 512]].concat()).unwrap();
    assert_eq!(matrix_market::read_csr::<f64, i32, i32>(&path).unwrap(), matrix);
    let misnamed = folder.path().join("packed.mtx");
    std::fs::write(&misnamed, packed).unwrap();
    assert!(matrix_market::read_csr::<f64, i32, i32>(&misnamed).is_err());
}

/// Rule, debatable file of the collection, outcome.
const FILES: &[(&str, &str, Outcome)] = &[
    ("M1", "our_lowercase_banner_word.mtx", Reads(1, (1.0, 0.0))),
    ("M1", "our_utf8_bom.mtx", Reads(1, (1.0, 0.0))),
    ("M1", "fmm_permissive_banner_leading_spaces_eye3.mtx", Reads(3, (3.0, 0.0))),
    ("M1", "fmm_permissive_lines_indented.mtx", Reads(1, (1.0, 0.0))),
    ("M2", "fmm_permissive_banner_one_percent_eye3.mtx", Refused(1, "starts with `%MatrixMarket`")),
    ("M3", "fmm_vector_array.mtx", Refused(1, "the object is `vector`")),
    ("M3", "fmm_vector_coordinate.mtx", Refused(1, "the object is `vector`")),
    ("M3", "fmm_vector_coordinate_complex_dupes.mtx", Refused(1, "the object is `vector`")),
    ("M4", "our_field_double.mtx", Reads(1, (2.5, 0.0))),
    ("M5", "fmm_coordinate_hermitian_real_row.mtx", Refused(1, "only a complex matrix")),
    ("M5", "sprs_hermitian_int.mtx", Refused(1, "only a complex matrix")),
    ("M6", "cholmod_cha.mtx", Refused(6, "real numbers on its diagonal")),
    ("M6", "sprs_hermitian.mtx", Refused(4, "real numbers on its diagonal")),
    ("M7", "our_skew_with_diagonal.mtx", Refused(3, "zeros on its diagonal")),
    ("M7", "our_skew_zero_diagonal.mtx", Reads(3, (0.0, 0.0))),
    ("M8", "our_symmetric_upper.mtx", Reads(3, (11.0, 0.0))),
    ("M8", "our_symmetric_both_triangles.mtx", Refused(5, "one triangle stands for both")),
    ("M9", "lagraph_mangled14.mtx", Reads(2, (13.5, 0.0))),
    ("M9", "our_more_entries_than_cells.mtx", Reads(4, (5.0, 0.0))),
    ("M10", "our_comment_among_entries.mtx", Reads(2, (3.0, 0.0))),
    ("M10", "our_latin1_comment.mtx", Reads(1, (1.0, 0.0))),
    ("M10", "our_long_comment_line.mtx", Reads(1, (1.0, 0.0))),
    ("M10", "lagraph_west0067_jumbled.mtx", Reads(294, (34.3087486, 0.0))),
    ("M10", "cholmod_fullcsa.mtx", Reads(4, (15.8, 13.7))),
    ("M11", "lagraph_mangled_bool.mtx", Reads(12, (8.0, 0.0))),
    ("M11", "lagraph_mangled_int8.mtx", Reads(12, (42.0, 0.0))),
    ("M11", "lagraph_mangled_int16.mtx", Reads(12, (42.0, 0.0))),
    ("M11", "lagraph_mangled_int32.mtx", Reads(12, (42.0, 0.0))),
    ("M11", "lagraph_mangled_uint8.mtx", Reads(12, (300.0, 0.0))),
    ("M11", "lagraph_mangled_uint16.mtx", Reads(12, (65580.0, 0.0))),
    ("M11", "lagraph_mangled_uint32.mtx", Reads(12, (4_294_967_340.0, 0.0))),
    ("M11", "lagraph_mangled_skew.mtx", Reads(20, (0.0, 0.0))),
    ("M12", "our_comment_after_value.mtx", Refused(3, "`%` stands after the entry")),
    ("M12", "our_entry_over_two_lines.mtx", Refused(3, "the value is missing")),
    ("M12", "our_two_entries_one_line.mtx", Refused(3, "`2` stands after the entry")),
    ("M12", "our_fortran_blank_plus.mtx", Refused(3, "`1.000000000E` is not a number")),
    ("M13", "our_fortran_D_exponent.mtx", Reads(2, (1500.25, 0.0))),
    ("M14", "fmm_overflow_value_gt_float64.mtx", Refused(4, "`1E310` does not fit f64")),
    ("M14", "fmm_overflow_value_gt_float128.mtx", Refused(4, "`1E9999` does not fit f64")),
    ("M14", "fmm_overflow_value_gt_complex128.mtx", Refused(4, "`1E9999` does not fit f64")),
    ("M15", "our_integer_exponent.mtx", Refused(3, "`1e3` is not an integer")),
    ("M15", "fmm_overflow_value_gt_int64.mtx", Reads(3, (1.922_337_203_900_226e19, 0.0))),
    ("M15", "lagraph_matrix_uint64.mtx", Reads(12, (1.844_674_407_370_955_2e19, 0.0))),
    ("M16", "our_hex_value.mtx", Refused(3, "`0x1p3` is not a number")),
    ("M17", "our_plus_index.mtx", Reads(1, (2.0, 0.0))),
    ("M18", "our_extra_gz_tail.mtx.gz", Reads(1, (1.0, 0.0))),
];

#[test]
fn debatable_files_of_the_shared_data_are_read_by_the_rules() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/debatable");
    let Ok(entries) = std::fs::read_dir(&folder) else { return };
    for &(rule, file, outcome) in FILES {
        check(&format!("{rule}: {file}"), outcome, matrix_market::read_csr(folder.join(file)));
    }
    let files = entries.filter(|entry| entry.as_ref().unwrap().file_name() != "MANIFEST.tsv").count();
    assert_eq!(files, FILES.len(), "each file has a rule");
}

#[test]
fn the_documentation_lists_every_rule_and_file() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/matrix-market.md");
    let page = std::fs::read_to_string(path).unwrap();
    for (rule, file, _) in FILES {
        let row = page.lines().find(|line| line.starts_with(&format!("| **{rule}** |")));
        assert!(row.is_some_and(|row| row.contains(&format!("`{file}`"))), "{rule} with {file}");
    }
}
