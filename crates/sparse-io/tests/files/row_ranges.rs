//! Ranges of rows equal those of the whole matrix, and damaged files are refused.

use sparse_core::{Axis, Col, Compressed, Csr, Host, Row};
use sparse_io::parts::PartWriter;
use sparse_io::{MatrixFile, RowRanges, npz};
use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

/// Fewer entries in some rows, none in others.
pub(crate) fn matrix(rows: usize, cols: usize) -> Csr<f64> {
    let chosen = (0..rows * cols).filter(|k| k * 7919 % 11 < 3 && k / cols % 5 != 2);
    Csr::from_triplets(rows, cols, chosen.map(|k| (k / cols, k % cols, 0.1 * k as f64))).unwrap()
}

/// Copies an archive without compression; `change` edits each of its files.
pub(crate) fn store(from: &Path, to: &Path, change: impl Fn(&mut Vec<u8>)) {
    let mut packed = ZipArchive::new(File::open(from).unwrap()).unwrap();
    let mut stored = ZipWriter::new(File::create(to).unwrap());
    for k in 0..packed.len() {
        let mut member = packed.by_index(k).unwrap();
        let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
        let name = member.name().unwrap().into_owned();
        stored.start_file(name, options).unwrap();
        let mut bytes = vec![];
        member.read_to_end(&mut bytes).unwrap();
        change(&mut bytes);
        stored.write_all(&bytes).unwrap();
    }
    stored.finish().unwrap();
}

/// Writes a set of blocks that begin and end at these rows and columns.
fn write_blocks<A: Axis>(folder: &Path, a: &Csr<f64>, rows: &[usize], cols: &[usize]) {
    let blocks = |cuts: &[usize]| cuts.windows(2).map(|ends| ends[0]..ends[1]).collect::<Vec<_>>();
    let (rows, cols) = (blocks(rows), blocks(cols));
    let grid = (rows.len(), cols.len());
    let mut writer = PartWriter::<A, f64>::matrix(folder, a.shape(), grid).unwrap();
    for rows in &rows {
        for cols in &cols {
            let inside = a.triplets().filter(|(i, j, _)| rows.contains(i) && cols.contains(j));
            let entries = inside.map(|(i, j, value)| (i - rows.start, j - cols.start, value));
            let block = Compressed::<A, f64>::from_triplets(rows.len(), cols.len(), entries).unwrap();
            writer.write_block(rows.clone(), cols.clone(), &block).unwrap();
        }
    }
    writer.finish().unwrap();
}

/// Compares every range of rows with that of the whole matrix, as it is read otherwise.
fn every_range(path: &Path) {
    let (file, whole) = (RowRanges::open(path).unwrap(), MatrixFile::open(path).unwrap());
    let whole: Csr<f32> = whole.read_csr().unwrap();
    assert_eq!((file.shape(), file.nnz(), file.dtype().name()), (whole.shape(), whole.nnz(), "f64"));
    assert!(file.row_ptr().unwrap().iter().zip(whole.row_ptr()).all(|(&a, &b)| a == i64::from(b)));
    for first in 0..=whole.nrows() {
        for last in first..=whole.nrows() {
            let rows: Csr<f32, Host, i64, i32> = file.read_rows(first..last).unwrap();
            let expected = whole.triplets().filter(|(i, ..)| (first..last).contains(i));
            assert!(
                rows.triplets().eq(expected.map(|(i, j, value)| (i - first, j, value))),
                "{first}..{last}"
            );
        }
    }
    assert!(file.read_rows::<f32, i64, i32>(0..whole.nrows() + 1).is_err());
    (0..3).for_each(|partition| file.check(partition, 3).unwrap());
}

#[test]
fn rows_of_a_file_and_of_its_parts_are_those_of_the_matrix() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let a = matrix(14, 9);
    npz::write_csr(&path("packed.npz"), &a).unwrap();
    store(&path("packed.npz"), &path("stored.npz"), |_| ());
    write_blocks::<Row>(&path("rows"), &a, &[0, 5, 5, 14], &[0, 9]);
    write_blocks::<Row>(&path("mesh"), &a, &[0, 6, 14], &[0, 4, 9]);
    for name in ["packed.npz", "stored.npz", "rows", "mesh"] {
        every_range(&path(name));
    }
}

#[test]
fn rows_are_sorted_and_duplicates_added() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.npz");
    let a = Csr::<f64>::new_unsorted(2, 3, vec![0, 2, 5], vec![2, 0, 1, 2, 1], vec![1.0, 2.0, 3.0, 4.0, 5.0]);
    npz::write_csr(&path, &a.unwrap()).unwrap();
    let last: Csr<f64> = RowRanges::open(&path).unwrap().read_rows(1..2).unwrap();
    assert!(last.triplets().eq([(0, 1, 8.0), (0, 2, 4.0)]));
}

#[cfg(unix)]
#[test]
fn a_part_that_is_a_link_out_of_the_folder_is_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let (set, outside) = (folder.path().join("set"), folder.path().join("outside.npz"));
    write_blocks::<Row>(&set, &matrix(4, 4), &[0, 4], &[0, 4]);
    let is_part = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "npz");
    let part = fs::read_dir(&set).unwrap().map(|entry| entry.unwrap().path()).find(is_part).unwrap();
    fs::rename(&part, &outside).unwrap();
    std::os::unix::fs::symlink(&outside, &part).unwrap();
    let error = RowRanges::open(&set).unwrap_err().to_string();
    assert_eq!(error, format!("{}: not a file of this folder", part.display()));
}

/// A file that claims more rows than it has offsets for is refused before memory is allocated by the claim.
#[test]
fn offsets_are_not_allocated_by_the_claimed_shape() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    npz::write_csr(&path("sound.npz"), &Csr::<f64>::from_triplets(2, 3, [(0, 1, 1.0)]).unwrap()).unwrap();
    let rows = 1_i64 << 50;
    let shape = |rows: i64| [rows, 3].map(i64::to_le_bytes).concat();
    let claim = |bytes: &mut Vec<u8>| {
        if bytes.ends_with(&shape(2)) {
            bytes.splice(bytes.len() - 16.., shape(rows));
        } else if let Some(at) = bytes.windows(4).position(|window| window == b"(3,)") {
            let claimed = format!("({},)", rows + 1);
            let end = at + bytes[at..].iter().position(|&byte| byte == b'\n').unwrap();
            bytes.drain(end - (claimed.len() - 4)..end); // spaces, so that the header keeps its length
            bytes.splice(at..at + 4, claimed.into_bytes());
        }
    };
    store(&path("sound.npz"), &path("claims.npz"), claim);
    let file = RowRanges::open(path("claims.npz")).unwrap();
    assert_eq!(file.shape(), (rows as usize, 3));
    let refused = file.row_ptr().unwrap_err().to_string();
    assert!(
        refused.contains("`indptr`: elements 0..1125899906842625 of shape (1125899906842625,)"),
        "{refused}"
    );
}

#[test]
fn what_cannot_be_read_by_rows_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let csc = Compressed::<Col, f64>::from_triplets(2, 2, [(0, 1, 1.0)]).unwrap();
    npz::write_csc(&path("csc.npz"), &csc).unwrap();
    write_blocks::<Col>(&path("csc"), &matrix(4, 4), &[0, 4], &[0, 4]);
    sparse_io::write_csr(path("a.mtx"), &matrix(4, 4)).unwrap();
    let reasons = [
        ("csc.npz", "csc is not supported: the rows of csr alone can be read apart"),
        ("csc", "its parts are csc"),
        ("a.mtx", "only .npz files and folders of them are read by rows"),
        ("nothing.npz", "No such file"),
    ];
    for (name, reason) in reasons {
        let reported = RowRanges::open(path(name)).unwrap_err().to_string();
        assert!(reported.contains(reason), "{reported}");
    }
}

/// A change of any byte of the arrays is found by the check of one partition.
#[test]
fn a_changed_byte_is_found_by_one_of_all_ranks() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let a = matrix(6, 5);
    npz::write_csr(&path("packed.npz"), &a).unwrap();
    store(&path("packed.npz"), &path("stored.npz"), |_| ());
    write_blocks::<Row>(&path("set"), &a, &[0, 3, 6], &[0, 5]);
    let part = fs::read_dir(path("set")).unwrap().map(|entry| entry.unwrap().path());
    let part = part.into_iter().find(|file| file.extension().is_some_and(|end| end == "npz")).unwrap();
    let last_value = a.values()[a.nnz() - 1].to_le_bytes();
    for (file, opened) in [(path("stored.npz"), path("stored.npz")), (part, path("set"))] {
        let sound = fs::read(&file).unwrap();
        let at = sound.windows(8).position(|window| window == last_value).unwrap_or(sound.len() / 3);
        let mut changed = sound.clone();
        changed[at] ^= 1;
        fs::write(&file, &changed).unwrap();
        let found = match RowRanges::open(&opened) {
            Ok(rows) => (0..2).filter(|&partition| rows.check(partition, 2).is_err()).count(),
            Err(_) => 1,
        };
        assert_eq!(found, 1, "{}", file.display());
        fs::write(&file, &sound).unwrap();
    }
}

#[test]
fn offsets_that_do_not_rise_are_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let a = matrix(6, 5);
    npz::write_csr(&path("packed.npz"), &a).unwrap();
    let offsets: Vec<u8> = a.row_ptr().iter().flat_map(|end| end.to_le_bytes()).collect();
    store(&path("packed.npz"), &path("a.npz"), |bytes| {
        if bytes.ends_with(&offsets) {
            let second = bytes.len() - offsets.len() + 4;
            bytes[second..second + 4].copy_from_slice(&1000_i32.to_le_bytes());
        }
    });
    let file = RowRanges::open(path("a.npz")).unwrap();
    let reported = file.row_ptr().unwrap_err().to_string();
    assert!(reported.contains("`indptr` does not rise from 0 to "), "{reported}");
    assert!(file.read_rows::<f64, i32, i32>(0..2).is_err() && file.read_rows::<f64, i32, i32>(1..2).is_err());
}
