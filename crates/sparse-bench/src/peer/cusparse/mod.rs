//! cuSPARSE, loaded at run time: generic API, 32-bit indices, host scalars; with cuBLAS, where that is there, it solves.

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
use backend_cuda::Device;
pub(crate) use library::Cusparse;
use sparse_core::{Coo, Csr, DenseBatchView, DenseView, Result, Scalar};
use sparse_device::View;

impl Products<Device> for Cusparse {
    fn name(&self) -> String {
        self.version()
    }

    fn spmv<'a, T: Scalar>(&'a self, a: &'a Csr<T, Device>, x: View<'a, T>) -> Result<Vec<Product<'a, T>>> {
        Ok(product::spmv(self, a, x))
    }

    fn spmm<'a, T: Scalar>(
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

    fn dense_to_csr<'a>(
        &'a self,
        a: DenseBatchView<'a, f32, Device>,
        most: usize,
    ) -> Result<Vec<Conversion<'a>>> {
        Ok(vec![convert::dense_to_csr(self, a, most)])
    }

    fn coo_to_csr<'a>(&'a self, a: &'a Coo<f32, Device>) -> Result<Vec<Conversion<'a>>> {
        Ok(vec![convert::coo_to_csr(self, a)])
    }

    fn spgemm<'a>(&'a self, factors: &[&'a Csr<f32, Device>]) -> Result<Vec<Conversion<'a>>> {
        Ok(spgemm::first_calls(self, factors))
    }

    fn spgemm_planned<'a>(&'a self, factors: &[&'a Csr<f32, Device>]) -> Result<Vec<Conversion<'a>>> {
        Ok(spgemm::planned(self, factors))
    }

    fn sddmm<'a>(
        &'a self,
        p: &'a Csr<f32, Device>,
        u: DenseView<'a, f32, Device>,
        v: DenseView<'a, f32, Device>,
    ) -> Result<Vec<Product<'a, f32>>> {
        Ok(sddmm::all(self, p, u, v))
    }

    fn trisolve<'a>(&'a self, l: &'a Csr<f32, Device>, b: View<'a, f32>) -> Result<Vec<Product<'a, f32>>> {
        Ok(trisolve::all(self, l, b))
    }

    fn add<'a>(&'a self, a: &'a Csr<f32, Device>, b: &'a Csr<f32, Device>) -> Result<Vec<Conversion<'a>>> {
        Ok(vec![add::conversion(self, a, b)])
    }

    fn cg<'a>(
        &'a self,
        a: &'a Csr<f32, Device>,
        b: View<'a, f32>,
        iterations: usize,
    ) -> Result<Vec<Product<'a, f32>>> {
        match &self.blas {
            Some(blas) => gradients::cg(self, blas, a, b, iterations),
            None => Ok(vec![]),
        }
    }
}
