//! The library with its handle, and the errors of its calls.

use crate::peer::call;
use crate::peer::cublas::Cublas;
use crate::product::available;
use backend_cuda::{Device, stream};
use cudarc::cusparse::{result, sys};
use sparse_core::{Backend, Error, Result};
use sparse_device::Buffer;

/// The error of a call.
fn failed(call: &'static str) -> impl FnOnce(result::CusparseError) -> Error {
    move |code| call::failed("cusparse", call, code.0)
}

/// The result of a call.
pub(super) fn check(call: &'static str, status: sys::cusparseStatus_t) -> Result<()> {
    status.result().map_err(failed(call))
}

/// The library with a handle that works on our stream.
pub(crate) struct Cusparse {
    pub(super) device: Device,
    pub(super) blas: Option<Cublas>,
    pub(super) handle: sys::cusparseHandle_t,
    version: i32,
}

impl Drop for Cusparse {
    fn drop(&mut self) {
        // SAFETY: the handle was made by `load`; everything that uses it borrows this value.
        let _ = unsafe { result::destroy(self.handle) };
    }
}

impl Cusparse {
    /// The library, ready to work in order with `device`.
    ///
    /// # Errors
    /// The reason why there is none.
    pub(super) fn load(device: &Device) -> Result<Self> {
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

    /// Memory of the size that `query`, a call of this name, writes.
    pub(super) fn workspace(
        &self,
        call: &'static str,
        query: impl FnOnce(*mut usize) -> sys::cusparseStatus_t,
    ) -> Result<Buffer<u8>> {
        let mut bytes = 0;
        check(call, query(&raw mut bytes))?;
        self.device.zeros(bytes)
    }

    /// The names and versions of cuSPARSE and cuBLAS.
    pub(super) fn version(&self) -> String {
        let Self { version, .. } = self;
        let blas = self.blas.as_ref().map_or("no cuBLAS".into(), Cublas::name);
        format!("cuSPARSE {}.{}.{}, {blas}", version / 1000, version / 100 % 10, version % 100)
    }
}
