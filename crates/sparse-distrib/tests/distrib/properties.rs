//! Any matrix, orientation, partition and scheme against the oracle.

use crate::common::{cases, matrices, partitions};
use crate::suite::distribution::{self, Compresses};
use crate::suite::matrices::{same, slice, ten_by_eight};
use backend_cpu::Cpu;
use proptest::prelude::*;
use sparse_core::reference::Reference;
use sparse_core::{Axis, Col, Compressed, Dense, Index, Row, Scalar, bf16, c32, c64, f16};
use sparse_distrib::dispatch::{compress, compress_counted, compress_tasks};
use sparse_distrib::ekmr::{ArrayView, EKMR4};
use sparse_distrib::partition::{block, members};
use sparse_distrib::wire::{bitmap, cfs, ed1, ed2};
use sparse_distrib::{
    Block, Distribution, Local, Part, Partition, PtrBase, PtrFlavour, SCHEMES, Scheme, pointers,
};
use std::num::NonZeroUsize;

fn check_dispatch<A: Axis>(matrix: &Dense<f32>, dispatch: Partition) {
    let whole = Compressed::<A, f32>::from_dense(matrix.as_view()).unwrap();
    let by_reference = compress(&Reference, matrix.as_view(), dispatch).unwrap();
    assert!(same(&by_reference, &whole), "{dispatch}: {by_reference:?}, not {whole:?}");
    assert!(same(&compress(&Cpu::new().unwrap(), matrix.as_view(), dispatch).unwrap(), &whole));

    let counted = compress_counted::<_, A, f32, i32, i32>(&Reference, matrix.as_view(), dispatch);
    assert_eq!(counted.is_ok(), dispatch.is_along::<A>());
    assert!(
        counted.is_ok_and(|counted| same(&counted.into_compressed().unwrap(), &whole))
            == dispatch.is_along::<A>()
    );
}

fn check_wire<A: Axis>(matrix: &Dense<f32>, partition: Partition) {
    let whole = Compressed::<A, f32>::from_dense(matrix.as_view()).unwrap();
    let blocks: Vec<Compressed<A, f32>> = compress_tasks(&Reference, matrix.as_view(), partition).unwrap();
    for (part, block) in partition.iter(matrix.shape()).zip(&blocks) {
        assert!(same(block, &slice(&whole, &part)), "{part:?}");
        for (format, message) in messages(&part, block) {
            let decoded = decode::<A>(format, &part, &message).unwrap();
            assert!(same(&decoded, block), "{format}, {part:?}");
        }
    }
}

/// The messages of a part in every format that has a compressed part.
pub(crate) fn messages<A: Axis>(part: &Part, block: &Compressed<A, f32>) -> Vec<(Scheme, Vec<u8>)> {
    vec![
        (Scheme::Cfs, cfs::encode(part, block).unwrap()),
        (Scheme::Ed1, ed1::encode(part, block).unwrap()),
        (Scheme::Ed2, ed2::encode(part, block).unwrap()),
        (Scheme::Bitmap, bitmap::encode(part, block).unwrap()),
    ]
}

pub(crate) fn decode<A: Axis>(
    format: Scheme,
    part: &Part,
    message: &[u8],
) -> sparse_core::Result<Compressed<A, f32>> {
    match format {
        Scheme::Cfs => cfs::decode(part, message),
        Scheme::Ed1 => ed1::decode(part, message),
        Scheme::Ed2 => ed2::decode(part, message),
        Scheme::Bitmap => bitmap::decode(part, message),
        Scheme::Sfc => panic!("sfc sends no compressed part"),
    }
}

/// Distributes over threads; every rank checks what it has.
fn check_distribution<A: Axis>(
    backend: &impl Compresses,
    matrix: &Dense<f32>,
    partition: Partition,
    scheme: Scheme,
    root: usize,
) {
    let distribution = Distribution { scheme, partition, root };
    Local::run(partition.parts(), |rank| distribution::check::<A>(&rank, backend, distribution, matrix));
}

proptest! {
    #![proptest_config(cases(100))]

    #[test]
    fn a_dispatch_changes_nothing(matrix in matrices(), dispatch in partitions()) {
        check_dispatch::<Row>(&matrix, dispatch);
        check_dispatch::<Col>(&matrix, dispatch);
    }

    #[test]
    fn a_message_brings_its_part(matrix in matrices(), partition in partitions()) {
        check_wire::<Row>(&matrix, partition);
        check_wire::<Col>(&matrix, partition);
    }

    #[test]
    fn row_pointers_come_back(matrix in matrices()) {
        let csr = Compressed::<Row, f32>::from_dense(matrix.as_view()).unwrap();
        for flavour in [PtrFlavour::Offsets, PtrFlavour::Counts] {
            for base in [PtrBase::Zero, PtrBase::One] {
                let exported = pointers::export(&csr, flavour, base).unwrap();
                prop_assert_eq!(&pointers::import(&exported, flavour, base).unwrap(), csr.offsets());
            }
        }
    }

    #[test]
    fn blocks_are_balanced_and_contiguous(items in 0_usize..100, blocks in 1_usize..17) {
        let count = NonZeroUsize::new(blocks).unwrap();
        let mut end = 0;
        for range in (0..blocks).map(|k| block(items, count, k)) {
            prop_assert_eq!(range.start, end);
            prop_assert!(range.len() == items / blocks || range.len() == items / blocks + 1);
            end = range.end;
        }
        prop_assert_eq!(end, items);
        prop_assert!(block(items, count, blocks).is_empty());
    }

    #[test]
    fn an_array_and_its_matrix_name_each_other(shape in [1_usize..4, 1..4, 1..4, 1..4], seed in 0_usize..256) {
        let total: usize = shape.iter().product();
        let elements: Vec<f64> = (0..total).map(|v| v as f64).collect();
        let array = ArrayView::c_order(&elements, shape).unwrap();
        let matrix = EKMR4.to_dense(array).unwrap();
        let [l, k, i, j] = [seed % shape[0], seed / 4 % shape[1], seed / 16 % shape[2], seed / 64 % shape[3]];
        let position = EKMR4.position(shape, [l, k, i, j]);
        prop_assert_eq!(position, (i * shape[0] + l, j * shape[1] + k));
        prop_assert_eq!(EKMR4.index(shape, position), [l, k, i, j]);
        prop_assert_eq!(matrix.at(position.0, position.1), array.at([l, k, i, j]));
        if let Some(view) = EKMR4.view(array).unwrap() {
            prop_assert_eq!(view.shape(), matrix.shape());
            prop_assert_eq!(view.at(position.0, position.1), array.at([l, k, i, j]));
        }
    }
}

proptest! {
    #![proptest_config(cases(12))]

    #[test]
    fn every_scheme_distributes(matrix in matrices(), partition in partitions(), root in 0_usize..16) {
        let root = root % partition.parts();
        for info in &SCHEMES {
            check_distribution::<Row>(&Reference, &matrix, partition, info.scheme, root);
            check_distribution::<Col>(&Reference, &matrix, partition, info.scheme, root);
        }
    }
}

#[test]
fn every_number_of_ranks_distributes() {
    let (cpu, matrix) = (Cpu::new().unwrap(), ten_by_eight());
    for p in 1..17 {
        let scheme = SCHEMES[p % 5].scheme;
        check_distribution::<Row>(&cpu, &matrix, Partition::rows(p).unwrap(), scheme, p - 1);
        check_distribution::<Col>(&cpu, &matrix, Partition::cols(p).unwrap(), scheme, 0);
    }
}

/// A part at the end of a large matrix, in every format that has its types.
fn check_types<T: Scalar, I: Index, O: Index>() {
    let part = Part { rows: 1000..1003, cols: 70_000..70_005 };
    let triplets = [(0, 4, 1.5), (2, 0, -2.0), (2, 3, 7.0)].map(|(i, j, v)| (i, j, T::from_c64(v.into())));
    let block = Block::<Row, T, I, O>::from_triplets(3, 5, triplets).unwrap();
    assert_eq!(cfs::decode(&part, &cfs::encode(&part, &block).unwrap()).unwrap(), block);
    assert_eq!(ed2::read(&ed2::encode(&part, &block).unwrap()).unwrap(), (part.clone(), block.clone()));
    assert_eq!(bitmap::decode(&part, &bitmap::encode(&part, &block).unwrap()).unwrap(), block);
    match ed1::encode(&part, &block) {
        Ok(message) => assert_eq!(ed1::decode(&part, &message).unwrap(), block),
        Err(error) => assert!(size_of::<T>() == 2, "{error}"),
    }
}

#[test]
fn every_type_travels() {
    check_types::<f16, i32, i32>();
    check_types::<bf16, i64, i64>();
    check_types::<f32, i64, i32>();
    check_types::<f64, i32, i64>();
    check_types::<c32, i32, i32>();
    check_types::<c64, i64, i64>();
}

#[test]
fn a_part_of_a_batch_is_that_part_of_every_member() {
    use sparse_core::{DenseBatchView, Order};
    let elements: Vec<f32> = (0_u8..60).map(f32::from).collect();
    let batch = DenseBatchView::new(&elements[..], 5, 12, (3, 4), 4, Order::RowMajor).unwrap();
    let part = Partition::mesh(2, 2).unwrap().part((3, 4), 3);
    let parts = part.batch_view(batch).unwrap();
    assert_eq!((parts.count(), parts.shape()), (5, (1, 2)));
    assert_eq!(parts.member(4).at(0, 1), 59.0);

    let last = members(batch, NonZeroUsize::new(2).unwrap(), 1).unwrap();
    assert_eq!((last.count(), last.member(0).at(0, 0)), (2, 36.0));
    let empty = members(batch, NonZeroUsize::new(9).unwrap(), 8).unwrap();
    assert_eq!((empty.count(), empty.shape()), (0, (3, 4)));
    assert!(Part { rows: 2..4, cols: 0..1 }.batch_view(batch).is_err());
}
