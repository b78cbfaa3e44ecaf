//! sprs: one thread, any index type.

use crate::measure::Contender;
use crate::sparse_product::chained;
use crate::value::Value;
use anyhow::{Result, anyhow, ensure};
use ndarray::{ArrayView2, ArrayViewMut2};
use sparse_core::{Coo, Csr};
use sprs::binop::csmat_binop;
use sprs::smmp::mul_csr_csr;
use sprs::{CsMatI, TriMatI};
use std::hint::black_box;

fn matrix<T: Value>(a: &Csr<T>) -> Result<CsMatI<T, i32>> {
    let parts = (a.row_ptr().clone(), a.col_idx().clone(), a.values().clone());
    CsMatI::try_new((a.nrows(), a.ncols()), parts.0, parts.1, parts.2)
        .map_err(|(_, _, _, error)| anyhow!("sprs refuses the matrix: {error}"))
}

pub(crate) fn spmv<'a, T: Value>(a: &Csr<T>, x: &'a [T]) -> Result<Contender<'a>> {
    let mut y = vec![T::ZERO; a.nrows()];
    let a = matrix(a)?;
    Ok(Contender::new("sprs", move || {
        y.fill(T::ZERO);
        sprs::prod::mul_acc_mat_vec_csr(a.view(), x, &mut y[..]);
        Ok(())
    }))
}

pub(crate) fn spmm<'a, T: Value>(a: &Csr<T>, b: &'a [T], columns: usize) -> Result<Contender<'a>> {
    let (rows, cols) = (a.nrows(), a.ncols());
    let mut c = vec![T::ZERO; rows * columns];
    let a = matrix(a)?;
    Ok(Contender::new("sprs", move || {
        c.fill(T::ZERO);
        let b = ArrayView2::from_shape((cols, columns), b)?;
        let c = ArrayViewMut2::from_shape((rows, columns), &mut c[..])?;
        sprs::prod::csr_mulacc_dense_rowmaj(a.view(), b, c);
        Ok(())
    }))
}

/// The product of the factors, from the last two on.
pub(crate) fn spgemm<T: Value>(factors: &[&Csr<T>]) -> Result<Contender<'static>> {
    let factors = factors.iter().map(|a| matrix(a)).collect::<Result<Vec<_>>>()?;
    Ok(Contender::new("sprs", move || {
        let factors: Vec<_> = factors.iter().collect();
        black_box(chained(&factors, |a, b| Ok(mul_csr_csr(a.view(), b.view())))?);
        Ok(())
    }))
}

pub(crate) fn add<T: Value>(a: &Csr<T>, b: &Csr<T>) -> Result<Contender<'static>> {
    let (a, b) = (matrix(a)?, matrix(b)?);
    Ok(Contender::new("sprs", move || {
        black_box(csmat_binop(a.view(), b.view(), |a, b| *a + *b));
        Ok(())
    }))
}

pub(crate) fn trisolve<'a, T: Value>(l: &Csr<T>, b: &'a [T]) -> Result<Contender<'a>> {
    let (l, mut x) = (matrix(l)?, b.to_vec());
    Ok(Contender::new("sprs", move || {
        x.copy_from_slice(b);
        T::solve_by_sprs(l.view(), &mut x)?;
        Ok(())
    }))
}

pub(crate) fn coo_to_csr<T: Value>(coo: &Coo<T>) -> Contender<'static> {
    let arrays = (coo.row_idx().clone(), coo.col_idx().clone(), coo.values().clone());
    let triplets = TriMatI::from_triplets((coo.nrows(), coo.ncols()), arrays.0, arrays.1, arrays.2);
    Contender::new("sprs", move || {
        black_box(triplets.to_csr::<i32>());
        Ok(())
    })
}

pub(crate) fn dense_to_csr<T: Value>(dense: &[T], n: usize) -> Result<Contender<'_>> {
    let view = ArrayView2::from_shape((n, n), dense)?;
    ensure!(!T::COMPLEX, "sprs: it compresses real matrices only");
    Ok(Contender::new("sprs", move || {
        black_box(T::compress_by_sprs(view));
        Ok(())
    }))
}
