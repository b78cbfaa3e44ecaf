//! Sets of matrices in folders.

use super::cpu;
use nnz::distrib::{NpySource, Partition};
use nnz::foreign::ForeignArray;
use nnz::io::npy;
use nnz::io::parts::{MANIFEST, PartWriter};
use nnz::prelude::*;
use nnz::{DenseStack, MatrixSet, MatrixSetOptions, Row};
use std::fs;
use std::path::Path;

/// Writes a stack of two 3 x 4 matrices and a matrix of 5 x 2, and compresses them.
fn compressed(folder: &Path, format: Format, all: bool, partition: Option<Partition>) -> MatrixSet {
    let elements = |len: u8| (0..len).map(|k| f32::from(k % 3)).collect::<Vec<_>>();
    npy::write(&folder.join("a.npy"), &elements(24), &[2, 3, 4], Order::RowMajor).unwrap();
    npy::write(&folder.join("b.npy"), &elements(10), &[5, 2], Order::RowMajor).unwrap();
    let names = if all { &["a.npy", "b.npy"][..] } else { &["a.npy"] };
    let source = NpySource::open_all(names.iter().map(|name| folder.join(name))).unwrap();
    let options = MatrixSetOptions { partition, ..MatrixSetOptions::new(format, DType::F32) };
    MatrixSet::compress(&[cpu()], &source, &options).unwrap().0
}

fn check_equal(found: &MatrixSet, needed: &MatrixSet) {
    assert_eq!((found.len(), found.bytes()), (needed.len(), needed.bytes()));
    for item in 0..needed.len() {
        assert_eq!((found.shape(item), found.nnz(item)), (needed.shape(item), needed.nnz(item)));
        assert_eq!((found.partition(item), found.placement(item)), (needed.partition(item), Some("host")));
        let (found, needed) = (found.get(item, &cpu()).unwrap(), needed.get(item, &cpu()).unwrap());
        assert_eq!((found.format(), found.dtype()), (needed.format(), DType::F32));
        let dense = |a: &Matrix| a.to_dense().unwrap().values().to_vec::<f32>().unwrap();
        assert_eq!(dense(&found), dense(&needed));
    }
}

#[test]
fn a_stack_without_members_keeps_their_shape() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("none.npy");
    npy::write::<f32>(&path, &[], &[0, 3, 4], Order::RowMajor).unwrap();
    let source = NpySource::open(&path).unwrap();
    for format in [Format::Csr, Format::Csc] {
        let options = MatrixSetOptions::new(format, DType::F32);
        let (set, _) = MatrixSet::compress(&[cpu()], &source, &options).unwrap();
        let batch = set.to_batch(&cpu()).unwrap();
        assert_eq!((set.len(), batch.members(), batch.member_shape()), (0, Some(0), (3, 4)));
    }
}

#[test]
fn a_borrowed_stack_without_members_keeps_their_shape() {
    let elements: [f32; 0] = [];
    let array = ForeignArray::on_host(elements.as_ptr(), &[0, 3, 4], None);
    // SAFETY: there are no elements.
    let stack = unsafe { DenseStack::borrow(&cpu(), &array) }.unwrap();
    let options = MatrixSetOptions::new(Format::Csr, DType::F32);
    let (set, _) = MatrixSet::compress_stacks(&[cpu()], &[stack], &options).unwrap();
    assert_eq!(set.to_batch(&cpu()).unwrap().member_shape(), (3, 4));
}

#[test]
fn a_written_set_is_opened_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    for format in [Format::Csr, Format::Csc] {
        for all in [false, true] {
            let set = compressed(folder.path(), format, all, None);
            let path = folder.path().join(format!("{format}-{all}"));
            set.write_folder(&path).unwrap();
            check_equal(&MatrixSet::open(&path).unwrap(), &set);
            check_equal(&MatrixSet::open(path.join(MANIFEST)).unwrap(), &set);
            for partition in ["row:2", "col:3", "mesh:2x2"] {
                let set = compressed(folder.path(), format, all, Some(partition.parse().unwrap()));
                let path = path.join(partition.replace(':', "-"));
                set.write_all_blocks(&path).unwrap();
                check_equal(&MatrixSet::open(&path).unwrap(), &set);
                set.write_blocks(0, path.join("first")).unwrap();
                assert_eq!(MatrixSet::open(path.join("first")).unwrap().nnz(0), set.nnz(0));
            }
        }
    }
}

#[test]
fn files_of_several_kinds_are_a_set() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let a = Matrix::from_typed(&cpu(), Csr::<f32>::identity(2).unwrap()).unwrap();
    Matrix::from_members(&[a.clone(), a.clone()]).unwrap().write(&path("a.npz")).unwrap();
    npy::write(&path("b.npy"), &[0.0_f64, 0.1], &[1, 2], Order::RowMajor).unwrap();
    fs::write(path("c.mtx"), "%%MatrixMarket matrix coordinate integer symmetric\n2 2 2\n2 1 3\n1 1 5\n")
        .unwrap();
    fs::write(path("notes.txt"), "no matrix").unwrap();
    let mut set = MatrixSet::open(folder.path()).unwrap();
    assert_eq!((0..4).map(|item| set.nnz(item)).collect::<Vec<_>>(), [Some(2), Some(2), Some(1), Some(3)]);
    assert_eq!((set.len(), set.shape(2), set.placement(3)), (4, Some((1, 2)), Some("host")));
    set.move_to(&cpu()).unwrap();
    assert_eq!(set.placement(3), Some("cpu"));
    let values = |item| set.get(item, &cpu()).unwrap().to_dense().unwrap().values().to_vec::<f64>().unwrap();
    assert_eq!((values(2), values(3)), (vec![0.0, 0.1], vec![5.0, 3.0, 3.0, 0.0]));
}

#[test]
fn what_is_no_set_is_said_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let error = |path: &Path| MatrixSet::open(path).unwrap_err().to_string();
    let missing = error(&folder.path().join("missing"));
    assert!(missing.contains("missing"), "{missing}");
    let empty = error(folder.path());
    assert!(empty.contains("the folder has no manifest.json and no .mtx"), "{empty}");

    let path = folder.path().join("a.mtx");
    fs::write(&path, "%%MatrixMarket matrix coordinate real general\n2 2 1\n3 1 5\n").unwrap();
    let broken = error(folder.path());
    assert!(broken.contains("a.mtx") && broken.contains('3'), "{broken}");

    // Blocks of one and three rows, where a partition has two and two.
    let path = folder.path().join("blocks");
    let mut writer = PartWriter::<Row, f64>::matrix(&path, (4, 1), (2, 1)).unwrap();
    writer.write_block(0..1, 0..1, &Csr::<f64>::new(1, 1, vec![0, 0], vec![], vec![]).unwrap()).unwrap();
    writer.write_block(1..4, 0..1, &Csr::<f64>::new(3, 1, vec![0; 4], vec![], vec![]).unwrap()).unwrap();
    writer.finish().unwrap();
    let unequal = error(&path);
    assert!(unequal.contains("part-00000") && unequal.contains("is not rows 0..2"), "{unequal}");

    let set = compressed(folder.path(), Format::Csr, false, None);
    let path = folder.path().join("set");
    set.write_folder(&path).unwrap();
    let mut parts = fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path());
    let part = parts.find(|path| path.extension().is_some_and(|found| found == "npz")).unwrap();
    let mut bytes = fs::read(&part).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&part, bytes).unwrap();
    let changed = error(&path);
    assert!(changed.contains("part-00000") && changed.contains("CRC-32C"), "{changed}");
}

#[test]
fn stacks_of_somebody_else_are_compressed_where_they_lie() {
    let elements: Vec<f32> = (0_u8..60).map(|k| f32::from(k % 3)).collect();
    let array = |shape: &[usize], strides: &[isize]| {
        ForeignArray::on_host(elements[1..].as_ptr(), shape, Some(strides))
    };
    // Two 3 x 4 matrices of wider ones, the transposes of both, and one column.
    let arrays = [array(&[2, 3, 4], &[25, 6, 1]), array(&[2, 4, 3], &[25, 1, 6]), array(&[5], &[7])];
    // SAFETY: the elements outlive the stacks, and no code writes them.
    let stacks = arrays.map(|array| unsafe { DenseStack::borrow(&cpu(), &array) }.unwrap());
    let options = MatrixSetOptions::new(Format::Csr, DType::F32);
    let (set, report) = MatrixSet::compress_stacks(&[cpu()], &stacks, &options).unwrap();
    assert_eq!((set.len(), report.items, set.shape(3), set.shape(4)), (5, 5, Some((4, 3)), Some((5, 1))));
    let dense = |item| set.get(item, &cpu()).unwrap().to_dense().unwrap().values().to_vec::<f32>().unwrap();
    let second: Vec<f32> = [26, 32, 38].iter().flat_map(|&row| elements[row..row + 4].to_vec()).collect();
    assert_eq!(dense(1), second);
    assert_eq!(dense(4), [1, 8, 15, 22, 29].map(|at| elements[at]));
    let transposed = set.get(3, &cpu()).unwrap().transpose().unwrap().to_dense().unwrap();
    assert_eq!(transposed.to_order(Order::RowMajor).unwrap().values().to_vec::<f32>().unwrap(), second);

    let other = MatrixSetOptions::new(Format::Csc, DType::F64);
    let reported = MatrixSet::compress_stacks(&[cpu()], &stacks, &other).unwrap_err().to_string();
    assert!(reported.contains("elements of f32, the result is to have f64"), "{reported}");
    // A dense matrix of ours, with padding.
    let padded = Vector::from_slice(&cpu(), &elements[..28]).unwrap();
    let padded = DenseMatrix::new(padded, 4, 4, 7, Order::RowMajor).unwrap();
    assert!(DenseStack::new(padded.clone(), 3).unwrap_err().to_string().contains("no 3 matrices"));
    let stack = DenseStack::new(padded, 2).unwrap();
    let (ours, _) = MatrixSet::compress_stacks(&[cpu()], &[stack], &options).unwrap();
    let second = ours.get(1, &cpu()).unwrap().to_dense().unwrap().values().to_vec::<f32>().unwrap();
    assert_eq!(second, [&elements[14..18], &elements[21..25]].concat());
    let columns = DenseMatrix::zeros(&cpu(), DType::F32, 4, 2, Order::ColMajor).unwrap();
    assert!(DenseStack::new(columns.clone(), 2).unwrap_err().to_string().contains("interleaved"));
    assert_eq!(DenseStack::new(columns, 1).unwrap().layout().shape(), (4, 2));
    let (none, _) = MatrixSet::compress_stacks(&[cpu()], &[], &options).unwrap();
    assert!(none.is_empty());
}
