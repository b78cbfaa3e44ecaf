//! cuBLAS, loaded at run time: operations on vectors, whose scalars are in the device's memory.

use super::call;
use super::cuda::pointer;
use crate::value::Value;
use backend_cuda::{Device, stream};
use cudarc::cublas::result;
use cudarc::cublas::sys::{self, cublasHandle_t as Handle, cublasStatus_t as Status};
use sparse_core::{Backend, Error, Result, Space, c32, c64, space};
use sparse_device::{Buffer, View, ViewMut};

/// Bytes that NVIDIA recommends for Hopper, more than for any other device.
const WORKSPACE: usize = 32 << 20;

/// The functions for a type of values, of vectors without gaps; of complex vectors `dot` conjugates the first.
///
/// # Safety
/// The handle is alive, vectors have `n` elements on its device, scalars are there too, and nothing else reads outputs.
pub(crate) trait Blas: Sized {
    unsafe fn copy(handle: Handle, n: i32, x: *const Self, y: *mut Self) -> Status;
    unsafe fn axpy(handle: Handle, n: i32, alpha: *const Self, x: *const Self, y: *mut Self) -> Status;
    unsafe fn scal(handle: Handle, n: i32, alpha: *const Self, x: *mut Self) -> Status;
    unsafe fn dot(handle: Handle, n: i32, x: *const Self, y: *const Self, result: *mut Self) -> Status;
}

macro_rules! impl_blas {
    ($($T:ty: $copy:ident $axpy:ident $scal:ident $dot:ident;)+) => {$(
        impl Blas for $T {
            unsafe fn copy(handle: Handle, n: i32, x: *const Self, y: *mut Self) -> Status {
                // SAFETY: the caller promises what the library asks for.
                unsafe { sys::$copy(handle, n, x.cast(), 1, y.cast(), 1) }
            }

            unsafe fn axpy(handle: Handle, n: i32, alpha: *const Self, x: *const Self, y: *mut Self) -> Status {
                // SAFETY: the caller promises what the library asks for.
                unsafe { sys::$axpy(handle, n, alpha.cast(), x.cast(), 1, y.cast(), 1) }
            }

            unsafe fn scal(handle: Handle, n: i32, alpha: *const Self, x: *mut Self) -> Status {
                // SAFETY: the caller promises what the library asks for.
                unsafe { sys::$scal(handle, n, alpha.cast(), x.cast(), 1) }
            }

            unsafe fn dot(handle: Handle, n: i32, x: *const Self, y: *const Self, result: *mut Self) -> Status {
                // SAFETY: the caller promises what the library asks for.
                unsafe { sys::$dot(handle, n, x.cast(), 1, y.cast(), 1, result.cast()) }
            }
        }
    )+};
}

impl_blas! {
    f32: cublasScopy_v2 cublasSaxpy_v2 cublasSscal_v2 cublasSdot_v2;
    f64: cublasDcopy_v2 cublasDaxpy_v2 cublasDscal_v2 cublasDdot_v2;
    c32: cublasCcopy_v2 cublasCaxpy_v2 cublasCscal_v2 cublasCdotc_v2;
    c64: cublasZcopy_v2 cublasZaxpy_v2 cublasZscal_v2 cublasZdotc_v2;
}

/// The error of a call.
fn failed(call: &'static str) -> impl FnOnce(result::CublasError) -> Error {
    move |code| call::failed("cublas", call, code.0)
}

/// The result of a call.
fn check(call: &'static str, status: Status) -> Result<()> {
    status.result().map_err(failed(call))
}

/// The library with a handle on our stream, and a workspace of its own, so that its calls can be recorded.
pub(super) struct Cublas {
    handle: Handle,
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

    /// The name and version of the library.
    pub(super) fn name(&self) -> String {
        let Self { version, .. } = self;
        format!("cuBLAS {}.{}.{}", version / 10_000, version / 100 % 100, version % 100)
    }

    /// `y ← x`.
    pub(super) fn copy<T: Value>(&self, x: View<'_, T>, y: ViewMut<'_, T>) -> Result<()> {
        let y = Device::as_shared(&y);
        let n = length(&x, &y)?;
        // SAFETY: the handle is alive, the vectors have n elements, and y is borrowed exclusively.
        check("cublas?copy", unsafe { T::copy(self.handle, n, first(&x), first(&y)) })
    }

    /// `y ← alpha·x + y`.
    pub(super) fn axpy<T: Value>(&self, alpha: View<'_, T>, x: View<'_, T>, y: ViewMut<'_, T>) -> Result<()> {
        let y = Device::as_shared(&y);
        let n = length(&x, &y)?;
        // SAFETY: as for `copy`; alpha is on the device, as the mode of the handle says.
        check("cublas?axpy", unsafe { T::axpy(self.handle, n, first(&alpha), first(&x), first(&y)) })
    }

    /// `x ← alpha·x`.
    pub(super) fn scal<T: Value>(&self, alpha: View<'_, T>, x: ViewMut<'_, T>) -> Result<()> {
        let x = Device::as_shared(&x);
        let n = length(&x, &x)?;
        // SAFETY: as for `axpy`.
        check("cublas?scal", unsafe { T::scal(self.handle, n, first(&alpha), first(&x)) })
    }

    /// `Σ conj(x_i)·y_i` into `result`.
    pub(super) fn dot<T: Value>(&self, x: View<'_, T>, y: View<'_, T>, result: ViewMut<'_, T>) -> Result<()> {
        let (n, result) = (length(&x, &y)?, Device::as_shared(&result));
        // SAFETY: as for `axpy`, and so is the result.
        check("cublas?dot", unsafe { T::dot(self.handle, n, first(&x), first(&y), first(&result)) })
    }
}

/// The first element of a view.
fn first<T: Value>(view: &View<'_, T>) -> *mut T {
    pointer(view).cast()
}

/// The length of two vectors.
fn length<T: Value>(x: &View<'_, T>, y: &View<'_, T>) -> Result<i32> {
    let (x, y) = (space::View::len(x), space::View::len(y));
    match i32::try_from(x) {
        Ok(n) if x == y => Ok(n),
        _ => Err(Error::shape("cuBLAS", format!("vectors of {x} and {y} elements"))),
    }
}
