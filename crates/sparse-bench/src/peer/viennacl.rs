//! ViennaCL, whose templates are compiled in the library of `viennacl.cpp`, loaded at run time: products of our own
//! buffers, on our queue, in f32 and f64.

use super::interface::{Peer, Products};
use crate::arguments::PeerName;
use crate::product::{Product, available, planned};
use crate::value::Value;
use backend_opencl::{Device, buffer, handles};
use libloading::Library;
use sparse_core::{Csr, DType, DenseView, Element, Error, Order, Result, Scalar, Space};
use sparse_device::{Buffer, View, ViewMut};
use std::env;
use std::ffi::{CStr, OsStr, c_char, c_int, c_void};
use std::marker::PhantomData;
use std::ptr;

/// The environment variable that names the library's file.
const VARIABLE: &str = "NNZ_VIENNACL";
/// The library that the loader looks for without it.
const LIBRARY: &str = "libnnz_viennacl.so";
/// The version of the library's interface.
const ABI_VERSION: c_int = 1;
/// Bytes of an error's text, its terminating zero included.
const REASON_BYTES: usize = 1024;

/// `viennacl::ocl::context`.
#[repr(C)]
struct RawContext(c_void);

/// `nnz_viennacl_matrix`.
#[repr(C)]
struct RawMatrix(c_void);

/// `nnz_viennacl_csr`.
#[repr(C)]
struct RawCsr {
    rows: usize,
    cols: usize,
    nnz: usize,
    offsets: *mut c_void,
    indices: *mut c_void,
    values: *mut c_void,
}

/// `nnz_viennacl_view`.
#[repr(C)]
struct RawView {
    buffer: *mut c_void,
    start: usize,
}

impl RawView {
    fn of<T: Element>(view: &View<'_, T>) -> Self {
        let (buffer, byte) = buffer(view);
        Self { buffer, start: byte / size_of::<T>() }
    }
}

/// A function without arguments that returns a number.
type Number = unsafe extern "C" fn() -> c_int;

/// The library's functions. Those that can fail take a buffer for the text of an error last.
struct Functions {
    version: Number,
    open: unsafe extern "C" fn(
        *mut c_void,
        *mut c_void,
        *mut c_void,
        *mut *const RawContext,
        *mut c_char,
    ) -> c_int,
    matrix_of: unsafe extern "C" fn(
        *const RawContext,
        *const RawCsr,
        bool,
        *mut *mut RawMatrix,
        *mut c_char,
    ) -> c_int,
    release: unsafe extern "C" fn(*mut RawMatrix),
    spmv: unsafe extern "C" fn(*const RawMatrix, RawView, RawView, *mut c_char) -> c_int,
    spmm: unsafe extern "C" fn(*const RawMatrix, RawView, RawView, usize, *mut c_char) -> c_int,
}

impl Functions {
    /// Loads the functions from a file, which is never unloaded: ViennaCL caches its compiled programs.
    fn load(path: &OsStr) -> Result<Self> {
        let refused = |reason: String| {
            let path = path.display();
            Error::unsupported("ViennaCL", format!("its library {path} ({VARIABLE} names another): {reason}"))
        };
        let failed = |error: libloading::Error| refused(format!("{:#}", anyhow::Error::from(error)));
        // SAFETY: the library's constructors are those of C++ and of the OpenCL loader, which may run at any time.
        let library = unsafe { Library::new(path) }.map_err(failed)?;
        let library = Box::leak(Box::new(library));
        // SAFETY: a library of every version has this function, of this type.
        let version = unsafe { library.get::<Number>(c"nnz_viennacl_abi_version").map_err(failed)?() };
        if version != ABI_VERSION {
            return Err(refused(format!("it has interface {version}, {ABI_VERSION} is needed")));
        }
        // SAFETY: the version was compared, and the library leaked.
        unsafe { Self::of(library) }.map_err(failed)
    }

    /// # Safety
    /// The library is one of [`ABI_VERSION`], and is never unloaded.
    unsafe fn of(library: &Library) -> Result<Self, libloading::Error> {
        // SAFETY: the caller vouches for the interface, which this type repeats.
        unsafe {
            Ok(Self {
                version: *library.get(c"nnz_viennacl_version")?,
                open: *library.get(c"nnz_viennacl_open")?,
                matrix_of: *library.get(c"nnz_viennacl_matrix_of")?,
                release: *library.get(c"nnz_viennacl_release")?,
                spmv: *library.get(c"nnz_viennacl_spmv")?,
                spmm: *library.get(c"nnz_viennacl_spmm")?,
            })
        }
    }
}

/// ViennaCL's answer to a failed call.
#[derive(Debug, thiserror::Error)]
#[error("{call}: {reason}")]
struct CallFailed {
    call: &'static str,
    reason: String,
}

/// Makes a call with a buffer for the text of an error.
fn guarded(call: &'static str, make: impl FnOnce(*mut c_char) -> c_int) -> Result<()> {
    let mut reason = [0_u8; REASON_BYTES];
    if make(reason.as_mut_ptr().cast()) == 0 {
        return Ok(());
    }
    let reason = CStr::from_bytes_until_nul(&reason).unwrap_or_default().to_string_lossy();
    let reason = reason.trim().into();
    Err(Error::Backend { backend: "viennacl", source: Box::new(CallFailed { call, reason }) })
}

/// The library, in our context and on our queue.
pub(crate) struct ViennaCl {
    device: Device,
    functions: Functions,
    context: *const RawContext,
}

impl Peer for ViennaCl {
    const ASKED_AS: Option<PeerName> = Some(PeerName::Viennacl);

    fn connect(device: &Device) -> Result<Self> {
        let path = env::var_os(VARIABLE).unwrap_or_else(|| LIBRARY.into());
        let functions = Functions::load(&path)?;
        let (handles, mut context) = (handles(device)?, ptr::null());
        // SAFETY: the handles are alive, and ViennaCL retains them; the outputs are live variables.
        guarded("open", |reason| unsafe {
            (functions.open)(handles.context, handles.device, handles.queue, &raw mut context, reason)
        })?;
        Ok(Self { device: device.clone(), functions, context })
    }
}

impl Products<Device> for ViennaCl {
    fn name(&self) -> String {
        // SAFETY: the function only returns a number.
        let version = unsafe { (self.functions.version)() };
        format!("ViennaCL {}.{}", version / 100, version % 100)
    }

    fn spmv<'a, T: Value>(&'a self, a: &'a Csr<T, Device>, x: View<'a, T>) -> Result<Vec<Product<'a, T>>> {
        let product = || -> Result<_> {
            let (matrix, seconds) = planned(&self.device, || Wrapped::new(self, a))?;
            Ok(Product::new("viennacl", seconds, move |y| matrix.spmv(x, y)))
        };
        Ok(available("viennacl", product()).into_iter().collect())
    }

    fn spmm<'a, T: Value>(
        &'a self,
        a: &'a Csr<T, Device>,
        b: DenseView<'a, T, Device>,
    ) -> Result<Vec<Product<'a, T>>> {
        let product = || -> Result<_> {
            let (matrix, seconds) = planned(&self.device, || Wrapped::new(self, a))?;
            Ok(Product::new("viennacl", seconds, move |c| matrix.spmm(b, c)))
        };
        Ok(available("viennacl", product()).into_iter().collect())
    }
}

/// A matrix of ViennaCL over the buffers of one of ours, with the blocks of rows for its SpMV.
struct Wrapped<'a, T: Scalar> {
    library: &'a ViennaCl,
    raw: *mut RawMatrix,
    matrix: PhantomData<&'a Csr<T, Device>>,
}

impl<'a, T: Scalar> Wrapped<'a, T> {
    fn new(library: &'a ViennaCl, a: &'a Csr<T, Device>) -> Result<Self> {
        let csr = RawCsr {
            rows: a.nrows(),
            cols: a.ncols(),
            nnz: a.nnz(),
            offsets: whole(a.row_ptr()),
            indices: whole(a.col_idx()),
            values: whole(a.values()),
        };
        let (is_double, mut raw) = (is_double::<T>()?, ptr::null_mut());
        // SAFETY: the context is never released; the buffers are those of a valid matrix of the named type, and begin
        // with its elements; the output is a live variable.
        guarded("matrix_of", |reason| unsafe {
            (library.functions.matrix_of)(library.context, &raw const csr, is_double, &raw mut raw, reason)
        })?;
        Ok(Self { library, raw, matrix: PhantomData })
    }

    /// Multiplies: `x` has an element for each column, `y` for each row.
    fn spmv(&self, x: View<'_, T>, y: ViewMut<'_, T>) -> Result<()> {
        let (x, y) = (RawView::of(&x), RawView::of(&Device::as_shared(&y)));
        // SAFETY: matrix and buffers are alive and of one type, with lengths that fit; y is borrowed exclusively.
        guarded("spmv", |reason| unsafe { (self.library.functions.spmv)(self.raw, x, y, reason) })
    }

    /// Multiplies: `b` has a row for each column, `c` for each row.
    fn spmm(&self, b: DenseView<'_, T, Device>, c: ViewMut<'_, T>) -> Result<()> {
        let columns = b.ncols();
        if b.order() != Order::RowMajor || b.leading_dimension() != columns {
            return Err(Error::unsupported("SpMM by ViennaCL here", "B has gaps, or stands by columns"));
        }
        let (b, c) = (RawView::of(&b.data()), RawView::of(&Device::as_shared(&c)));
        // SAFETY: as for `spmv`.
        guarded("spmm", |reason| unsafe { (self.library.functions.spmm)(self.raw, b, c, columns, reason) })
    }
}

impl<T: Scalar> Drop for Wrapped<'_, T> {
    fn drop(&mut self) {
        // SAFETY: the matrix was made by `new` and is not used after this; OpenCL retains memory that enqueued work
        // still reads.
        unsafe { (self.library.functions.release)(self.raw) };
    }
}

/// True for `f64`, false for `f32`, ViennaCL's two types of values.
fn is_double<T: Scalar>() -> Result<bool> {
    match T::DTYPE {
        DType::F32 => Ok(false),
        DType::F64 => Ok(true),
        other => Err(Error::unsupported(format_args!("ViennaCL in {other}"), "it has f32 and f64")),
    }
}

/// The `cl_mem` of a buffer's elements, which begin where it does.
fn whole<T: Element>(elements: &Buffer<T>) -> *mut c_void {
    buffer(&Device::view(elements)).0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_that_is_missing_or_another_is_a_reason() {
        let reason = |path: &str| Functions::load(path.as_ref()).err().map(|error| error.to_string());
        let missing = reason("/nowhere/libnnz_viennacl.so").unwrap();
        assert!(missing.contains("/nowhere/libnnz_viennacl.so (NNZ_VIENNACL names another)"), "{missing}");
        #[cfg(target_os = "linux")]
        assert!(reason("libc.so.6").unwrap().contains("nnz_viennacl_abi_version"));
    }

    #[test]
    fn only_real_numbers_of_32_and_64_bits_are_compared() {
        assert!(matches!((is_double::<f32>(), is_double::<f64>()), (Ok(false), Ok(true))));
        assert!(is_double::<sparse_core::c64>().is_err());
    }
}
