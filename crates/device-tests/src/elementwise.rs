//! Sums and element-wise products whose path is cut into many tiles.

use crate::{each_device, values};
use sparse_core::op::{Elementwise, ElementwisePlan};
use sparse_core::reference::Reference;
use sparse_core::{Csr, Host, Index, PlanOptions, SparseFormat};
use sparse_device::{Device, Library};
use sparse_generate::with_row_lengths;

const COLS: usize = 40_000;

/// Short rows, among them one of `long` entries and many without any.
fn matrix<I: Index>(long_row: usize, long: usize, seed: u64) -> Csr<f64, Host, I, I> {
    let length = |row: usize| match row {
        _ if row == long_row => long,
        1000..9000 => 0,
        _ => row * 7 % 12,
    };
    let lengths: Vec<usize> = (0..12_000).map(length).collect();
    let a: Csr<f64> = with_row_lengths(&lengths, COLS, seed).unwrap();
    let wide = |indices: &[i32]| indices.iter().map(|i| I::try_new("index", i.as_usize()).unwrap()).collect();
    Csr::new(a.nrows(), COLS, wide(a.offsets()), wide(a.indices()), values(a.nnz(), 3)).unwrap()
}

fn compare<I: Index>(backend: &Device, a: &Csr<f64, Host, I, I>, b: &Csr<f64, Host, I, I>) {
    let (device_a, device_b) = (a.to_device(backend).unwrap(), b.to_device(backend).unwrap());
    for op in Elementwise::ALL {
        let options = PlanOptions::default();
        let mut expected = ElementwisePlan::new(&Reference, op, a, b, &options).unwrap();
        let mut plan = ElementwisePlan::new(backend, op, &device_a, &device_b, &options).unwrap();
        for (alpha, beta) in [(2.0, -1.0), (1.0, 3.0)] {
            let found = plan.run(alpha, &device_a, beta, &device_b).unwrap().to_host(backend).unwrap();
            assert_eq!(found, expected.run(alpha, a, beta, b).unwrap(), "{op} {alpha} {beta}");
        }
    }
}

fn compare_all<I: Index>(backend: &Device) {
    let a = matrix::<I>(500, 20_000, 1);
    compare(backend, &a, &a);
    compare(backend, &a, &matrix(500, 9_001, 2));
    compare(backend, &a, &matrix(11_999, 30_000, 3));
}

/// Long rows, rows without entries, and entries of both matrices in one place at the borders of tiles, in two runs.
pub fn sums_and_products_of_many_tiles_are_those_of_the_reference(library: &Library) {
    each_device(library, |backend| {
        compare_all::<i32>(backend);
        compare_all::<i64>(backend);
    });
}
