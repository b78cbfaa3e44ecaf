//! faer: rayon where it has a parallel form, unsigned 32-bit indices.

use super::parts;
use crate::measure::Contender;
use crate::sparse_product::chained;
use crate::value::Value;
use anyhow::Result;
use faer::sparse::linalg::matmul::{sparse_dense_matmul, sparse_sparse_matmul};
use faer::sparse::linalg::triangular_solve::solve_lower_triangular_in_place;
use faer::sparse::{SparseColMat, SparseRowMat, SymbolicSparseRowMat, Triplet, ops};
use faer::{Accum, Conj, Mat, MatMut, MatRef, Par};
use sparse_core::{Coo, Csr};
use std::hint::black_box;

fn matrix<T: Value>(a: &Csr<T>) -> SparseRowMat<u32, T> {
    let (row_ptr, col_idx, values) = parts::<u32, T>(a);
    let symbolic = SymbolicSparseRowMat::new_unsorted_checked(a.nrows(), a.ncols(), row_ptr, None, col_idx);
    SparseRowMat::new(symbolic, values)
}

pub(crate) fn spmv<'a, T: Value>(a: &Csr<T>, x: &'a [T]) -> Contender<'a> {
    let mut y = vec![T::ZERO; a.nrows()];
    let a = matrix(a);
    Contender::new("faer", move || {
        let x = MatRef::from_column_major_slice(x, x.len(), 1);
        let rows = y.len();
        let y = MatMut::from_column_major_slice_mut(&mut y, rows, 1);
        sparse_dense_matmul(y, Accum::Replace, a.as_ref(), x, T::ONE, Par::rayon(0));
        Ok(())
    })
}

pub(crate) fn spmm<T: Value>(a: &Csr<T>, b: &[T], columns: usize) -> Contender<'static> {
    let b = MatRef::from_row_major_slice(b, a.ncols(), columns).to_owned();
    let mut c = Mat::<T>::zeros(a.nrows(), columns);
    let a = matrix(a);
    Contender::new("faer", move || {
        sparse_dense_matmul(c.as_mut(), Accum::Replace, a.as_ref(), b.as_ref(), T::ONE, Par::rayon(0));
        black_box(&c);
        Ok(())
    })
}

/// The product of the factors, from the last two on. Rows are columns of the transpose: `Bᵀ·Aᵀ = (A·B)ᵀ`.
pub(crate) fn spgemm<T: Value>(factors: &[&Csr<T>]) -> Contender<'static> {
    let transposes: Vec<_> = factors.iter().map(|a| matrix(a).into_transpose()).collect();
    Contender::new("faer", move || {
        let transposes: Vec<_> = transposes.iter().collect();
        let multiply = |a: &SparseColMat<u32, T>, b: &SparseColMat<u32, T>| {
            Ok(sparse_sparse_matmul(b.as_ref(), a.as_ref(), T::ONE, Par::rayon(0))?)
        };
        black_box(chained(&transposes, multiply)?);
        Ok(())
    })
}

pub(crate) fn add<T: Value>(a: &Csr<T>, b: &Csr<T>) -> Contender<'static> {
    let (a, b) = (matrix(a), matrix(b));
    Contender::new("faer", move || {
        black_box(ops::add(a.as_ref().transpose(), b.as_ref().transpose())?);
        Ok(())
    })
}

pub(crate) fn trisolve<'a, T: Value>(l: &Csr<T>, b: &'a [T]) -> Result<Contender<'a>> {
    let (l, mut x) = (matrix(l).as_ref().to_col_major()?, b.to_vec());
    Ok(Contender::new("faer", move || {
        x.copy_from_slice(b);
        let rows = x.len();
        let x = MatMut::from_column_major_slice_mut(&mut x, rows, 1);
        solve_lower_triangular_in_place(l.as_ref(), Conj::No, x, Par::rayon(0));
        Ok(())
    }))
}

pub(crate) fn coo_to_csr<T: Value>(coo: &Coo<T>) -> Contender<'static> {
    let triplets: Vec<_> = coo.triplets().map(|(i, j, v)| Triplet::new(i as u32, j as u32, v)).collect();
    let (rows, cols) = (coo.nrows(), coo.ncols());
    Contender::new("faer", move || {
        black_box(SparseRowMat::<u32, T>::try_new_from_triplets(rows, cols, &triplets)?);
        Ok(())
    })
}
