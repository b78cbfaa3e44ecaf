//! nalgebra-sparse: one thread, `usize` indices, column-major dense operands.

use super::usize_parts;
use crate::measure::Contender;
use crate::value::Value;
use anyhow::{Result, anyhow};
use nalgebra::DMatrix;
use nalgebra_sparse::ops::Op;
use nalgebra_sparse::ops::serial::spmm_csr_dense;
use nalgebra_sparse::{CooMatrix, CsrMatrix};
use sparse_core::{Coo, Csr};
use std::hint::black_box;

fn matrix<T: Value>(a: &Csr<T>) -> Result<CsrMatrix<T>> {
    let (row_ptr, col_idx, values) = usize_parts(a);
    CsrMatrix::try_from_unsorted_csr_data(a.nrows(), a.ncols(), row_ptr, col_idx, values).map_err(refused)
}

fn refused(error: nalgebra_sparse::SparseFormatError) -> anyhow::Error {
    anyhow!("nalgebra-sparse refuses the matrix: {error}")
}

pub(crate) fn spmv<T: Value>(a: &Csr<T>, x: &[T]) -> Result<Contender<'static>> {
    product(a, DMatrix::from_column_slice(x.len(), 1, x))
}

pub(crate) fn spmm<T: Value>(a: &Csr<T>, b: &[T], columns: usize) -> Result<Contender<'static>> {
    product(a, DMatrix::from_row_slice(a.ncols(), columns, b))
}

fn product<T: Value>(a: &Csr<T>, b: DMatrix<T>) -> Result<Contender<'static>> {
    let mut c = DMatrix::zeros(a.nrows(), b.ncols());
    let a = matrix(a)?;
    Ok(Contender::new("nalgebra-sparse", move || {
        spmm_csr_dense(T::ZERO, &mut c, T::ONE, Op::NoOp(&a), Op::NoOp(&b));
        black_box(&c);
        Ok(())
    }))
}

pub(crate) fn coo_to_csr<T: Value>(coo: &Coo<T>) -> Result<Contender<'static>> {
    let wide = |indices: &[i32]| indices.iter().map(|&i| i as usize).collect();
    let triplets = CooMatrix::try_from_triplets(
        coo.nrows(),
        coo.ncols(),
        wide(coo.row_idx()),
        wide(coo.col_idx()),
        coo.values().clone(),
    )
    .map_err(refused)?;
    Ok(Contender::new("nalgebra-sparse", move || {
        black_box(CsrMatrix::from(&triplets));
        Ok(())
    }))
}

pub(crate) fn dense_to_csr<T: Value>(dense: &[T], n: usize) -> Contender<'static> {
    let dense = DMatrix::from_row_slice(n, n, dense);
    Contender::new("nalgebra-sparse", move || {
        black_box(CsrMatrix::from(&dense));
        Ok(())
    })
}
