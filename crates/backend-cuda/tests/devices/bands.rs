//! Matrices that are a little larger than the second cache, which conformance cases are not.

use backend_cuda::Device;
use device_tests::Library;
use sparse_core::op::{Op, SpmvPlan};
use sparse_core::{Backend, Csr, PlanOptions, Scalar, Space, SparseFormat};

/// Bytes of an entry's column as a delta.
const DELTA_BYTES: usize = 2;

/// Bytes of a band: more than the second caches of an H100 and an H200, and less than twice as many.
const BYTES: usize = 80 << 20;

/// Products of bands by one lane a row and by several, which a plan of many calls reads with columns of 16 bits.
pub(super) fn bands_larger_than_the_cache_have_exact_products(library: &Library) {
    let backend = library.open(0).unwrap();
    for width in [5, 21, 120] {
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
    let options = PlanOptions { expected_calls: 100, ..PlanOptions::default() };
    let mut plan = SpmvPlan::new(backend, &a, Op::None, &options).unwrap();
    assert_eq!(plan.choice().algorithm, "delta16", "{width} entries");
    for _ in 0..2 {
        plan.run(of(1), &a, Device::view(&x), of(0), Device::view_mut(&mut y)).unwrap();
        assert!(backend.download(&y).unwrap() == expected, "{width} entries of {} bytes", size_of::<T>());
    }
}
