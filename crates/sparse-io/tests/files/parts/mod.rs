//! Sets of files are read back as they were written.

mod damage;

use proptest::prelude::*;
use serde_json::{Value, json};
use sparse_core::{
    Axis, BatchCompressed, Col, Compressed, Csr, Host, Index, Result, Row, Scalar, bf16, c32, c64, f16,
};
use sparse_io::parts::{MANIFEST, PartSet, PartWriter, SetKind};
use sparse_io::{MatrixFile, npz};
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

const SHAPE: (usize, usize) = (6, 5);

type Triplets = Vec<(usize, usize, i8)>;

/// The path of a new set, in memory if there is a folder for that: every file is synced, which takes milliseconds on a
/// disk.
fn new_set() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let path = folder.path().join("set");
    (folder, path)
}

fn value<T: Scalar>(value: i8) -> T {
    T::from_c64(c64::new(f64::from(value), if T::DTYPE.is_complex() { 0.5 } else { 0.0 }))
}

fn compressed<A: Axis, T: Scalar, I: Index, O: Index>(
    (rows, cols): (usize, usize),
    triplets: impl Iterator<Item = (usize, usize, i8)>,
) -> Compressed<A, T, Host, I, O> {
    Compressed::from_triplets(rows, cols, triplets.map(|(i, j, v)| (i, j, value(v)))).unwrap()
}

/// Writes a matrix in blocks that end at these rows and columns.
fn write_blocks<A: Axis, T: Scalar, I: Index, O: Index>(
    path: &Path,
    triplets: &Triplets,
    (row_ends, col_ends): (&[usize], &[usize]),
) -> Result<()> {
    let mut writer = PartWriter::<A, T>::matrix(path, SHAPE, (row_ends.len(), col_ends.len()))?;
    let mut r0 = 0;
    for &r1 in row_ends {
        let mut c0 = 0;
        for &c1 in col_ends {
            let (rows, cols) = (r0..r1, c0..c1);
            let inside = triplets.iter().filter(|(i, j, _)| rows.contains(i) && cols.contains(j));
            let local = inside.map(|&(i, j, v)| (i - r0, j - c0, v));
            let block = compressed::<A, T, I, O>((rows.len(), cols.len()), local);
            writer.write_block(rows.clone(), cols.clone(), &block)?;
            c0 = c1;
        }
        r0 = r1;
    }
    writer.finish()
}

fn blocks_come_back<A: Axis, T: Scalar, I: Index, O: Index>(triplets: &Triplets, ends: (&[usize], &[usize])) {
    let (_folder, path) = new_set();
    write_blocks::<A, T, I, O>(&path, triplets, ends).unwrap();
    let file = MatrixFile::open(path.join(MANIFEST)).unwrap();
    assert_eq!((file.value_type().unwrap(), file.batch_format().unwrap()), (T::DTYPE, None));
    let whole: Csr<T, Host, I, O> = compressed(SHAPE, triplets.iter().copied());
    assert_eq!(file.read_csr::<T, I, O>().unwrap(), whole);
    assert_eq!(file.claim().unwrap().stored, whole.nnz());
    assert_eq!(file.read_coo::<T, I>().unwrap().nnz(), whole.nnz());
}

/// A batch of a member for each set of triplets.
fn batch<A: Axis, T: Scalar, I: Index, O: Index>(members: &[Triplets]) -> BatchCompressed<A, T, Host, I, O> {
    let (mut starts, mut offsets, mut indices, mut values) = (vec![0], vec![], vec![], vec![]);
    for triplets in members {
        let member = compressed::<A, T, I, O>(SHAPE, triplets.iter().copied());
        offsets.extend(member.offsets());
        indices.extend(member.indices());
        values.extend(member.values());
        starts.push(values.len());
    }
    BatchCompressed::new(SHAPE, starts, offsets, indices, values).unwrap()
}

fn members_come_back<A: Axis, T: Scalar, I: Index, O: Index>(members: &[Triplets], cut: usize) {
    let (_folder, path) = new_set();
    let (first, second) = members.split_at(cut);
    let mut writer = PartWriter::<A, T>::batch(&path, SHAPE).unwrap();
    writer.write_members(&batch::<A, T, I, O>(first)).unwrap();
    writer.write_members(&batch::<A, T, i64, i64>(&[])).unwrap(); // of other widths
    let each: Vec<_> = second.iter().map(|one| batch::<A, T, I, O>(std::slice::from_ref(one))).collect();
    writer.write_batches(&each).unwrap();
    writer.finish().unwrap();
    let file = MatrixFile::open(&path).unwrap();
    let read: BatchCompressed<A, T, Host, I, O> = file.read_batch().unwrap();
    let whole = batch::<A, T, I, O>(members);
    assert_eq!((read.count(), read.member_shape()), (members.len(), SHAPE));
    assert_eq!((read.member_ptr(), read.offsets()), (whole.member_ptr(), whole.offsets()));
    assert_eq!((read.indices(), read.values()), (whole.indices(), whole.values()));
}

fn triplets() -> impl Strategy<Value = Triplets> {
    let cells = prop::collection::btree_map((0..SHAPE.0, 0..SHAPE.1), 1_i8.., 0..20);
    cells.prop_map(|cells| cells.into_iter().map(|((i, j), v)| (i, j, v)).collect())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_matrix_in_blocks_comes_back(triplets in triplets(), row in 0..=SHAPE.0, col in 0..=SHAPE.1) {
        let (rows, cols) = ([row, SHAPE.0], [col, SHAPE.1]);
        blocks_come_back::<Row, f32, i32, i32>(&triplets, (&rows, &cols));
        blocks_come_back::<Row, f64, i64, i64>(&triplets, (&rows[1..], &cols));
        blocks_come_back::<Col, c32, i32, i32>(&triplets, (&rows, &cols[1..]));
        blocks_come_back::<Col, c64, i64, i64>(&triplets, (&rows, &cols));
    }

    #[test]
    fn a_batch_in_parts_comes_back(members in prop::collection::vec(triplets(), 1..5), cut in 0_usize..5) {
        let cut = cut.min(members.len());
        members_come_back::<Row, f64, i32, i32>(&members, cut);
        members_come_back::<Row, c32, i64, i64>(&members, cut);
        members_come_back::<Col, f32, i64, i64>(&members, cut);
        members_come_back::<Col, c64, i32, i32>(&members, cut);
    }
}

fn small() -> Triplets {
    vec![(0, 1, 1), (2, 0, 2), (2, 4, 3), (5, 3, 4)]
}

/// A set of two blocks of rows.
fn write_small(path: &Path) {
    write_blocks::<Row, f64, i32, i32>(path, &small(), (&[3, 6], &[5])).unwrap();
}

fn read_small(path: &Path) -> Result<Csr<f64>> {
    PartSet::open(path)?.read_matrix()?.into_csr()
}

/// The paths of the files of a set, the manifest first.
fn files(path: &Path) -> Vec<PathBuf> {
    let parts = PartSet::open(path).unwrap();
    let parts = parts.parts().iter().map(|part| path.join(&part.file));
    std::iter::once(path.join(MANIFEST)).chain(parts).collect()
}

/// The error of a set in whose manifest one value was replaced.
fn error_with(path: &Path, pointer: &str, value: Value) -> String {
    let manifest = path.join(MANIFEST);
    let sound = fs::read(&manifest).unwrap();
    let mut json: Value = serde_json::from_slice(&sound).unwrap();
    *json.pointer_mut(pointer).unwrap() = value;
    fs::write(&manifest, json.to_string()).unwrap();
    let error = read_small(path).unwrap_err().to_string();
    fs::write(&manifest, sound).unwrap();
    error
}

/// Two matrices of 6 x 5 and one of 2 x 3, each in 2 x 1 blocks; the last is empty.
fn write_three_in_blocks(path: &Path) {
    let mut writer = PartWriter::<Row, f64>::matrices_in_blocks(path, (2, 1)).unwrap();
    for (ends, cols, triplets) in [([3, 6], 5, small()), ([1, 6], 5, small()), ([0, 2], 3, vec![])] {
        let mut start = 0;
        for end in ends {
            let inside = triplets.iter().filter(|(i, _, _)| (start..end).contains(i));
            let local = inside.map(|&(i, j, v)| (i - start, j, v));
            let block = compressed::<Row, f64, i32, i32>((end - start, cols), local);
            writer.write_block(start..end, 0..cols, &block).unwrap();
            start = end;
        }
    }
    writer.finish().unwrap();
}

#[test]
fn matrices_in_blocks_are_read_as_blocks_of_a_diagonal() {
    let (_folder, path) = new_set();
    write_three_in_blocks(&path);
    let set = PartSet::open(&path).unwrap();
    assert_eq!(set.kind(), SetKind::MatricesInBlocks { members: 3, row_blocks: 2, col_blocks: 1 });
    assert_eq!((set.shape(), set.nnz(), set.parts().len()), ((14, 13), 8, 6));
    let twice = small().into_iter().chain(small().into_iter().map(|(i, j, v)| (i + 6, j + 5, v)));
    let twice: Csr<f64> = compressed((14, 13), twice);
    assert_eq!(MatrixFile::open(&path).unwrap().read_csr::<f64, i32, i32>().unwrap(), twice);
    assert!(set.read_batch().unwrap_err().to_string().contains("matrices in blocks, not a batch"));
    let cases = [
        ("/kind/matrices_in_blocks/members", json!(2), "6 parts where 2 x 1 blocks of 2 matrices are needed"),
        ("/kind/matrices_in_blocks/row_blocks", json!(0), "6 parts where 0 x 1 blocks"),
        ("/kind/matrices_in_blocks/row_blocks", json!(3), "6 parts where 3 x 1 blocks"),
        ("/shape", json!([15, 13]), "the shape 15 x 13 is not the sum"),
        ("/parts/2/covers/block/rows/start", json!(5), "covers rows 5..7 where a range from 6"),
        ("/parts/3/covers/block/rows/end", json!(2), "covers rows"),
        ("/parts/5/covers/block/cols/end", json!(9), "covers columns"),
        ("/parts/0/covers", json!({"members": {"start": 0, "end": 1}}), "covers members where a block"),
    ];
    for (pointer, value, expected) in cases {
        let error = error_with(&path, pointer, value);
        assert!(error.contains(expected), "{pointer}: {error}");
    }
}

/// The number of files in a folder.
fn count(folder: &Path) -> usize {
    fs::read_dir(folder).unwrap().count()
}

fn one_part(path: &Path, shape: (usize, usize)) -> PartWriter<Row, f64> {
    let mut writer = PartWriter::matrix(path, shape, (1, 1)).unwrap();
    let block = compressed::<Row, f64, i32, i32>(shape, [(1, 1, 9)].into_iter());
    writer.write_block(0..shape.0, 0..shape.1, &block).unwrap();
    writer
}

#[test]
fn a_set_is_replaced_whole_or_not_at_all() {
    let (_folder, path) = new_set();
    drop(one_part(&path, SHAPE));
    assert!(!path.exists(), "a set that was given up");
    std::mem::forget(one_part(&path, SHAPE)); // as a process that is killed
    assert!(read_small(&path).unwrap_err().to_string().contains(MANIFEST));

    write_small(&path);
    let (whole, files) = (read_small(&path).unwrap(), count(&path));
    drop(one_part(&path, SHAPE));
    assert_eq!((read_small(&path).unwrap(), count(&path)), (whole.clone(), files));
    std::mem::forget(one_part(&path, SHAPE));
    assert_eq!((read_small(&path).unwrap(), count(&path)), (whole, files + 1));

    one_part(&path, SHAPE).finish().unwrap();
    assert_eq!(read_small(&path).unwrap().values(), &[9.0]);
    assert_eq!(count(&path), 1 + 1 + 2, "the manifest, its part, and what the killed writers left");
}

#[test]
fn parts_that_do_not_make_a_set_are_refused() {
    let (_folder, path) = new_set();
    write_small(&path);
    let (whole, files) = (read_small(&path).unwrap(), count(&path));
    let refused = |writer: PartWriter<Row, f64>, expected: &str| {
        let error = writer.finish().unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
        assert_eq!((read_small(&path).unwrap(), count(&path)), (whole.clone(), files));
    };
    refused(PartWriter::matrix(&path, SHAPE, (1, 1)).unwrap(), "0 parts where 1 x 1 blocks");
    let mut writer = PartWriter::matrix(&path, SHAPE, (1, 1)).unwrap();
    let block = compressed::<Row, f64, i32, i32>((5, 5), [].into_iter());
    writer.write_block(0..6, 0..5, &block).unwrap();
    refused(writer, "has shape 5 x 5 where 6 x 5 is needed");
    let mut writer = PartWriter::batch(&path, (6, 4)).unwrap();
    writer.write_members(&batch::<Row, f64, i32, i32>(&[small()])).unwrap();
    refused(writer, "has shape 6 x 5 where 6 x 4 is needed");

    // The manifest cannot be written.
    fs::remove_file(path.join(MANIFEST)).unwrap();
    fs::create_dir(path.join(MANIFEST)).unwrap();
    assert!(one_part(&path, SHAPE).finish().is_err());
    assert_eq!(count(&path), files);
}

#[test]
fn halves_are_refused_before_a_set_is_touched() {
    fn refuse<T: Scalar>() {
        let (_folder, path) = new_set();
        let error = write_blocks::<Row, T, i32, i32>(&path, &small(), (&[6], &[5])).unwrap_err();
        assert!(error.to_string().contains("convert to f32"), "{error}");
        assert!(!path.exists());
    }
    refuse::<f16>();
    refuse::<bf16>();
}

#[test]
fn a_set_is_read_as_what_it_is() {
    let (folder, path) = new_set();
    write_small(&path);
    let set = PartSet::open(&path).unwrap();
    assert_eq!(set.read_block(1).unwrap().rows, 3);
    assert_eq!(set.read_block(2).unwrap_err().to_string(), "parts: part 2 of a set of 2 parts");
    let file = MatrixFile::open(&path).unwrap();
    let error = file.read_batch::<Row, f64, i32, i32>().unwrap_err().to_string();
    assert_eq!(error, format!("{}: one matrix, not a batch of matrices", path.display()));

    let batch_path = folder.path().join("batch");
    let mut writer = PartWriter::<Row, f64>::batch(&batch_path, SHAPE).unwrap();
    writer.write_members(&batch::<Row, f64, i32, i32>(&[small(), vec![]])).unwrap();
    writer.finish().unwrap();
    let set = PartSet::open(&batch_path).unwrap();
    assert_eq!(set.read_members(0).unwrap().count, 2);
    let error = set.read_block(0).unwrap_err().to_string();
    assert_eq!(error, format!("{}: a batch of matrices, not one matrix", batch_path.display()));
    // Read as one matrix, the members are the blocks of its diagonal; of the file, too.
    let npz = folder.path().join("batch.npz");
    npz::write_batch(&npz, &batch::<Row, f64, i32, i32>(&[small(), vec![]])).unwrap();
    let (rows, cols) = SHAPE;
    let member = compressed::<Row, f64, i32, i32>((2 * rows, 2 * cols), small().into_iter());
    for path in [&batch_path, &npz] {
        let file = MatrixFile::open(path).unwrap();
        let claim = file.claim().unwrap();
        assert_eq!((claim.rows, claim.cols, claim.stored), (2 * rows, 2 * cols, member.nnz()));
        assert!(file.read_csr::<f64, i32, i32>().unwrap().triplets().eq(member.triplets()));
        assert_eq!(file.read_coo::<f64, i32>().unwrap().nnz(), member.nnz());
    }
    let empty = folder.path().join("empty");
    PartWriter::<Col, c32>::batch(&empty, SHAPE).unwrap().finish().unwrap();
    let read = MatrixFile::open(&empty).unwrap().read_batch::<Col, c32, i32, i32>().unwrap();
    assert_eq!((read.count(), read.member_shape()), (0, SHAPE));

    for other in [folder.path(), &folder.path().join(MANIFEST)] {
        let reason = format!("a folder without {MANIFEST}: no set of parts, or one that is incomplete");
        let error = MatrixFile::open(other).unwrap_err().to_string();
        assert_eq!(error, format!("{}: {reason}", folder.path().display()));
    }
    assert!(PartSet::open(folder.path().join("a.npz")).is_err());
}

#[test]
fn matrices_of_any_shapes_are_blocks_of_a_diagonal() {
    let (_folder, path) = new_set();
    let (tall, wide) = (batch_of((2, 1), 2), batch_of((1, 3), 1));
    let mut writer = PartWriter::<Col, f32>::matrices(&path).unwrap();
    for members in [&tall, &wide, &tall] {
        writer.write_members(members).unwrap();
    }
    writer.finish().unwrap();

    let set = PartSet::open(&path).unwrap();
    assert_eq!((set.shape(), set.nnz(), set.is_batch()), ((9, 7), 5, false));
    assert_eq!(set.read_members(1).unwrap().cols, 3);
    let file = MatrixFile::open(&path).unwrap();
    assert_eq!((file.claim().unwrap().stored, file.batch_format().unwrap()), (5, None));
    let whole = file.read_csr::<f32, i32, i32>().unwrap();
    assert!(whole.triplets().eq([(0, 0, 1.0), (2, 1, 1.0), (4, 2, 1.0), (5, 5, 1.0), (7, 6, 1.0)]));
    let folder = path.display();
    let error = set.read_block(0).unwrap_err().to_string();
    assert_eq!(error, format!("{folder}: several matrices, not one in blocks"));
    let error = set.read_batch().unwrap_err().to_string();
    assert_eq!(error, format!("{folder}: matrices of several shapes, not a batch of matrices"));

    // A shape that is not the sum of the members'.
    let manifest = path.join(MANIFEST);
    let text = std::fs::read_to_string(&manifest).unwrap();
    std::fs::write(&manifest, text.replacen("9,", "8,", 1)).unwrap();
    let error = PartSet::open(&path).unwrap_err().to_string();
    assert!(error.contains("the shape 8 x 7 is not the sum"), "{error}");
}

/// `count` members of one shape, each with a one in the first row and column.
fn batch_of(shape: (usize, usize), count: usize) -> BatchCompressed<Col, f32> {
    let member = Compressed::from_triplets(shape.0, shape.1, [(0, 0, 1.0)]).unwrap();
    BatchCompressed::from_members(&vec![&member; count]).unwrap()
}
