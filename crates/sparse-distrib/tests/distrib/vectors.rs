//! The examples of the literature on the host, and arrays and streams at their edges.

use crate::suite::matrices::dense;
use crate::suite::vectors;
use backend_cpu::Cpu;
use sparse_core::reference::Reference;
use sparse_core::{Csr, Order};
use sparse_distrib::Part;
use sparse_distrib::ekmr::{ArrayView, EKMR3};

#[test]
fn the_reference_has_the_numbers_of_the_literature() {
    vectors::all(&Reference);
}

#[test]
fn e1_row_partition_by_rows() {
    vectors::e1_row_partition_by_rows(&Cpu::new().unwrap());
}

#[test]
fn e2_array_on_a_mesh() {
    vectors::e2_array_on_a_mesh(&Cpu::new().unwrap());
}

#[test]
fn e3_both_orientations() {
    vectors::e3_both_orientations(&Cpu::new().unwrap());
}

#[test]
fn e4_row_dispatch_by_rows() {
    vectors::e4_row_dispatch_by_rows(&Cpu::new().unwrap());
}

#[test]
fn e5_row_dispatch_by_columns() {
    vectors::e5_row_dispatch_by_columns(&Cpu::new().unwrap());
}

#[test]
fn e5b_column_dispatch_by_rows() {
    vectors::e5b_column_dispatch_by_rows(&Cpu::new().unwrap());
}

#[test]
fn e6_prefix_sums_of_one_series() {
    vectors::e6_prefix_sums_of_one_series(&Cpu::new().unwrap());
}

#[test]
fn e7_prefix_sums_along_rows() {
    vectors::e7_prefix_sums_along_rows(&Cpu::new().unwrap());
}

#[test]
fn e8_prefix_sums_along_columns() {
    vectors::e8_prefix_sums_along_columns(&Cpu::new().unwrap());
}

#[test]
fn e9_without_prefix_sums() {
    vectors::e9_without_prefix_sums(&Cpu::new().unwrap());
}

#[test]
fn arrays_whose_strides_allow_it_are_not_copied() {
    let elements: Vec<f32> = (0_u8..120).map(f32::from).collect();
    // n_k = 5, n_i = 4, n_j = 3, stored as [i][j][k], and with rows of 30 elements.
    for row in [15, 30] {
        let array = ArrayView::new(&elements, [5, 4, 3], [1, row, 5]).unwrap();
        let view = EKMR3.view(array).unwrap().unwrap();
        assert_eq!((view.shape(), view.leading_dimension(), view.order()), ((4, 15), row, Order::RowMajor));
        assert_eq!(view.at(3, 14), array.at([4, 3, 2]));
    }
    // Stored as [j][k][i]: columns of EKMR(3) are contiguous.
    let array = ArrayView::new(&elements, [5, 4, 3], [4, 1, 20]).unwrap();
    let view = EKMR3.view(array).unwrap().unwrap();
    assert_eq!((view.leading_dimension(), view.order()), (4, Order::ColMajor));
    let copy = EKMR3.to_dense(array).unwrap();
    assert!((0..4).all(|i| (0..15).all(|j| view.at(i, j) == copy.at(i, j))));
    // One plane only: the array is the matrix.
    let plane = ArrayView::c_order(&elements[..12], [1, 4, 3]).unwrap();
    assert_eq!(EKMR3.view(plane).unwrap().unwrap().data().len(), 12);
    assert!(ArrayView::c_order(&elements, [5, 5, 5]).is_err());
}

#[test]
fn bitmap_of_a_line_of_zeros_and_a_full_line() {
    let matrix = dense(2, 9, &(0..9).map(|j| (1, j, 1.0)).collect::<Vec<_>>());
    let block = Csr::<f32>::from_dense(matrix.as_view()).unwrap();
    let message = sparse_distrib::wire::bitmap::encode(&Part::whole((2, 9)), &block).unwrap();
    assert_eq!(message[..4], [0, 0, 0xff, 1]);
    assert_eq!(message.len(), 4 + 9 * 4);
}
