//! Arrays of `.npy` files as matrices by EKMR against the mapping of arrays in memory.

use crate::common::partitions;
use proptest::prelude::*;
use sparse_core::Order;
use sparse_distrib::ekmr::{ArrayView, EKMR3, EKMR4};
use sparse_distrib::{ArrayReading, NpySource, Partition, Source};

/// The strides of an array without padding.
fn strides<const N: usize>(shape: [usize; N], order: Order) -> [usize; N] {
    let before = |d: usize| if order == Order::RowMajor { d + 1..N } else { 0..d };
    std::array::from_fn(|d| before(d).map(|d| shape[d]).product())
}

/// The parts of the matrix of an array, which a source reads from a file that has it in some order.
fn parts(shape: &[usize], order: Order, elements: &[f32], partition: Partition) -> Vec<Vec<f32>> {
    let folder = tempfile::tempdir().unwrap();
    sparse_io::npy::write(&folder.path().join("a.npy"), elements, shape, order).unwrap();
    let source = NpySource::open_folder_as(folder.path(), ArrayReading::Ekmr).unwrap();
    assert_eq!(Source::<f32>::len(&source), 1);
    let read = |part: sparse_distrib::Part| {
        let (rows, cols) = part.shape();
        let mut elements = vec![f32::NAN; rows * cols];
        source.fill_part(0, &part, &mut elements).unwrap();
        elements
    };
    partition.iter(Source::<f32>::shape(&source, 0)).map(read).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn parts_of_files_are_those_of_arrays_in_memory(
        shape in [0..4_usize, 0..5_usize, 0..4_usize, 0..6_usize],
        is_4d: bool,
        is_c_order: bool,
        partition in partitions(),
    ) {
        let [l, k, i, j] = shape;
        let order = if is_c_order { Order::RowMajor } else { Order::ColMajor };
        let len = if is_4d { l * k * i * j } else { k * i * j };
        let elements: Vec<f32> = (0..len).map(|at| at as f32).collect();
        let view4 = |shape| EKMR4.to_dense(ArrayView::new(&elements, shape, strides(shape, order)).unwrap());
        let view3 = |shape| EKMR3.to_dense(ArrayView::new(&elements, shape, strides(shape, order)).unwrap());
        let (matrix, found) = match is_4d {
            true => (view4(shape).unwrap(), parts(&shape, order, &elements, partition)),
            false => (view3([k, i, j]).unwrap(), parts(&shape[1..], order, &elements, partition)),
        };
        let expected = partition.iter(matrix.shape()).map(|part| {
            let at = |i: usize| part.cols.clone().map(move |j| (i, j));
            part.rows.clone().flat_map(at).map(|(i, j)| matrix.at(i, j)).collect::<Vec<_>>()
        });
        prop_assert!(expected.eq(found));
    }
}

#[test]
fn files_of_other_dimensions() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.npy");
    let open = |shape: &[usize], reading| {
        sparse_io::npy::write(&path, &[1.0_f32; 12], shape, Order::ColMajor).unwrap();
        NpySource::open_all_as([&path], reading).map(|source| {
            (Source::<f32>::len(&source), Source::<f32>::shape(&source, 0), Source::<f32>::order(&source, 0))
        })
    };
    assert_eq!(open(&[3, 4], ArrayReading::Ekmr).unwrap(), (1, (3, 4), Order::ColMajor));
    assert_eq!(open(&[3, 2, 2], ArrayReading::Ekmr).unwrap(), (1, (2, 6), Order::RowMajor));
    assert_eq!(open(&[3, 2, 2], ArrayReading::Stack).unwrap(), (3, (2, 2), Order::ColMajor));
    for (shape, reading, reported) in [
        (&[12][..], ArrayReading::Stack, "2 or 3 dimensions is needed, the shape is (12,)"),
        (&[12], ArrayReading::Ekmr, "2 to 4 dimensions is needed, the shape is (12,)"),
        (&[1, 3, 2, 2], ArrayReading::Stack, "2 or 3 dimensions is needed, the shape is (1, 3, 2, 2)"),
        (&[1, 1, 3, 2, 2], ArrayReading::Ekmr, "2 to 4 dimensions is needed, the shape is (1, 1, 3, 2, 2)"),
    ] {
        let error = open(shape, reading).unwrap_err().to_string();
        assert!(error.ends_with(reported), "{error}");
    }
}
