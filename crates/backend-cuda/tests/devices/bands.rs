//! Matrices that are a little larger than the L2 cache, or have more rows than run at once, or blocks of them, which
//! conformance cases are and have not.

use backend_cuda::Device;
use device_tests::Library;
use sparse_core::op::{Op, SpmmPlan, SpmvPlan};
use sparse_core::{Backend, Csr, DenseView, DenseViewMut, Order, PlanOptions, Scalar, Space, SparseFormat};

/// Bytes of an entry's column as a delta.
const DELTA_BYTES: usize = 2;

/// Bytes of a band: more than the L2 caches of an H100 and an H200, and less than twice as many.
const BYTES: usize = 80 << 20;

/// Products of bands by one lane a row and by several: by patterns of rows, which a plan of many calls finds, and with
/// columns of 16 bits.
pub(super) fn bands_larger_than_the_cache_have_exact_products(library: &Library) {
    let backend = library.open(0).unwrap();
    for width in [5, 12, 21, 120] {
        has_exact_product(&backend, width, |number| number as f32);
        has_exact_product(&backend, width, |number| number as f64);
    }
}

/// Checks `A·x` of integers, which every order of additions has exactly.
fn has_exact_product<T: Scalar<Acc = T>>(backend: &Device, width: usize, of: impl Fn(usize) -> T) {
    let row_bytes = width * (size_of::<T>() + DELTA_BYTES) + size_of::<i32>() + 2 * size_of::<T>();
    let rows = BYTES / row_bytes;
    let cols = rows + width - 1;
    let value = |k: usize| k % 7 + 1;
    let element = |col: usize| col % 5 + 1;
    let offsets = (0..=rows).map(|row| (row * width) as i32).collect();
    let indices = (0..rows * width).map(|k| (k / width + k % width) as i32).collect();
    let a =
        Csr::new(rows, cols, offsets, indices, (0..rows * width).map(|k| of(value(k))).collect()).unwrap();
    let expected: Vec<T> = (0..rows)
        .map(|row| of((0..width).map(|j| value(row * width + j) * element(row + j)).sum()))
        .collect();

    let a = a.to_device(backend).unwrap();
    let x = backend.upload(&(0..cols).map(|col| of(element(col))).collect::<Vec<_>>()).unwrap();
    let mut y = backend.zeros::<T>(rows).unwrap();
    let often = PlanOptions { expected_calls: 100, ..PlanOptions::default() };
    for (options, algorithm) in [(often, "row_patterns"), (PlanOptions::forced("delta16"), "delta16")] {
        let mut plan = SpmvPlan::new(backend, &a, Op::None, &options).unwrap();
        assert_eq!(plan.choice().algorithm, algorithm, "{width} entries");
        for _ in 0..2 {
            plan.run(of(1), &a, Device::view(&x), of(0), Device::view_mut(&mut y)).unwrap();
            assert!(backend.download(&y).unwrap() == expected, "{width} entries of {} bytes", size_of::<T>());
        }
    }
}

/// Products with blocks of 16 rows that have the same columns, apart from those of the next block: all but the first
/// row of each are like the row before it, so that a plan of many calls reads columns of 16 bits.
pub(super) fn rows_of_blocks_are_like_each_other(library: &Library) {
    const BLOCKS: usize = 8_000;
    const SIDE: usize = 16;
    const LENGTH: usize = 24;
    const STEP: usize = 30_000;
    let backend = library.open(0).unwrap();
    let rows = BLOCKS * SIDE;
    let column = |k: usize| {
        let (block, j) = (k / LENGTH / SIDE, k % LENGTH);
        block % 2 * STEP + block % 1000 + 3 * j
    };
    let value = |k: usize| k % 7 + 1;
    let element = |col: usize| col % 5 + 1;
    let offsets = (0..=rows).map(|row| (row * LENGTH) as i32).collect();
    let indices = (0..rows * LENGTH).map(|k| column(k) as i32).collect();
    let values = (0..rows * LENGTH).map(|k| value(k) as f64).collect();
    let cols = 2 * STEP;
    let a = Csr::new(rows, cols, offsets, indices, values).unwrap().to_device(&backend).unwrap();
    let x = backend.upload(&(0..cols).map(|col| element(col) as f64).collect::<Vec<_>>()).unwrap();
    let mut y = backend.zeros::<f64>(rows).unwrap();
    let options = PlanOptions { expected_calls: 100, ..PlanOptions::default() };
    let mut plan = SpmvPlan::new(&backend, &a, Op::None, &options).unwrap();
    assert_eq!(plan.choice().algorithm, "delta16");
    plan.run(1.0, &a, Device::view(&x), 0.0, Device::view_mut(&mut y)).unwrap();
    let sum =
        |row: usize| (row * LENGTH..(row + 1) * LENGTH).map(|k| value(k) * element(column(k))).sum::<usize>();
    assert!(backend.download(&y).unwrap() == (0..rows).map(|row| sum(row) as f64).collect::<Vec<_>>());
}

/// Products of many rows of 24 to 40 entries and few columns of B, whose chunks two lanes read in words: rows begin at
/// any position, and none has columns in common with its neighbours, whose panels would be chosen otherwise.
pub(super) fn long_rows_and_few_columns_have_exact_products(library: &Library) {
    const ROWS: usize = 50_000;
    const STEP: usize = 1_500;
    let backend = library.open(0).unwrap();
    let length = |row: usize| 24 + row * 7 % 17;
    let column = |row: usize, j: usize| j * STEP + row * 7 % STEP;
    let value = |row: usize, j: usize| (row + 3 * j) % 9 + 1;
    let element = |row: usize, col: usize| (row + 2 * col) % 5 + 1;
    let rows_of = |of: fn(usize, usize) -> usize| move |row| (0..length(row)).map(move |j| of(row, j));
    let offsets: Vec<i32> = std::iter::once(0)
        .chain((0..ROWS).scan(0, |end, row| {
            *end += length(row) as i32;
            Some(*end)
        }))
        .collect();
    let indices = (0..ROWS).flat_map(rows_of(column)).map(|col| col as i32).collect();
    let values = (0..ROWS).flat_map(rows_of(value)).map(|value| value as f32).collect();
    let cols = 40 * STEP;
    let a = Csr::new(ROWS, cols, offsets, indices, values).unwrap().to_device(&backend).unwrap();
    for columns in [3, 4, 8] {
        let b: Vec<f32> = (0..cols * columns).map(|at| element(at / columns, at % columns) as f32).collect();
        let sum = |row: usize, col: usize| {
            (0..length(row)).map(|j| value(row, j) * element(column(row, j), col)).sum::<usize>()
        };
        let expected: Vec<f32> =
            (0..ROWS * columns).map(|at| sum(at / columns, at % columns) as f32).collect();
        let b = backend.upload(&b).unwrap();
        let mut c = backend.zeros::<f32>(ROWS * columns).unwrap();
        let options = PlanOptions { expected_calls: 100, ..PlanOptions::default() };
        let mut plan = SpmmPlan::new(&backend, &a, Op::None, columns, &options).unwrap();
        assert_eq!(plan.choice().algorithm, "row_split", "{columns} columns");
        let b = DenseView::new(Device::view(&b), cols, columns, columns, Order::RowMajor).unwrap();
        let to = Device::view_mut(&mut c);
        let to = DenseViewMut::new(to, ROWS, columns, columns, Order::RowMajor).unwrap();
        plan.run(1.0, &a, b, 0.0, to).unwrap();
        assert!(backend.download(&c).unwrap() == expected, "{columns} columns");
    }
}
