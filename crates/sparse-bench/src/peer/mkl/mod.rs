//! Intel's oneMKL, loaded at run time: its plain routines and its inspector-executor, with 32-bit indices.

mod convert;
mod functions;
mod library;
mod matrix;
mod product;

use super::interface::Products;
use crate::product::Product;
use crate::value::Value;
use sparse_core::{Csr, DenseView, Host};

pub(crate) use convert::{add, coo_to_csr, dense_to_csr, spgemm};
pub(crate) use library::Mkl;
pub(crate) use product::{spmm, spmv, trisolve};

impl Products<Host> for Mkl {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn spmv<'a, T: Value>(
        &'a self,
        a: &'a Csr<T>,
        x: &'a [T],
    ) -> sparse_core::Result<Vec<Product<'a, T, Host>>> {
        Ok(spmv(self, a, x))
    }

    fn spmm<'a, T: Value>(
        &'a self,
        a: &'a Csr<T>,
        b: DenseView<'a, T, Host>,
    ) -> sparse_core::Result<Vec<Product<'a, T, Host>>> {
        Ok(spmm(self, a, b.data(), b.ncols()))
    }
}
