//! cuSPARSE, loaded at run time: generic API, 32-bit indices, host scalars. With cuBLAS it solves systems, too.

mod add;
mod blocks;
mod convert;
mod descriptor;
mod gradients;
mod library;
mod product;
mod sddmm;
mod sliced_ell;
mod spgemm;
mod stored;
mod trisolve;

use super::interface::{Peer, Products};
use crate::arguments::PeerName;
use crate::conversion::Conversion;
use crate::product::Product;
use crate::value::Value;
pub(crate) use add::Csrgeam2;
use backend_cuda::Device;
pub(crate) use library::Cusparse;
use sparse_core::{Coo, Csr, DenseBatchView, DenseView, Result};
use sparse_device::View;

impl Products<Device> for Cusparse {
    fn name(&self) -> String {
        self.version()
    }

    fn spmv<'a, T: Value>(&'a self, a: &'a Csr<T, Device>, x: View<'a, T>) -> Result<Vec<Product<'a, T>>> {
        Ok(product::spmv(self, a, x))
    }

    fn spmm<'a, T: Value>(
        &'a self,
        a: &'a Csr<T, Device>,
        b: DenseView<'a, T, Device>,
    ) -> Result<Vec<Product<'a, T>>> {
        Ok(product::spmm(self, a, b))
    }
}

impl Peer for Cusparse {
    const ASKED_AS: Option<PeerName> = Some(PeerName::Cusparse);

    fn connect(device: &Device) -> Result<Self> {
        Self::load(device)
    }

    fn dense_to_csr<'a, T: Value>(
        &'a self,
        a: DenseBatchView<'a, T, Device>,
        most: usize,
    ) -> Result<Vec<Conversion<'a, T>>> {
        Ok(vec![convert::dense_to_csr(self, a, most)])
    }

    fn coo_to_csr<'a, T: Value>(&'a self, a: &'a Coo<T, Device>) -> Result<Vec<Conversion<'a, T>>> {
        Ok(vec![convert::coo_to_csr(self, a)])
    }

    fn spgemm<'a, T: Value>(&'a self, factors: &[&'a Csr<T, Device>]) -> Result<Vec<Conversion<'a, T>>> {
        Ok(spgemm::first_calls(self, factors))
    }

    fn spgemm_planned<'a, T: Value>(
        &'a self,
        factors: &[&'a Csr<T, Device>],
    ) -> Result<Vec<Conversion<'a, T>>> {
        Ok(spgemm::planned(self, factors))
    }

    fn sddmm<'a, T: Value>(
        &'a self,
        p: &'a Csr<T, Device>,
        u: DenseView<'a, T, Device>,
        v: DenseView<'a, T, Device>,
    ) -> Result<Vec<Product<'a, T>>> {
        Ok(sddmm::all(self, p, u, v))
    }

    fn trisolve<'a, T: Value>(
        &'a self,
        l: &'a Csr<T, Device>,
        b: View<'a, T>,
    ) -> Result<Vec<Product<'a, T>>> {
        Ok(trisolve::all(self, l, b))
    }

    fn add<'a, T: Value>(
        &'a self,
        a: &'a Csr<T, Device>,
        b: &'a Csr<T, Device>,
    ) -> Result<Vec<Conversion<'a, T>>> {
        Ok(vec![add::conversion(self, a, b)])
    }

    fn cg<'a, T: Value>(
        &'a self,
        a: &'a Csr<T, Device>,
        b: View<'a, T>,
        iterations: usize,
    ) -> Result<Vec<Product<'a, T>>> {
        match &self.blas {
            Some(blas) => gradients::cg(self, blas, a, b, iterations),
            None => Ok(vec![]),
        }
    }
}
