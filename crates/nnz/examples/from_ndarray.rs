//! From an `ndarray` to CSR, a product, and back, without a copy of the dense operands.
//!
//! `cargo run -p nnz --example from_ndarray`
#![allow(clippy::print_stdout, reason = "an example prints")]

use ndarray::{Array2, ArrayView2, array};
use nnz::op::Keep;
use nnz::prelude::*;
use std::error::Error;

/// The memory of an array in either order.
fn view<'a>(array: &'a ArrayView2<'_, f64>) -> Result<DenseView<'a, f64>, Box<dyn Error>> {
    let (rows, cols) = array.dim();
    if let Some(data) = array.as_slice() {
        return Ok(DenseView::row_major(data, rows, cols)?);
    }
    let data = array.t().to_slice().ok_or("the array is neither row-major nor column-major")?;
    Ok(DenseView::col_major(data, rows, cols)?)
}

/// The non-zeros of `a` as CSR, times `b`.
pub(crate) fn multiply(
    cpu: &Cpu,
    a: ArrayView2<'_, f64>,
    b: ArrayView2<'_, f64>,
) -> Result<Array2<f64>, Box<dyn Error>> {
    let a: Csr<f64> = cpu.dense_to_csr(view(&a)?, Keep::NonZero)?;
    let mut c = Dense::zeros(a.nrows(), b.ncols(), Order::RowMajor)?;
    cpu.spmm(Op::None, 1.0, &a, view(&b)?, 0.0, c.as_view_mut())?;
    Ok(Array2::from_shape_vec((c.nrows(), c.ncols()), c.into_data())?)
}

fn main() -> Result<(), Box<dyn Error>> {
    let a = array![[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]];
    let b = array![[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]];
    println!("{}", multiply(&Cpu::new()?, a.view(), b.view())?);
    Ok(())
}
