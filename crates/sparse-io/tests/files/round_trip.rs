//! Matrices are read back to the same bits, in every format and type.

use proptest::prelude::*;
use sparse_core::{Coo, Csc, Csr, Dense, Host, Index, Order, Scalar, c32, c64};
use sparse_io::npz::NpzFormat;
use sparse_io::{matrix_market, npy, npz};
use std::fmt::Debug;
use std::path::PathBuf;
use tempfile::TempDir;

const ROWS: usize = 6;
const COLS: usize = 4;

fn coordinates() -> impl Strategy<Value = Vec<(usize, usize)>> {
    prop::collection::vec((0..ROWS, 0..COLS), 0..20)
}

/// A file, in memory if there is a folder for that: every file is synced, which takes milliseconds on a disk.
fn file(name: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let path = folder.path().join(name);
    (folder, path)
}

/// Bit patterns, so that NaN and the sign of zero count.
fn bits<T: Scalar>(values: &[T]) -> Vec<u8> {
    values
        .iter()
        .flat_map(|value| [value.to_c64().re.to_bits(), value.to_c64().im.to_bits()])
        .flat_map(u64::to_le_bytes)
        .collect()
}

fn coo<T: Scalar, I: Index>(coordinates: &[(usize, usize)], values: &[T]) -> Coo<T, Host, I> {
    let triplets = coordinates.iter().zip(values).map(|(&(i, j), &value)| (i, j, value));
    Coo::<T, Host, I>::from_triplets(ROWS, COLS, triplets).unwrap()
}

/// The matrix with an entry at each coordinate once, sorted.
fn csr<T: Scalar, I: Index, O: Index>(coordinates: &[(usize, usize)], values: &[T]) -> Csr<T, Host, I, O> {
    let mut cells = coordinates.to_vec();
    cells.sort();
    cells.dedup();
    let offsets = (0..=ROWS).map(|i| O::cast(cells.partition_point(|&(row, _)| row < i))).collect();
    let indices = cells.iter().map(|&(_, j)| I::cast(j)).collect();
    Csr::<T, Host, I, O>::new(ROWS, COLS, offsets, indices, values[..cells.len()].to_vec()).unwrap()
}

fn assert_same_csr<T: Scalar, I: Index, O: Index>(a: &Csr<T, Host, I, O>, b: &Csr<T, Host, I, O>) {
    assert_eq!((a.nrows(), a.ncols()), (b.nrows(), b.ncols()));
    assert_eq!((a.row_ptr(), a.col_idx()), (b.row_ptr(), b.col_idx()));
    assert_eq!(bits(a.values()), bits(b.values()));
}

fn csr_goes_through_every_file<T: Scalar, I: Index, O: Index>(cells: &[(usize, usize)], values: &[T]) {
    let matrix = csr::<T, I, O>(cells, values);
    for name in ["a.mtx", "a.mtx.gz", "a.npz"] {
        let (_folder, path) = file(name);
        sparse_io::write_csr(&path, &matrix).unwrap();
        assert_same_csr(&sparse_io::read_csr(&path).unwrap(), &matrix);
    }
}

fn coo_goes_through_every_file<T: Scalar, I: Index>(cells: &[(usize, usize)], values: &[T]) {
    let matrix = coo::<T, I>(cells, values);
    let (_folder, path) = file("a.mtx");
    matrix_market::write_coo(&path, &matrix).unwrap();
    let read: Coo<T, Host, I> = matrix_market::read_coo(&path).unwrap();
    assert_eq!((read.row_idx(), read.col_idx()), (matrix.row_idx(), matrix.col_idx()));
    assert_eq!(bits(read.values()), bits(matrix.values()));

    let (_folder, path) = file("a.npz");
    npz::write_coo(&path, &matrix).unwrap();
    let read = npz::read(&path).unwrap();
    assert_eq!((read.format, read.rows, read.cols, read.dtype()), (NpzFormat::Coo, ROWS, COLS, T::DTYPE));
    assert_eq!(read.major.into_typed::<I>("row").unwrap(), *matrix.row_idx());
    assert_eq!(read.minor.into_typed::<I>("col").unwrap(), *matrix.col_idx());
    assert_eq!(bits(&read.values.into_typed::<T>().unwrap()), bits(matrix.values()));
}

fn csc_becomes_the_same_csr<T: Scalar>(cells: &[(usize, usize)], values: &[T]) {
    let transposed = csr::<T, i32, i64>(cells, values);
    let matrix: Csc<T, Host, i32, i64> = transposed.clone().into_transpose();
    let (_folder, path) = file("a.npz");
    npz::write_csc(&path, &matrix).unwrap();
    let read: Csr<T, Host, i64, i32> = sparse_io::read_csr(&path).unwrap();
    let mut entries: Vec<_> = transposed.triplets().map(|(i, j, value)| (j, i, value)).collect();
    entries.sort_by_key(|&(i, j, _)| (i, j));
    let (positions, values): (Vec<_>, Vec<_>) =
        entries.into_iter().map(|(i, j, value)| ((i, j), value)).unzip();
    assert_eq!(read.triplets().map(|(i, j, _)| (i, j)).collect::<Vec<_>>(), positions);
    assert_eq!(bits(read.values()), bits(&values));
}

fn dense_goes_through_every_file<T: Scalar>(values: &[T], order: Order) {
    let matrix = Dense::<T>::new(values[..ROWS * COLS].to_vec(), ROWS, COLS, order).unwrap();
    let (_folder, path) = file("a.npy");
    npy::write(&path, matrix.data(), &[ROWS, COLS], order).unwrap();
    let read = npy::read(&path).unwrap();
    assert_eq!((&read.shape[..], read.order, read.values.dtype()), (&[ROWS, COLS][..], order, T::DTYPE));
    assert_eq!(bits(&read.values.into_typed::<T>().unwrap()), bits(matrix.data()));

    let (_folder, path) = file("a.mtx");
    matrix_market::write_dense(&path, &matrix).unwrap();
    let read = matrix_market::read_dense::<T>(&path).unwrap();
    for (i, j) in (0..ROWS).flat_map(|i| (0..COLS).map(move |j| (i, j))) {
        assert_eq!(bits(&[read.as_view().at(i, j)]), bits(&[matrix.as_view().at(i, j)]));
    }
}

fn everything<T: Scalar + Debug>(cells: &[(usize, usize)], values: &[T], order: Order) {
    csr_goes_through_every_file::<T, i32, i32>(cells, values);
    csr_goes_through_every_file::<T, i32, i64>(cells, values);
    csr_goes_through_every_file::<T, i64, i64>(cells, values);
    coo_goes_through_every_file::<T, i32>(cells, values);
    coo_goes_through_every_file::<T, i64>(cells, values);
    csc_becomes_the_same_csr(cells, values);
    dense_goes_through_every_file(values, order);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn files_are_read_back(
        cells in coordinates(),
        values in prop::collection::vec((any::<f64>(), any::<f64>()), ROWS * COLS),
        singles in prop::collection::vec((any::<f32>(), any::<f32>()), ROWS * COLS),
        by_rows in any::<bool>(),
    ) {
        let order = if by_rows { Order::RowMajor } else { Order::ColMajor };
        everything::<f64>(&cells, &values.iter().map(|v| v.0).collect::<Vec<_>>(), order);
        everything::<c64>(&cells, &values.iter().map(|v| c64::new(v.0, v.1)).collect::<Vec<_>>(), order);
        everything::<f32>(&cells, &singles.iter().map(|v| v.0).collect::<Vec<_>>(), order);
        everything::<c32>(&cells, &singles.iter().map(|v| c32::new(v.0, v.1)).collect::<Vec<_>>(), order);
    }

    #[test]
    fn arrays_of_one_to_three_dimensions_are_read_back(shape in prop::collection::vec(0..5_usize, 1..4)) {
        let values: Vec<f32> = (0..shape.iter().product()).map(|k| k as f32).collect();
        for order in [Order::RowMajor, Order::ColMajor] {
            let (_folder, path) = file("a.npy");
            npy::write(&path, &values, &shape, order).unwrap();
            let read = npy::read(&path).unwrap();
            prop_assert_eq!((&read.shape, read.order), (&shape, order));
            prop_assert_eq!(read.values.into_typed::<f32>().unwrap(), &values[..]);
        }
    }

    #[test]
    fn a_dense_array_becomes_csr_without_its_zeros(values in prop::collection::vec(-1..2_i32, ROWS * COLS), by_rows in any::<bool>()) {
        let order = if by_rows { Order::RowMajor } else { Order::ColMajor };
        let values: Vec<f64> = values.into_iter().map(f64::from).collect();
        let matrix = Dense::<f64>::new(values.clone(), ROWS, COLS, order).unwrap();
        let (_folder, path) = file("a.npy");
        npy::write(&path, &values, &[ROWS, COLS], order).unwrap();
        let read: Csr<f64> = sparse_io::read_csr(&path).unwrap();
        let expected: Vec<_> = (0..ROWS).flat_map(|i| (0..COLS).map(move |j| (i, j)))
            .map(|(i, j)| (i, j, matrix.as_view().at(i, j)))
            .filter(|entry| entry.2 != 0.0)
            .collect();
        prop_assert_eq!(read.triplets().collect::<Vec<_>>(), expected);
    }
}
