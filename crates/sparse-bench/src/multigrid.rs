//! The operands of Galerkin products: a stencil on a grid, P to it from a grid of half the extent, and R = Pᵀ.

use crate::arguments::Arguments;
use crate::workload;
use anyhow::Result;
use sparse_core::{Csr, kron};
use sparse_generate::{stencil_5, stencil_27};

/// Points of a smoke run's grid along an axis.
const SMOKE_POINTS: usize = 10;

/// A Galerkin product.
struct Workload {
    name: &'static str,
    /// Points of the grid along an axis.
    points: usize,
    dimensions: usize,
    stencil: fn(points: usize) -> sparse_core::Result<Csr<f32>>,
    /// P along one axis; that of the grid is its Kronecker product with itself.
    prolongation: fn(points: usize) -> sparse_core::Result<Csr<f32>>,
}

const STENCIL_5: Workload = Workload {
    name: "stencil_5_aggregated",
    points: 1200,
    dimensions: 2,
    stencil: |points| stencil_5(points, points),
    prolongation: aggregation,
};

const STENCIL_27: Workload = Workload {
    name: "stencil_27_aggregated",
    points: 64,
    dimensions: 3,
    stencil: |points| stencil_27(points, points, points),
    prolongation: aggregation,
};

const ALL: [Workload; 4] = [
    STENCIL_5,
    Workload { name: "stencil_5_interpolated", prolongation: interpolation, ..STENCIL_5 },
    STENCIL_27,
    Workload { name: "stencil_27_interpolated", prolongation: interpolation, ..STENCIL_27 },
];

/// Calls `work` with R, A and P of every selected workload. Entries are small integers and, of interpolations, halves,
/// quarters and eighths, so that sums are exact in any order.
pub(crate) fn for_each(
    arguments: &Arguments,
    mut work: impl FnMut(&str, [&Csr<f32>; 3]) -> Result<()>,
) -> Result<()> {
    for workload in ALL.iter().filter(|workload| arguments.wants(workload.name)) {
        let points = if arguments.smoke { SMOKE_POINTS } else { workload.points };
        let a = workload::of_integers(&(workload.stencil)(points)?)?;
        let along = (workload.prolongation)(points)?;
        let p = (1..workload.dimensions).try_fold(along.clone(), |p, _| kron(&p, &along))?;
        work(workload.name, [&workload::transposed(&p)?, &a, &p])?;
    }
    Ok(())
}

/// Neighbours in pairs, each an unknown of the coarse grid.
fn aggregation(points: usize) -> sparse_core::Result<Csr<f32>> {
    Csr::from_triplets(points, points.div_ceil(2), (0..points).map(|point| (point, point / 2, 1.0)))
}

/// Every other point is one of the coarse grid; those between are the means of their neighbours, of which those outside
/// are zero.
fn interpolation(points: usize) -> sparse_core::Result<Csr<f32>> {
    let coarse = points.div_ceil(2);
    let entries = (0..points).flat_map(|point| match point % 2 {
        0 => vec![(point, point / 2, 1.0)],
        _ => vec![(point, point / 2, 0.5), (point, point / 2 + 1, 0.5)],
    });
    Csr::from_triplets(points, coarse, entries.filter(|&(_, unknown, _)| unknown < coarse))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_between_are_means_of_their_neighbours() {
        let p = interpolation(4).unwrap();
        let expected = [(0, 0, 1.0), (1, 0, 0.5), (1, 1, 0.5), (2, 1, 1.0), (3, 1, 0.5)];
        assert!(p.triplets().eq(expected));
        let p = aggregation(3).unwrap();
        assert!(p.triplets().eq([(0, 0, 1.0), (1, 0, 1.0), (2, 1, 1.0)]));
    }
}
