//! sprs: one thread, any index type.

use crate::measure::Contender;
use crate::sparse_product::chained;
use anyhow::{Result, anyhow};
use ndarray::{ArrayView2, ArrayViewMut2};
use sparse_core::{Coo, Csr};
use sprs::linalg::trisolve::lsolve_csr_dense_rhs;
use sprs::{CsMatI, TriMatI};
use std::hint::black_box;

fn matrix(a: &Csr<f32>) -> Result<CsMatI<f32, i32>> {
    let parts = (a.row_ptr().clone(), a.col_idx().clone(), a.values().clone());
    CsMatI::try_new((a.nrows(), a.ncols()), parts.0, parts.1, parts.2)
        .map_err(|(_, _, _, error)| anyhow!("sprs refuses the matrix: {error}"))
}

pub(crate) fn spmv<'a>(a: &Csr<f32>, x: &'a [f32]) -> Result<Contender<'a>> {
    let mut y = vec![0.0; a.nrows()];
    let a = matrix(a)?;
    Ok(Contender::new("sprs", move || {
        y.fill(0.0);
        sprs::prod::mul_acc_mat_vec_csr(a.view(), x, &mut y[..]);
        Ok(())
    }))
}

pub(crate) fn spmm<'a>(a: &Csr<f32>, b: &'a [f32], columns: usize) -> Result<Contender<'a>> {
    let (rows, cols) = (a.nrows(), a.ncols());
    let mut c = vec![0.0; rows * columns];
    let a = matrix(a)?;
    Ok(Contender::new("sprs", move || {
        c.fill(0.0);
        let b = ArrayView2::from_shape((cols, columns), b)?;
        let c = ArrayViewMut2::from_shape((rows, columns), &mut c[..])?;
        sprs::prod::csr_mulacc_dense_rowmaj(a.view(), b, c);
        Ok(())
    }))
}

/// The product of the factors, from the last two on.
pub(crate) fn spgemm(factors: &[&Csr<f32>]) -> Result<Contender<'static>> {
    let factors = factors.iter().map(|a| matrix(a)).collect::<Result<Vec<_>>>()?;
    Ok(Contender::new("sprs", move || {
        let factors: Vec<_> = factors.iter().collect();
        black_box(chained(&factors, |a, b| Ok(a * b))?);
        Ok(())
    }))
}

pub(crate) fn add(a: &Csr<f32>, b: &Csr<f32>) -> Result<Contender<'static>> {
    let (a, b) = (matrix(a)?, matrix(b)?);
    Ok(Contender::new("sprs", move || {
        black_box(&a + &b);
        Ok(())
    }))
}

pub(crate) fn trisolve<'a>(l: &Csr<f32>, b: &'a [f32]) -> Result<Contender<'a>> {
    let (l, mut x) = (matrix(l)?, b.to_vec());
    Ok(Contender::new("sprs", move || {
        x.copy_from_slice(b);
        lsolve_csr_dense_rhs(l.view(), &mut x[..])?;
        Ok(())
    }))
}

pub(crate) fn coo_to_csr(coo: &Coo<f32>) -> Contender<'static> {
    let arrays = (coo.row_idx().clone(), coo.col_idx().clone(), coo.values().clone());
    let triplets = TriMatI::from_triplets((coo.nrows(), coo.ncols()), arrays.0, arrays.1, arrays.2);
    Contender::new("sprs", move || {
        black_box(triplets.to_csr::<i32>());
        Ok(())
    })
}

pub(crate) fn dense_to_csr(dense: &[f32], n: usize) -> Result<Contender<'_>> {
    let view = ArrayView2::from_shape((n, n), dense)?;
    Ok(Contender::new("sprs", move || {
        black_box(CsMatI::<f32, i32>::csr_from_dense(view, 0.0));
        Ok(())
    }))
}
