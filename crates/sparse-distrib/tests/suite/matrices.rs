//! Matrices and comparisons that several tests use.

use sparse_core::{Axis, Compressed, Dense, Order};
use sparse_distrib::Part;

/// A row-major matrix from its nonzeros.
pub(crate) fn dense(rows: usize, cols: usize, nonzeros: &[(usize, usize, f32)]) -> Dense<f32> {
    let mut elements = vec![0.0; rows * cols];
    nonzeros.iter().for_each(|&(i, j, value)| elements[i * cols + j] = value);
    Dense::new(elements, rows, cols, Order::RowMajor).unwrap()
}

/// Ten rows, eight columns and sixteen nonzeros, numbered row by row.
pub(crate) fn ten_by_eight() -> Dense<f32> {
    let places = [
        (0, 1),
        (1, 6),
        (2, 0),
        (2, 7),
        (3, 5),
        (4, 3),
        (5, 4),
        (6, 6),
        (7, 4),
        (7, 7),
        (8, 1),
        (8, 2),
        (8, 4),
        (9, 0),
        (9, 3),
        (9, 6),
    ];
    let nonzeros: Vec<_> = places.iter().zip(1_u8..).map(|(&(i, j), v)| (i, j, f32::from(v))).collect();
    dense(10, 8, &nonzeros)
}

/// Nine rows and columns, of which row 5 and columns 0 and 8 are nearly or wholly empty.
pub(crate) fn nine_by_nine() -> Dense<f32> {
    let places = [(0, 2), (0, 4), (1, 7), (2, 2), (3, 2), (4, 6), (6, 3), (7, 5), (8, 1)];
    let nonzeros: Vec<_> = places.iter().zip(1_u8..).map(|(&(i, j), v)| (i, j, f32::from(v))).collect();
    dense(9, 9, &nonzeros)
}

/// The part of a compressed matrix, with local indices: the oracle.
pub(crate) fn slice<A: Axis>(whole: &Compressed<A, f32>, part: &Part) -> Compressed<A, f32> {
    let (major, minor) = part.major_minor::<A>();
    let (mut offsets, mut indices, mut values) = (vec![0], vec![], vec![]);
    for k in major {
        for (j, value) in whole.major_entries(k).filter(|(j, _)| minor.contains(j)) {
            indices.push((j - minor.start) as i32);
            values.push(value);
        }
        offsets.push(values.len() as i32);
    }
    let (rows, cols) = part.shape();
    Compressed::new(rows, cols, offsets, indices, values).unwrap()
}

/// True if two matrices have the same bits; NaN is then equal to itself.
pub(crate) fn same<A: Axis>(a: &Compressed<A, f32>, b: &Compressed<A, f32>) -> bool {
    let bits = |m: &Compressed<A, f32>| m.values().iter().map(|v| v.to_bits()).collect::<Vec<_>>();
    a.shape() == b.shape() && a.offsets() == b.offsets() && a.indices() == b.indices() && bits(a) == bits(b)
}
