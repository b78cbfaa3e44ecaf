//! Intel's oneMKL, loaded at run time: its plain routines and its inspector-executor, in single precision with 32-bit
//! indices.

mod convert;
mod functions;
mod library;
mod matrix;
mod product;

use super::interface::Products;
use crate::product::Product;
use sparse_core::{Csr, DenseView, Host, Scalar};
use std::any::Any;

pub(crate) use convert::{add, coo_to_csr, dense_to_csr, spgemm};
pub(crate) use library::Mkl;
pub(crate) use product::{spmm, spmv, trisolve};

impl Products<Host> for Mkl {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn spmv<'a, T: Scalar>(
        &'a self,
        a: &'a Csr<T>,
        x: &'a [T],
    ) -> sparse_core::Result<Vec<Product<'a, T, Host>>> {
        let products = single(a).map(|a| spmv(self, a, bytemuck::cast_slice(x)));
        Ok(retyped(products.unwrap_or_default()))
    }

    fn spmm<'a, T: Scalar>(
        &'a self,
        a: &'a Csr<T>,
        b: DenseView<'a, T, Host>,
    ) -> sparse_core::Result<Vec<Product<'a, T, Host>>> {
        let products = single(a).map(|a| spmm(self, a, bytemuck::cast_slice(b.data()), b.ncols()));
        Ok(retyped(products.unwrap_or_default()))
    }
}

/// The matrix, if it is in single precision.
fn single<T: Scalar>(a: &Csr<T>) -> Option<&Csr<f32>> {
    (a as &dyn Any).downcast_ref()
}

/// Products in single precision under another name of the type.
fn retyped<'a, T: Scalar>(products: Vec<Product<'a, f32, Host>>) -> Vec<Product<'a, T, Host>> {
    let retyped = |Product { name, plan_seconds, mut run, .. }: Product<'a, f32, Host>| {
        Product::on_host(name, plan_seconds, move |output| run(bytemuck::cast_slice_mut(output)))
    };
    products.into_iter().map(retyped).collect()
}
