//! `A + B` in CSR by csrgeam2, which finds the pattern in every run.

use super::descriptor::{Scalars, made, start};
use super::library::{Cusparse, check};
use crate::conversion::{Arrays, Conversion, Convert};
use crate::value::Value;
use backend_cuda::Device;
use cudarc::cusparse::sys;
use sparse_core::{Backend, Csr, Result, Scalar, c32, c64};
use sparse_device::Buffer;
use std::ptr;

/// The sum as a conversion.
pub(super) fn conversion<'a, T: Value>(
    library: &'a Cusparse,
    a: &'a Csr<T, Device>,
    b: &'a Csr<T, Device>,
) -> Conversion<'a, T> {
    Conversion::new("cusparse:csrgeam2", move || {
        Ok(Sum { library, a, b, general: General::new()?, made: None })
    })
}

/// The descriptor of a general matrix with indices from 0 on.
struct General(sys::cusparseMatDescr_t);

impl General {
    fn new() -> Result<Self> {
        // SAFETY: the call writes the descriptor.
        let create = |made| unsafe { sys::cusparseCreateMatDescr(made) };
        made("cusparseCreateMatDescr", create).map(Self)
    }
}

impl Drop for General {
    fn drop(&mut self) {
        // SAFETY: the descriptor was made by `new` and is not used after this.
        let _ = unsafe { sys::cusparseDestroyMatDescr(self.0) };
    }
}

/// A + B, and the arrays of the last run.
pub(crate) struct Sum<'a, T: Scalar> {
    library: &'a Cusparse,
    a: &'a Csr<T, Device>,
    b: &'a Csr<T, Device>,
    general: General,
    made: Option<Made<T>>,
}

/// Offsets, indices and values.
type Made<T> = (Buffer<i32>, Buffer<i32>, Buffer<T>);

/// The calls that depend on the type of values.
pub(crate) trait Csrgeam2: Scalar {
    /// The bytes of the workspace.
    fn workspace_bytes(sum: &Sum<'_, Self>, offsets: &Buffer<i32>) -> Result<usize>;

    /// Computes indices and values.
    fn compute(sum: &Sum<'_, Self>, made: &Made<Self>, workspace: &Buffer<u8>) -> Result<()>;
}

macro_rules! impl_csrgeam2 {
    ($($T:ty: $buffer_size:ident $geam:ident;)+) => {$(
        impl Csrgeam2 for $T {
            fn workspace_bytes(sum: &Sum<'_, Self>, offsets: &Buffer<i32>) -> Result<usize> {
                let (handle, m, n, d) = sum.arguments();
                let ((anz, av, ar, ac), (bnz, bv, br, bc)) = (arrays(sum.a), arrays(sum.b));
                let (scalars, cr, cc, mut bytes) = (Scalars::<Self>::new(), start(offsets), ptr::null(), 0);
                let (one, size) = (scalars.one().cast(), &raw mut bytes);
                // SAFETY: handle and descriptors are alive; two matrices of one shape have the arrays. C has none yet.
                let status = unsafe {
                    sys::$buffer_size(
                        handle, m, n, one, d, anz, av, ar, ac, one, d, bnz, bv, br, bc, d, ptr::null(), cr, cc, size,
                    )
                };
                check(stringify!($buffer_size), status)?;
                Ok(bytes)
            }

            fn compute(sum: &Sum<'_, Self>, made: &Made<Self>, workspace: &Buffer<u8>) -> Result<()> {
                let (handle, m, n, d) = sum.arguments();
                let ((anz, av, ar, ac), (bnz, bv, br, bc)) = (arrays(sum.a), arrays(sum.b));
                let (cr, cc, cv) = (start(&made.0), start(&made.1), start(&made.2));
                let (scalars, buffer) = (Scalars::<Self>::new(), start(workspace));
                let one = scalars.one().cast();
                // SAFETY: as above; the workspace has the size that was asked for, and C the entries that were counted.
                let status = unsafe {
                    sys::$geam(
                        handle, m, n, one, d, anz, av, ar, ac, one, d, bnz, bv, br, bc, d, cv, cr, cc, buffer,
                    )
                };
                check(stringify!($geam), status)
            }
        }
    )+};
}

impl_csrgeam2! {
    f32: cusparseScsrgeam2_bufferSizeExt cusparseScsrgeam2;
    f64: cusparseDcsrgeam2_bufferSizeExt cusparseDcsrgeam2;
    c32: cusparseCcsrgeam2_bufferSizeExt cusparseCcsrgeam2;
    c64: cusparseZcsrgeam2_bufferSizeExt cusparseZcsrgeam2;
}

impl<T: Value> Sum<'_, T> {
    fn add(&self) -> Result<Made<T>> {
        let device = &self.library.device;
        let offsets = device.zeros(self.a.nrows() + 1)?;
        let workspace = device.zeros(T::workspace_bytes(self, &offsets)?)?;
        let nnz = self.count(&offsets, &workspace)?;
        let made = (offsets, device.zeros(nnz)?, device.zeros(nnz)?);
        T::compute(self, &made, &workspace)?;
        Ok(made)
    }

    /// Computes the offsets. Returns the number of entries.
    fn count(&self, offsets: &Buffer<i32>, workspace: &Buffer<u8>) -> Result<usize> {
        let (handle, m, n, d) = self.arguments();
        let ((anz, _, ar, ac), (bnz, _, br, bc)) = (arrays::<_, T>(self.a), arrays::<_, T>(self.b));
        let (cr, buffer, mut nnz) = (start(offsets), start(workspace), 0);
        let count = &raw mut nnz;
        // SAFETY: as for the workspace, which has the size that was asked for; the number is written by the call.
        let status = unsafe {
            sys::cusparseXcsrgeam2Nnz(handle, m, n, d, anz, ar, ac, d, bnz, br, bc, d, cr, count, buffer)
        };
        check("cusparseXcsrgeam2Nnz", status)?;
        Ok(nnz as usize)
    }
}

impl<T: Scalar> Sum<'_, T> {
    /// The arguments of every call: handle, rows, columns, and the descriptor of all three matrices.
    fn arguments(&self) -> (sys::cusparseHandle_t, i32, i32, sys::cusparseMatDescr_t) {
        (self.library.handle, self.a.nrows() as i32, self.a.ncols() as i32, self.general.0)
    }
}

/// The number of entries, and the values, offsets and indices.
fn arrays<T: Scalar, P>(a: &Csr<T, Device>) -> (i32, *mut P, *mut i32, *mut i32) {
    (a.nnz() as i32, start(a.values()), start(a.row_ptr()), start(a.col_idx()))
}

impl<T: Value> Convert<T> for Sum<'_, T> {
    fn run(&mut self) -> Result<Option<f64>> {
        self.made = None;
        self.made = Some(self.add()?);
        Ok(None)
    }

    fn arrays(&mut self) -> Result<Arrays<T>> {
        let device = &self.library.device;
        match &self.made {
            Some((offsets, indices, values)) => Arrays::download(device, offsets, indices, values),
            None => Ok(Arrays::default()),
        }
    }
}
