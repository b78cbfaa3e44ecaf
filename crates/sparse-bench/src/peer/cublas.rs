//! cuBLAS, loaded at run time: vectors of f32, whose scalars are in the device's memory.

use super::call;
use super::cuda::pointer;
use backend_cuda::{Device, stream};
use cudarc::cublas::{result, sys};
use sparse_core::{Backend, Error, Result, Space, space};
use sparse_device::{Buffer, View, ViewMut};

/// Bytes that NVIDIA recommends for Hopper, more than for any other device.
const WORKSPACE: usize = 32 << 20;

/// A vector, or a scalar.
type Input<'a> = View<'a, f32>;
/// An output vector, or an output scalar.
type Output<'a> = ViewMut<'a, f32>;

/// The error of a call.
fn failed(call: &'static str) -> impl FnOnce(result::CublasError) -> Error {
    move |code| call::failed("cublas", call, code.0)
}

/// The result of a call.
fn check(call: &'static str, status: sys::cublasStatus_t) -> Result<()> {
    status.result().map_err(failed(call))
}

/// The library with a handle on our stream, and a workspace of its own, so that its calls can be recorded.
pub(super) struct Cublas {
    handle: sys::cublasHandle_t,
    version: i32,
    workspace: Buffer<u8>,
}

impl Drop for Cublas {
    fn drop(&mut self) {
        // SAFETY: the handle was made by `connect`; everything that uses it borrows this value.
        let _ = unsafe { result::destroy_handle(self.handle) };
    }
}

impl Cublas {
    pub(super) fn connect(device: &Device) -> Result<Self> {
        // SAFETY: the call only looks for the library.
        if !unsafe { sys::is_culib_present() } {
            let reason = "its library (libcublas.so, .so.12, and libcublasLt beside it) was not found by the loader: \
                          name its folder in LD_LIBRARY_PATH";
            return Err(Error::unsupported("cuBLAS", reason));
        }
        let workspace = device.zeros(WORKSPACE)?;
        // The handle belongs to the context of this thread, which every call of the driver makes current.
        device.synchronize()?;
        let handle = result::create_handle().map_err(failed("cublasCreate"))?;
        let mut library = Self { handle, version: 0, workspace };
        // SAFETY: the number is written by the call.
        let status = unsafe { sys::cublasGetVersion_v2(handle, &raw mut library.version) };
        check("cublasGetVersion", status)?;
        // SAFETY: handle and stream are alive; the workspace's memory keeps the stream alive.
        check("cublasSetStream", unsafe { sys::cublasSetStream_v2(handle, stream(device)?.cast()) })?;
        let workspace = pointer(&Device::view(&library.workspace));
        // SAFETY: the workspace has this number of bytes and is freed after the handle. It is set after the stream,
        // with which the library resets its workspace.
        check("cublasSetWorkspace", unsafe { sys::cublasSetWorkspace_v2(handle, workspace, WORKSPACE) })?;
        let mode = sys::cublasPointerMode_t::CUBLAS_POINTER_MODE_DEVICE;
        // SAFETY: the handle is alive.
        check("cublasSetPointerMode", unsafe { sys::cublasSetPointerMode_v2(handle, mode) })?;
        Ok(library)
    }

    /// Its name and version.
    pub(super) fn name(&self) -> String {
        let Self { version, .. } = self;
        format!("cuBLAS {}.{}.{}", version / 10_000, version / 100 % 100, version % 100)
    }

    /// `y ← x`.
    pub(super) fn copy(&self, x: Input<'_>, y: Output<'_>) -> Result<()> {
        let y = Device::as_shared(&y);
        let n = length(&x, &y)?;
        // SAFETY: the handle is alive, the vectors have n elements, and y is borrowed exclusively.
        let status =
            unsafe { sys::cublasScopy_v2(self.handle, n, pointer(&x).cast(), 1, pointer(&y).cast(), 1) };
        check("cublasScopy", status)
    }

    /// `y ← alpha·x + y`.
    pub(super) fn axpy(&self, alpha: Input<'_>, x: Input<'_>, y: Output<'_>) -> Result<()> {
        let y = Device::as_shared(&y);
        let (n, alpha) = (length(&x, &y)?, pointer(&alpha).cast());
        // SAFETY: as for `copy`; alpha is on the device, as the mode of the handle says.
        let status = unsafe {
            sys::cublasSaxpy_v2(self.handle, n, alpha, pointer(&x).cast(), 1, pointer(&y).cast(), 1)
        };
        check("cublasSaxpy", status)
    }

    /// `x ← alpha·x`.
    pub(super) fn scal(&self, alpha: Input<'_>, x: Output<'_>) -> Result<()> {
        let x = Device::as_shared(&x);
        let (n, alpha) = (length(&x, &x)?, pointer(&alpha).cast());
        // SAFETY: as for `axpy`.
        let status = unsafe { sys::cublasSscal_v2(self.handle, n, alpha, pointer(&x).cast(), 1) };
        check("cublasSscal", status)
    }

    /// `Σ x_i·y_i` into `result`.
    pub(super) fn dot(&self, x: Input<'_>, y: Input<'_>, result: Output<'_>) -> Result<()> {
        let (n, result) = (length(&x, &y)?, pointer(&Device::as_shared(&result)).cast());
        // SAFETY: as for `axpy`, and so is the result.
        let status = unsafe {
            sys::cublasSdot_v2(self.handle, n, pointer(&x).cast(), 1, pointer(&y).cast(), 1, result)
        };
        check("cublasSdot", status)
    }
}

/// The length of two vectors.
fn length(x: &Input<'_>, y: &Input<'_>) -> Result<i32> {
    let (x, y) = (space::View::len(x), space::View::len(y));
    match i32::try_from(x) {
        Ok(n) if x == y => Ok(n),
        _ => Err(Error::shape("cuBLAS", format!("vectors of {x} and {y} elements"))),
    }
}
