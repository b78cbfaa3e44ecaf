//! The operands of Galerkin products: a stencil on a grid, P to it from a grid of half the extent, and R = Pᵀ.

use crate::arguments::Arguments;
use crate::value::Value;
use crate::workload;
use anyhow::Result;
use sparse_core::{Csr, kron};
use sparse_generate::{stencil_5, stencil_27};

/// Points of a smoke run's grid along an axis.
const SMOKE_POINTS: usize = 10;

/// A Galerkin product.
struct Workload<T: Value> {
    name: &'static str,
    /// Points of the grid along an axis.
    points: usize,
    dimensions: usize,
    stencil: fn(points: usize) -> sparse_core::Result<Csr<T>>,
    /// P along one axis; that of the grid is its Kronecker product with itself.
    prolongation: fn(points: usize) -> sparse_core::Result<Csr<T>>,
}

impl<T: Value> Workload<T> {
    const STENCIL_5: Self = Self {
        name: "stencil_5_aggregated",
        points: 1200,
        dimensions: 2,
        stencil: |points| stencil_5(points, points),
        prolongation: aggregation,
    };

    const STENCIL_27: Self = Self {
        name: "stencil_27_aggregated",
        points: 64,
        dimensions: 3,
        stencil: |points| stencil_27(points, points, points),
        prolongation: aggregation,
    };

    const ALL: [Self; 4] = [
        Self::STENCIL_5,
        Self { name: "stencil_5_interpolated", prolongation: interpolation, ..Self::STENCIL_5 },
        Self::STENCIL_27,
        Self { name: "stencil_27_interpolated", prolongation: interpolation, ..Self::STENCIL_27 },
    ];
}

/// Calls `work` with R, A and P of every selected workload. Entries are small integers and, of interpolations, halves,
/// quarters and eighths, so that sums are exact in any order.
pub(crate) fn for_each<T: Value>(
    arguments: &Arguments,
    mut work: impl FnMut(&str, [&Csr<T>; 3]) -> Result<()>,
) -> Result<()> {
    for workload in Workload::<T>::ALL.iter().filter(|workload| arguments.generates::<T>(workload.name)) {
        let points = if arguments.smoke { SMOKE_POINTS } else { workload.points };
        let a = workload::of_integers(&(workload.stencil)(points)?)?;
        let along = (workload.prolongation)(points)?;
        let p = (1..workload.dimensions).try_fold(along.clone(), |p, _| kron(&p, &along))?;
        work(workload.name, [&workload::transposed(&p)?, &a, &p])?;
    }
    Ok(())
}

/// Neighbours in pairs, each an unknown of the coarse grid.
fn aggregation<T: Value>(points: usize) -> sparse_core::Result<Csr<T>> {
    Csr::from_triplets(points, points.div_ceil(2), (0..points).map(|point| (point, point / 2, T::ONE)))
}

/// Every other point is one of the coarse grid; those between are the means of their neighbours, of which those outside
/// are zero.
fn interpolation<T: Value>(points: usize) -> sparse_core::Result<Csr<T>> {
    let half = T::from_parts(0.5, 0.0);
    let coarse = points.div_ceil(2);
    let entries = (0..points).flat_map(|point| match point % 2 {
        0 => vec![(point, point / 2, T::ONE)],
        _ => vec![(point, point / 2, half), (point, point / 2 + 1, half)],
    });
    Csr::from_triplets(points, coarse, entries.filter(|&(_, unknown, _)| unknown < coarse))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_between_are_means_of_their_neighbours() {
        let p = interpolation::<f32>(4).unwrap();
        let expected = [(0, 0, 1.0), (1, 0, 0.5), (1, 1, 0.5), (2, 1, 1.0), (3, 1, 0.5)];
        assert!(p.triplets().eq(expected));
        let p = aggregation::<f32>(3).unwrap();
        assert!(p.triplets().eq([(0, 0, 1.0), (1, 0, 1.0), (2, 1, 1.0)]));
    }
}
