//! Matrices whose rows have few patterns and fill a device, which conformance cases do not.

use backend_cuda::Device;
use device_tests::{Library, values};
use sparse_core::op::{Op, Operations, SpmvPlan};
use sparse_core::reference::Reference;
use sparse_core::{Backend, Csr, PlanOptions, Scalar, Space, SparseFormat, c32, c64, f16};

/// Points of a grid of two dimensions along its first axis.
const SIDE: i32 = 331;

/// Steps along both axes from a point to its neighbours, two or three of them at its own row, and none twice.
fn neighbours(count: i32) -> impl Iterator<Item = (i32, i32)> {
    (0..count).map(move |k| (k % 3 - 1, k / 3 - count / 6))
}

/// The matrix of `points` points with up to `count` neighbours each, and small integers as values. Rows end at any
/// position of a word. The last entry is in another column if it `is_moved`; then one row more has a pattern of its
/// own.
fn grid<T: Scalar>(points: i32, count: i32, is_moved: bool) -> Csr<T> {
    let mut offsets = vec![0];
    let mut indices = Vec::new();
    for point in 0..points {
        let is_inside = |(across, along): (i32, i32)| {
            let place = point % SIDE + across;
            let column = point + across + along * SIDE;
            ((0..SIDE).contains(&place) && (0..points).contains(&column)).then_some(column)
        };
        indices.extend(neighbours(count).filter_map(is_inside));
        offsets.push(indices.len() as i32);
    }
    if is_moved {
        *indices.last_mut().unwrap() = 0;
    }
    let (n, count) = (points as usize, indices.len());
    Csr::new_unsorted(n, n, offsets, indices, values(count, 5)).unwrap()
}

/// Products of grids, whose patterns plans of many calls find, of x and y that begin at any element.
pub(super) fn rows_of_grids_have_exact_products(library: &Library) {
    let backend = library.open(0).unwrap();
    for count in [3, 9, 27, 70] {
        has_exact_product::<f32>(&backend, count);
        has_exact_product::<f64>(&backend, count);
        has_exact_product::<c32>(&backend, count);
        has_exact_product::<c64>(&backend, count);
        has_exact_product::<f16>(&backend, count);
    }
}

/// Checks products with integers, which every order of additions has exactly.
fn has_exact_product<T: Scalar>(backend: &Device, count: i32) {
    for (is_moved, op, start) in
        [(false, Op::None, 0), (true, Op::None, 1), (false, Op::ConjugateTranspose, 3)]
    {
        let host = grid::<T>(70_001, count, is_moved);
        let n = host.nrows();
        let a = host.to_device(backend).unwrap();
        let (x, y) = (values::<T>(start + n, 1), values::<T>(start + n, 2));
        let (factor, mut expected) = (values::<T>(1, 3)[0].to_acc(), y.clone());
        Operations::spmv(&Reference, op, factor, &host, &x[start..], factor, &mut expected[start..]).unwrap();
        let options = match op {
            Op::None => PlanOptions::forced("row_patterns"),
            _ => PlanOptions { expected_calls: 100, ..PlanOptions::default() },
        };
        let on_x = backend.upload(&x).unwrap();
        let mut plan = SpmvPlan::new(backend, &a, op, &options).unwrap();
        let what = format!("{} of {count} points, op={op}, from {start}: {}", T::DTYPE, plan.choice());
        for _ in 0..2 {
            let mut on_y = backend.upload(&y).unwrap();
            let x = Device::slice(Device::view(&on_x), start..start + n);
            let to = Device::slice_mut(Device::view_mut(&mut on_y), start..start + n);
            plan.run(factor, &a, x, factor, to).unwrap();
            assert!(backend.download(&on_y).unwrap() == expected, "{what}");
        }
    }
}

/// A plan of many calls finds the patterns of a grid, but not more than 192 of them, nor those of rows of 257 entries.
pub(super) fn many_patterns_are_left_to_other_algorithms(library: &Library) {
    let backend = library.open(0).unwrap();
    let often = PlanOptions { expected_calls: 100, ..PlanOptions::default() };
    let chosen = |a: &Csr<f64>| {
        let a = a.to_device(&backend).unwrap();
        SpmvPlan::new(&backend, &a, Op::None, &often).unwrap().choice().algorithm
    };
    let forced = |a: &Csr<f64>| {
        let a = a.to_device(&backend).unwrap();
        SpmvPlan::new(&backend, &a, Op::None, &PlanOptions::forced("row_patterns")).is_ok()
    };
    // Rows with a gap behind their first entry, of one of `gaps` widths, the last of which the last rows alone have.
    let with_gaps = |gaps: i32| {
        let gap = |row: i32| if row < 80_000 - gaps { row % (gaps - 1) } else { gaps - 1 };
        let columns = (0..80_000).flat_map(|row| [row, row + 1 + gap(row), row + 300]);
        let offsets = (0..=80_000).map(|row| 3 * row).collect();
        Csr::new(80_000, 80_300, offsets, columns.collect(), values(240_000, 5)).unwrap()
    };
    assert_eq!(chosen(&grid(300_000, 5, false)), "row_patterns");
    assert_eq!(chosen(&with_gaps(192)), "row_patterns");
    assert_ne!(chosen(&with_gaps(193)), "row_patterns");
    assert!(forced(&with_gaps(192)) && !forced(&with_gaps(193)));
    let band = |width: i32| {
        let columns = (0..1000).flat_map(|row| row..row + width).collect();
        let offsets = (0..=1000).map(|row| row * width).collect();
        Csr::new(1000, 1000 + width as usize, offsets, columns, values(1000 * width as usize, 5)).unwrap()
    };
    assert!(forced(&band(256)) && !forced(&band(257)));
}
