//! cuSPARSE, loaded at run time: generic API, 32-bit indices, host scalars; with cuBLAS, where that is there, it solves.

mod convert;
mod descriptor;
mod gradients;
mod product;

use super::cublas::Cublas;
use crate::arguments::PeerName;
use crate::device::conversion::Conversion;
use crate::device::peer::Peer;
use crate::device::product::{Product, available};
use backend_cuda::{Device, stream};
use cudarc::cusparse::{result, sys};
pub(super) use descriptor::pointer;
use sparse_core::{Backend, Coo, Csr, DenseBatchView, DenseView, Error, Result, Scalar};
use sparse_device::View;
use std::fmt::Debug;

/// A library's answer to a failed call.
#[derive(Debug, thiserror::Error)]
#[error("{call}: {code:?}")]
pub(super) struct CallFailed<S: Debug> {
    pub(super) call: &'static str,
    pub(super) code: S,
}

/// The error of a call.
fn failed(call: &'static str) -> impl FnOnce(result::CusparseError) -> Error {
    move |code| Error::Backend { backend: "cusparse", source: Box::new(CallFailed { call, code: code.0 }) }
}

/// The result of a call.
fn check(call: &'static str, status: sys::cusparseStatus_t) -> Result<()> {
    status.result().map_err(failed(call))
}

/// The library with a handle that works on our stream.
pub(crate) struct Cusparse {
    device: Device,
    blas: Option<Cublas>,
    handle: sys::cusparseHandle_t,
    version: i32,
}

impl Drop for Cusparse {
    fn drop(&mut self) {
        // SAFETY: the handle was made by `connect`; everything that uses it borrows this value.
        let _ = unsafe { result::destroy(self.handle) };
    }
}

impl Peer for Cusparse {
    const ASKED_AS: Option<PeerName> = Some(PeerName::Cusparse);

    fn connect(device: &Device) -> Result<Self> {
        // SAFETY: the call only looks for the library.
        if !unsafe { sys::is_culib_present() } {
            let reason = "its library (libcusparse.so, .so.12) was not found by the loader: name its folder in \
                          LD_LIBRARY_PATH";
            return Err(Error::unsupported("cuSPARSE", reason));
        }
        // The handle belongs to the context of this thread, which every call of the driver makes current.
        device.synchronize()?;
        let handle = result::create().map_err(failed("cusparseCreate"))?;
        let mut library = Self { device: device.clone(), blas: None, handle, version: 0 };
        // SAFETY: handle and stream are alive; the device that is stored here keeps the stream alive.
        check("cusparseSetStream", unsafe { sys::cusparseSetStream(handle, stream(device)?.cast()) })?;
        // SAFETY: the number is written by the call.
        let status = unsafe { sys::cusparseGetVersion(handle, &raw mut library.version) };
        check("cusparseGetVersion", status)?;
        library.blas = available("cublas", Cublas::connect(device));
        Ok(library)
    }

    fn name(&self) -> String {
        let Self { version, .. } = self;
        let blas = self.blas.as_ref().map_or("no cuBLAS".into(), Cublas::name);
        format!("cuSPARSE {}.{}.{}, {blas}", version / 1000, version / 100 % 10, version % 100)
    }

    fn spmv<'a, T: Scalar>(&'a self, a: &'a Csr<T, Device>, x: View<'a, T>) -> Result<Vec<Product<'a, T>>> {
        product::spmv(self, a, x)
    }

    fn spmm<'a, T: Scalar>(
        &'a self,
        a: &'a Csr<T, Device>,
        b: DenseView<'a, T, Device>,
    ) -> Result<Vec<Product<'a, T>>> {
        product::spmm(self, a, b)
    }

    fn dense_to_csr<'a>(
        &'a self,
        a: DenseBatchView<'a, f32, Device>,
        most: usize,
    ) -> Result<Vec<Conversion<'a>>> {
        Ok(vec![convert::dense_to_csr(self, a, most)?])
    }

    fn coo_to_csr<'a>(&'a self, a: &'a Coo<f32, Device>) -> Result<Vec<Conversion<'a>>> {
        Ok(vec![convert::coo_to_csr(self, a)?])
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
