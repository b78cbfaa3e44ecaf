//! Laplacians on regular grids.

use super::builder::Builder;
use sparse_core::error::{Result, checked_product};
use sparse_core::format::Csr;
use sparse_core::scalar::{Scalar, c64};

/// The 5-point Laplacian on an `nx × ny` grid: 4 on the diagonal, −1 for each neighbour along an axis.
///
/// Point (x, y) is row `x + nx·y`. Neighbours outside the grid are left out (Dirichlet), so that the matrix is
/// symmetric positive definite. The same holds for the other stencils.
///
/// ```
/// let a = sparse_generate::stencil_5::<f64>(3, 2)?; // 6 points
/// assert!(a.major_entries(0).eq([(0, 4.0), (1, -1.0), (3, -1.0)]));
/// # Ok::<(), sparse_core::Error>(())
/// ```
///
/// # Errors
/// [`IndexOverflow`](sparse_core::Error::IndexOverflow) if rows or entries do not fit `i32`.
pub fn stencil_5<T: Scalar>(nx: usize, ny: usize) -> Result<Csr<T>> {
    laplacian([nx, ny, 1], |[dx, dy, dz]| dz == 0 && dx.abs() + dy.abs() <= 1)
}

/// The 9-point Laplacian on an `nx × ny` grid: 8 on the diagonal, −1 for each neighbour, diagonal ones included.
///
/// ```
/// let a = sparse_generate::stencil_9::<f64>(2, 2)?; // every point is a neighbour of every other
/// assert!(a.major_entries(0).eq([(0, 8.0), (1, -1.0), (2, -1.0), (3, -1.0)]));
/// # Ok::<(), sparse_core::Error>(())
/// ```
///
/// # Errors
/// As for [`stencil_5`].
pub fn stencil_9<T: Scalar>(nx: usize, ny: usize) -> Result<Csr<T>> {
    laplacian([nx, ny, 1], |[_, _, dz]| dz == 0)
}

/// The 7-point Laplacian on an `nx × ny × nz` grid: 6 on the diagonal, −1 for each neighbour along an axis.
///
/// Point (x, y, z) is row `x + nx·(y + ny·z)`.
///
/// ```
/// use sparse_core::SparseFormat;
///
/// let a = sparse_generate::stencil_7::<f64>(10, 10, 10)?;
/// assert_eq!((a.nrows(), a.nnz()), (1000, 6400));
/// # Ok::<(), sparse_core::Error>(())
/// ```
///
/// # Errors
/// As for [`stencil_5`].
pub fn stencil_7<T: Scalar>(nx: usize, ny: usize, nz: usize) -> Result<Csr<T>> {
    laplacian([nx, ny, nz], |[dx, dy, dz]| dx.abs() + dy.abs() + dz.abs() <= 1)
}

/// The 27-point stencil of HPCG on an `nx × ny × nz` grid: 26 on the diagonal, −1 for each neighbour, diagonal ones
/// included.
///
/// ```
/// let a = sparse_generate::stencil_27::<f64>(3, 3, 3)?;
/// assert_eq!(a.major_entries(13).count(), 27); // the point in the middle
/// # Ok::<(), sparse_core::Error>(())
/// ```
///
/// # Errors
/// As for [`stencil_5`].
pub fn stencil_27<T: Scalar>(nx: usize, ny: usize, nz: usize) -> Result<Csr<T>> {
    laplacian([nx, ny, nz], |_| true)
}

/// The stencil of all steps within the 3 × 3 × 3 cube that `belongs` accepts, the step to oneself among them.
fn laplacian<T: Scalar>(grid: [usize; 3], belongs: impl Fn([isize; 3]) -> bool) -> Result<Csr<T>> {
    let steps: Vec<[isize; 3]> = cube().filter(|&step| belongs(step)).collect();
    let [nx, ny, nz] = grid;
    let points = checked_product("nx x ny x nz", checked_product("nx x ny", nx, ny)?, nz)?;
    let mut builder = Builder::new(points, points, entries(grid, &steps)?)?;
    let diagonal = T::from_c64(c64::new((steps.len() - 1) as f64, 0.0));
    let neighbour = T::from_c64(c64::new(-1.0, 0.0));
    for point in 0..points {
        let at = [point % nx, point / nx % ny, point / (nx * ny)];
        for &step in &steps {
            if let Some([x, y, z]) = moved(grid, at, step) {
                let value = if step == [0; 3] { diagonal } else { neighbour };
                builder.push(x + nx * (y + ny * z), value);
            }
        }
        builder.end_row();
    }
    builder.finish()
}

/// The steps of a 3 × 3 × 3 cube, in the order of the columns that they lead to.
fn cube() -> impl Iterator<Item = [isize; 3]> {
    let step = -1..=1;
    step.clone().flat_map(move |dz| {
        let step = step.clone();
        step.clone().flat_map(move |dy| step.clone().map(move |dx| [dx, dy, dz]))
    })
}

/// The number of (point, step) pairs that stay on the grid.
fn entries(grid: [usize; 3], steps: &[[isize; 3]]) -> Result<usize> {
    let mut total: usize = 0;
    for step in steps {
        let [x, y, z] = [0, 1, 2].map(|axis| grid[axis].saturating_sub(step[axis].unsigned_abs()));
        total = total.saturating_add(checked_product("points", checked_product("points", x, y)?, z)?);
    }
    Ok(total)
}

/// The point one step away from `at`, unless that leaves the grid.
fn moved(grid: [usize; 3], at: [usize; 3], step: [isize; 3]) -> Option<[usize; 3]> {
    let mut to = at;
    for axis in 0..3 {
        to[axis] = at[axis].checked_add_signed(step[axis]).filter(|&c| c < grid[axis])?;
    }
    Some(to)
}
