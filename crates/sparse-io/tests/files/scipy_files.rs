//! Files written by `save_npz` of SciPy 1.17: compressed CSR, uncompressed CSC and compressed COO of one matrix.

use sparse_core::{Csr, DType, Scalar};
use sparse_io::npz::{self, NpzFormat};
use std::path::Path;

const ENTRIES: [(usize, usize, f64); 6] = [
    (0, 0, 0.538_143_313_219_278_2),
    (0, 1, 0.409_199_136_369_161_3),
    (1, 0, 0.753_513_108_674_806_6),
    (1, 2, 0.549_593_687_673_059_5),
    (2, 1, 0.827_702_593_820_441_8),
    (3, 0, 0.027_559_113_243_068_367),
];

fn check<T: Scalar>(file: &str, format: NpzFormat, dtype: DType) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus/npz").join(file);
    let sparse = npz::read(path).unwrap();
    assert_eq!((sparse.format, sparse.dtype(), sparse.rows, sparse.cols), (format, dtype, 4, 3), "{file}");
    let matrix: Csr<T> = sparse.into_csr().unwrap();
    let expected: Vec<_> = ENTRIES.iter().map(|&(i, j, v)| (i, j, T::from_c64(v.to_c64()))).collect();
    assert_eq!(matrix.triplets().collect::<Vec<_>>(), expected, "{file}");
}

#[test]
fn all_formats_of_scipy_are_read() {
    check::<f64>("csr_f8", NpzFormat::Csr, DType::F64);
    check::<sparse_core::c32>("csc_c8", NpzFormat::Csc, DType::C32);
    check::<f32>("coo_f4", NpzFormat::Coo, DType::F32);
}

#[test]
fn a_format_may_be_a_string_of_characters() {
    // As SciPy 0.19 and `numpy.savez(file, format="csr", ...)` write it.
    check::<f64>("csr_f8_text", NpzFormat::Csr, DType::F64);
}

#[test]
fn scipy_finds_the_mark_of_its_arrays() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.npz");
    npz::write_csr(&path, &Csr::<f64>::identity(2).unwrap()).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    assert!(bytes.windows(13).any(|name| name == b"_is_array.npy"));
}
