//! The examples of the literature with their numbers, on any backend.

use super::distribution::Compresses;
use super::matrices::{nine_by_nine, ten_by_eight};
use sparse_core::backend::SpaceOf;
use sparse_core::op::{ScanKind, ScanOrder, ScanPlan};
use sparse_core::{Axis, Col, Compressed, Csc, Csr, Dense, DenseView, PlanOptions, Row, Space};
use sparse_distrib::dispatch::{compress, compress_counted, compress_tasks};
use sparse_distrib::ekmr::{ArrayView, EKMR3};
use sparse_distrib::wire::{cfs, ed1, ed2};
use sparse_distrib::{MergeTable, Part, Partition, PtrBase, PtrFlavour, pointers};

/// All examples.
pub(crate) fn all(backend: &impl Compresses) {
    e1_row_partition_by_rows(backend);
    e2_array_on_a_mesh(backend);
    e3_both_orientations(backend);
    e4_row_dispatch_by_rows(backend);
    e5_row_dispatch_by_columns(backend);
    e5b_column_dispatch_by_rows(backend);
    e6_prefix_sums_of_one_series(backend);
    e7_prefix_sums_along_rows(backend);
    e8_prefix_sums_along_columns(backend);
    e9_without_prefix_sums(backend);
}

/// Runs `work` on a matrix in the memory of a backend.
fn on<B: Compresses, R>(
    backend: &B,
    matrix: &Dense<f32>,
    work: impl FnOnce(DenseView<'_, f32, SpaceOf<B>>) -> R,
) -> R {
    let (elements, (rows, cols)) = (backend.upload(matrix.data()).unwrap(), matrix.shape());
    let (ld, order) = (matrix.as_view().leading_dimension(), matrix.order());
    work(DenseView::new(SpaceOf::<B>::view(&elements), rows, cols, ld, order).unwrap())
}

fn blocks<A: Axis, B: Compresses>(
    backend: &B,
    matrix: &Dense<f32>,
    partition: Partition,
) -> Vec<Compressed<A, f32>> {
    on(backend, matrix, |matrix| compress_tasks(backend, matrix, partition).unwrap())
}

fn whole<A: Axis, B: Compresses>(
    backend: &B,
    matrix: &Dense<f32>,
    partition: Partition,
) -> Compressed<A, f32> {
    on(backend, matrix, |matrix| compress(backend, matrix, partition).unwrap())
}

fn one_based<A: Axis>(block: &Compressed<A, f32>) -> Vec<i32> {
    pointers::export(block, PtrFlavour::Offsets, PtrBase::One).unwrap()
}

/// The indices of a part in the whole matrix.
fn global<A: Axis>(part: &Part, block: &Compressed<A, f32>) -> Vec<i32> {
    let base = part.major_minor::<A>().1.start as i32;
    block.indices().iter().map(|index| index + base).collect()
}

/// The message of a stream of counts, each followed by that number of (index, value) pairs.
fn special_buffer(stream: &[i32]) -> Vec<u8> {
    let (mut message, mut rest) = (vec![], stream.iter());
    while let Some(&count) = rest.next() {
        message.extend(count.to_le_bytes());
        for _ in 0..count {
            message.extend(rest.next().unwrap().to_le_bytes());
            message.extend((*rest.next().unwrap() as f32).to_le_bytes());
        }
    }
    message
}

/// RO, CO, VL and the special buffer of a part that begins at column 0.
type ByRows<'a> = (&'a [i32], &'a [i32], &'a [f32], &'a [i32]);
/// RO, CO in the whole matrix, CO in the part and VL.
type Sent<'a> = (&'a [i32], &'a [i32], &'a [i32], &'a [f32]);
/// The same and the special buffer.
type SentWithStream<'a> = (&'a [i32], &'a [i32], &'a [i32], &'a [f32], &'a [i32]);

/// Indices and values by rows or columns, and 1-based row pointers.
fn assert_block<A: Axis>(block: &Compressed<A, f32>, ro: &[i32], co: &[i32], vl: &[f32]) {
    assert_eq!((&one_based(block)[..], &block.indices()[..], &block.values()[..]), (ro, co, vl));
}

pub(crate) fn e1_row_partition_by_rows<B: Compresses>(backend: &B) {
    let matrix = ten_by_eight();
    let partition = Partition::rows(4).unwrap();
    let expected: [ByRows<'_>; 4] = [
        (&[1, 2, 3, 5], &[1, 6, 0, 7], &[1., 2., 3., 4.], &[1, 1, 1, 1, 6, 2, 2, 0, 3, 7, 4]),
        (&[1, 2, 3, 4], &[5, 3, 4], &[5., 6., 7.], &[1, 5, 5, 1, 3, 6, 1, 4, 7]),
        (&[1, 2, 4], &[6, 4, 7], &[8., 9., 10.], &[1, 6, 8, 2, 4, 9, 7, 10]),
        (
            &[1, 4, 7],
            &[1, 2, 4, 0, 3, 6],
            &[11., 12., 13., 14., 15., 16.],
            &[3, 1, 11, 2, 12, 4, 13, 3, 0, 14, 3, 15, 6, 16],
        ),
    ];
    for ((part, block), (ro, co, vl, stream)) in
        partition.iter(matrix.shape()).zip(blocks::<Row, B>(backend, &matrix, partition)).zip(expected)
    {
        assert_block(&block, ro, co, vl);
        let message = special_buffer(stream);
        assert_eq!(ed1::encode(&part, &block).unwrap(), message);
        assert_eq!(ed1::decode(&part, &message).unwrap(), block);
    }

    let csr: Csr<f32> = whole(backend, &matrix, partition);
    assert_eq!(one_based(&csr), [1, 2, 3, 5, 6, 7, 8, 9, 11, 14, 17]);
    let csc: Csc<f32> = whole(backend, &matrix, partition);
    assert_block(
        &csc,
        &[1, 3, 5, 6, 8, 11, 12, 15, 17],
        &[2, 9, 0, 8, 8, 4, 9, 5, 7, 8, 3, 1, 6, 9, 2, 7],
        &[3., 14., 1., 11., 12., 6., 15., 7., 9., 13., 5., 2., 8., 16., 4., 10.],
    );
}

/// The 4 x 16 matrix of a 4 x 4 x 4 array stored as `[k][i][j]`.
fn ekmr_matrix() -> Dense<f32> {
    let mut elements = [0.0; 64];
    for (k, i, j, value) in [
        (0, 0, 0, 1.0),
        (0, 2, 1, 2.0),
        (0, 3, 0, 3.0),
        (0, 3, 1, 4.0),
        (1, 0, 0, 5.0),
        (1, 2, 1, 6.0),
        (1, 3, 1, 7.0),
        (1, 3, 3, 8.0),
        (2, 0, 0, 9.0),
        (2, 1, 2, 10.0),
        (2, 2, 2, 11.0),
        (2, 3, 3, 12.0),
        (3, 0, 0, 13.0),
        (3, 1, 2, 14.0),
        (3, 2, 2, 15.0),
        (3, 3, 3, 16.0),
    ] {
        elements[k * 16 + i * 4 + j] = value;
    }
    let array = ArrayView::c_order(&elements, [4, 4, 4]).unwrap();
    assert!(EKMR3.view(array).unwrap().is_none());
    EKMR3.to_dense(array).unwrap()
}

pub(crate) fn e2_array_on_a_mesh<B: Compresses>(backend: &B) {
    let matrix = ekmr_matrix();
    #[rustfmt::skip]
    let expected = [
        1, 5, 9, 13, 0, 0, 0, 0,   0, 0,  0,  0, 0, 0,  0,  0,
        0, 0, 0,  0, 0, 0, 0, 0,   0, 0, 10, 14, 0, 0,  0,  0,
        0, 0, 0,  0, 2, 6, 0, 0,   0, 0, 11, 15, 0, 0,  0,  0,
        3, 0, 0,  0, 4, 7, 0, 0,   0, 0,  0,  0, 0, 8, 12, 16_u8,
    ];
    assert_eq!(matrix.data(), &expected.map(f32::from));

    let mesh = Partition::mesh(2, 2).unwrap();
    let parts: Vec<Part> = mesh.iter(matrix.shape()).collect();
    assert_eq!(parts[3], Part { rows: 2..4, cols: 8..16 });

    let columns: [SentWithStream<'_>; 4] = [
        (
            &[1, 2, 3, 4, 5, 5, 5, 5, 5],
            &[0, 0, 0, 0],
            &[0, 0, 0, 0],
            &[1., 5., 9., 13.],
            &[1, 0, 1, 1, 0, 5, 1, 0, 9, 1, 0, 13, 0, 0, 0, 0],
        ),
        (
            &[1, 1, 1, 2, 3, 3, 3, 3, 3],
            &[1, 1],
            &[1, 1],
            &[10., 14.],
            &[0, 0, 1, 1, 10, 1, 1, 14, 0, 0, 0, 0],
        ),
        (
            &[1, 2, 2, 2, 2, 4, 6, 6, 6],
            &[3, 2, 3, 2, 3],
            &[1, 0, 1, 0, 1],
            &[3., 2., 4., 6., 7.],
            &[1, 3, 3, 0, 0, 0, 2, 2, 2, 3, 4, 2, 2, 6, 3, 7, 0, 0],
        ),
        (
            &[1, 1, 1, 2, 3, 3, 4, 5, 6],
            &[2, 2, 3, 3, 3],
            &[0, 0, 1, 1, 1],
            &[11., 15., 8., 12., 16.],
            &[0, 0, 1, 2, 11, 1, 2, 15, 0, 1, 3, 8, 1, 3, 12, 1, 3, 16],
        ),
    ];
    for ((part, block), (ro, co, local, vl, stream)) in
        parts.iter().zip(blocks::<Col, B>(backend, &matrix, mesh)).zip(columns)
    {
        assert_block(&block, ro, local, vl);
        assert_eq!(global(part, &block), co);
        assert_eq!(ed1::encode(part, &block).unwrap(), special_buffer(stream));
        assert_eq!(ed1::decode(part, &special_buffer(stream)).unwrap(), block);

        let arrays: [&[u8]; 3] =
            [bytemuck::cast_slice(ro), bytemuck::cast_slice(co), bytemuck::cast_slice(vl)];
        let sent = arrays.concat();
        assert_eq!(cfs::encode(part, &block).unwrap(), sent);
        assert_eq!(cfs::decode(part, &sent).unwrap(), block);
    }

    let rows: [Sent<'_>; 4] = [
        (&[1, 5, 5], &[0, 1, 2, 3], &[0, 1, 2, 3], &[1., 5., 9., 13.]),
        (&[1, 1, 3], &[10, 11], &[2, 3], &[10., 14.]),
        (&[1, 3, 6], &[4, 5, 0, 4, 5], &[4, 5, 0, 4, 5], &[2., 6., 3., 4., 7.]),
        (&[1, 3, 6], &[10, 11, 13, 14, 15], &[2, 3, 5, 6, 7], &[11., 15., 8., 12., 16.]),
    ];
    for ((part, block), (ro, co, local, vl)) in
        parts.iter().zip(blocks::<Row, B>(backend, &matrix, mesh)).zip(rows)
    {
        assert_block(&block, ro, local, vl);
        assert_eq!(global(part, &block), co);
        let (read, copy) = ed2::read(&ed2::encode(part, &block).unwrap()).unwrap();
        assert_eq!((&read, copy), (part, block));
    }
}

const CRS: ([i32; 10], [i32; 9], [f32; 9]) =
    ([1, 3, 4, 5, 6, 7, 7, 8, 9, 10], [2, 4, 7, 2, 2, 6, 3, 5, 1], [1., 2., 3., 4., 5., 6., 7., 8., 9.]);
const CCS: ([i32; 10], [i32; 9], [f32; 9]) =
    ([1, 1, 2, 5, 6, 7, 8, 9, 10, 10], [8, 0, 2, 3, 6, 0, 7, 4, 1], [9., 1., 4., 5., 7., 2., 8., 6., 3.]);

pub(crate) fn e3_both_orientations<B: Compresses>(backend: &B) {
    let matrix = nine_by_nine();
    for partition in [Partition::rows(1), Partition::rows(3), Partition::cols(3), Partition::mesh(3, 2)] {
        let partition = partition.unwrap();
        let csr: Csr<f32> = whole(backend, &matrix, partition);
        assert_block(&csr, &CRS.0, &CRS.1, &CRS.2);
        let csc: Csc<f32> = whole(backend, &matrix, partition);
        assert_block(&csc, &CCS.0, &CCS.1, &CCS.2);
    }
}

pub(crate) fn e4_row_dispatch_by_rows<B: Compresses>(backend: &B) {
    let (matrix, dispatch) = (nine_by_nine(), Partition::rows(3).unwrap());
    let tasks = blocks::<Row, B>(backend, &matrix, dispatch);
    assert_block(&tasks[0], &[1, 3, 4, 5], &[2, 4, 7, 2], &[1., 2., 3., 4.]);
    assert_block(&tasks[1], &[1, 2, 3, 3], &[2, 6], &[5., 6.]);
    assert_block(&tasks[2], &[1, 2, 3, 4], &[3, 5, 1], &[7., 8., 9.]);

    let table = MergeTable::new(backend, dispatch, (9, 9), &tasks).unwrap();
    assert_eq!(table.counts(), [2, 1, 1, 1, 1, 0, 1, 1, 1]);
    assert_eq!(table.starts(), [0, 2, 3, 4, 5, 6, 6, 7, 8]);
    let inclusive = scanned(backend, (3, 3), ScanOrder::RowMajor, ScanKind::Inclusive, table.counts());
    assert_eq!(inclusive, [2, 3, 4, 5, 6, 6, 7, 8, 9]);
    assert!([1].into_iter().chain(inclusive.iter().map(|sum| sum + 1)).eq(CRS.0));
}

pub(crate) fn e5_row_dispatch_by_columns<B: Compresses>(backend: &B) {
    let (matrix, dispatch) = (nine_by_nine(), Partition::rows(3).unwrap());
    let tasks = blocks::<Col, B>(backend, &matrix, dispatch);
    let expected: [(&[i32], &[i32], &[f32]); 3] = [
        (&[1, 1, 1, 3, 3, 4, 4, 4, 5, 5], &[0, 2, 0, 1], &[1., 4., 2., 3.]),
        (&[1, 1, 1, 2, 2, 2, 2, 3, 3, 3], &[3, 4], &[5., 6.]),
        (&[1, 1, 2, 2, 3, 3, 4, 4, 4, 4], &[8, 6, 7], &[9., 7., 8.]),
    ];
    for ((part, task), (ro, co, vl)) in dispatch.iter((9, 9)).zip(&tasks).zip(expected) {
        assert_eq!((&one_based(task)[..], &global(&part, task)[..], &task.values()[..]), (ro, co, vl));
    }

    let table = MergeTable::new(backend, dispatch, (9, 9), &tasks).unwrap();
    #[rustfmt::skip]
    assert_eq!(table.counts(), [
        0, 0, 2, 0, 1, 0, 0, 1, 0,
        0, 0, 1, 0, 0, 0, 1, 0, 0,
        0, 1, 0, 1, 0, 1, 0, 0, 0,
    ]);
    #[rustfmt::skip]
    assert_eq!(table.starts(), [
        0, 0, 1, 4, 5, 6, 7, 8, 9,
        0, 0, 3, 4, 6, 6, 7, 9, 9,
        0, 0, 4, 4, 6, 6, 8, 9, 9,
    ]);
    let inclusive = scanned(backend, (3, 9), ScanOrder::ColumnMajor, ScanKind::Inclusive, table.counts());
    #[rustfmt::skip]
    assert_eq!(inclusive, [
        0, 0, 3, 4, 6, 6, 7, 9, 9,
        0, 0, 4, 4, 6, 6, 8, 9, 9,
        0, 1, 4, 5, 6, 7, 8, 9, 9,
    ]);
    assert!([1].into_iter().chain(inclusive[18..].iter().map(|sum| sum + 1)).eq(CCS.0));
}

pub(crate) fn e5b_column_dispatch_by_rows<B: Compresses>(backend: &B) {
    let (matrix, dispatch) = (nine_by_nine(), Partition::cols(3).unwrap());
    let table =
        MergeTable::new(backend, dispatch, (9, 9), &blocks::<Row, B>(backend, &matrix, dispatch)).unwrap();
    #[rustfmt::skip]
    assert_eq!(table.counts(), [
        1, 0, 1, 1, 0, 0, 0, 0, 1,
        1, 0, 0, 0, 0, 0, 1, 1, 0,
        0, 1, 0, 0, 1, 0, 0, 0, 0,
    ]);
    #[rustfmt::skip]
    assert_eq!(table.starts(), [
        0, 2, 3, 4, 5, 6, 6, 7, 8,
        1, 2, 4, 5, 5, 6, 6, 7, 9,
        2, 2, 4, 5, 5, 6, 7, 8, 9,
    ]);
    assert!(table.offsets().iter().map(|offset| offset + 1).eq(CRS.0));
}

fn scanned<B: Compresses>(
    backend: &B,
    shape: (usize, usize),
    order: ScanOrder,
    kind: ScanKind,
    input: &[i32],
) -> Vec<i32> {
    let input = backend.upload(input).unwrap();
    let mut output = backend.zeros::<i32>(shape.0 * shape.1).unwrap();
    let (from, to) = (SpaceOf::<B>::view(&input), SpaceOf::<B>::view_mut(&mut output));
    ScanPlan::new(backend, shape, order, kind, &PlanOptions::once()).unwrap().run(from, to).unwrap();
    backend.download(&output).unwrap()
}

const SERIES: [i32; 24] = [6, 3, 1, 0, 2, 4, 5, 7, 1, 7, 4, 6, 2, 5, 3, 0, 3, 0, 5, 4, 6, 1, 7, 2];

pub(crate) fn e6_prefix_sums_of_one_series<B: Compresses>(backend: &B) {
    let scan = |kind| scanned(backend, (1, 8), ScanOrder::Flat, kind, &SERIES[..8]);
    assert_eq!(scan(ScanKind::Inclusive), [6, 9, 10, 10, 12, 16, 21, 28]);
    assert_eq!(scan(ScanKind::Exclusive), [0, 6, 9, 10, 10, 12, 16, 21]);
}

pub(crate) fn e7_prefix_sums_along_rows<B: Compresses>(backend: &B) {
    let scan = |kind| scanned(backend, (3, 8), ScanOrder::RowMajor, kind, &SERIES);
    #[rustfmt::skip]
    assert_eq!(scan(ScanKind::Inclusive), [
         6,  9, 10, 10, 12, 16, 21, 28,
        29, 36, 40, 46, 48, 53, 56, 56,
        59, 59, 64, 68, 74, 75, 82, 84,
    ]);
    #[rustfmt::skip]
    assert_eq!(scan(ScanKind::Exclusive), [
         0,  6,  9, 10, 10, 12, 16, 21,
        28, 29, 36, 40, 46, 48, 53, 56,
        56, 59, 59, 64, 68, 74, 75, 82,
    ]);
}

pub(crate) fn e8_prefix_sums_along_columns<B: Compresses>(backend: &B) {
    let scan = |kind| scanned(backend, (3, 8), ScanOrder::ColumnMajor, kind, &SERIES);
    #[rustfmt::skip]
    assert_eq!(scan(ScanKind::Inclusive), [
         6, 13, 21, 30, 42, 54, 65, 82,
         7, 20, 25, 36, 44, 59, 68, 82,
        10, 20, 30, 40, 50, 60, 75, 84,
    ]);
    #[rustfmt::skip]
    assert_eq!(scan(ScanKind::Exclusive), [
         0, 10, 20, 30, 40, 50, 60, 75,
         6, 13, 21, 30, 42, 54, 65, 82,
         7, 20, 25, 36, 44, 59, 68, 82,
    ]);
}

pub(crate) fn e9_without_prefix_sums<B: Compresses>(backend: &B) {
    let (matrix, dispatch) = (nine_by_nine(), Partition::cols(3).unwrap());
    let counts = |block: &Csc<f32>| pointers::export(block, PtrFlavour::Counts, PtrBase::One).unwrap();
    let tasks = blocks::<Col, B>(backend, &matrix, dispatch);
    assert_eq!(tasks.iter().map(counts).collect::<Vec<_>>(), [[0, 1, 3], [1, 1, 1], [1, 1, 0]]);
    assert_eq!(tasks[0].indices(), &[8, 0, 2, 3]);
    assert_eq!(tasks[1].indices(), &[6, 0, 7]);
    assert_eq!(tasks[2].indices(), &[4, 1]);

    let counted = on(backend, &matrix, |matrix| {
        compress_counted::<_, Col, f32, i32, i32>(backend, matrix, dispatch).unwrap()
    });
    assert_eq!(counted.counts(), [0, 1, 3, 1, 1, 1, 1, 1, 0]);
    assert_eq!((counted.indices(), counted.values()), (&CCS.1[..], &CCS.2[..]));
    assert_eq!(counted.task_starts(), [0, 4, 7, 9]);
    assert_block(&counted.into_compressed().unwrap(), &CCS.0, &CCS.1, &CCS.2);

    let across =
        on(backend, &matrix, |matrix| compress_counted::<_, Row, f32, i32, i32>(backend, matrix, dispatch));
    assert_eq!(
        across.unwrap_err().to_string(),
        "csr by col:3 without prefix sums is not supported: tasks share every row; dispatch rows only, or use prefix sums"
    );
}
