//! `A + B` in CSR by csrgeam2, which finds the pattern in every run.

use super::descriptor::start;
use super::library::{Cusparse, check};
use crate::conversion::{Arrays, Conversion, Convert};
use backend_cuda::Device;
use cudarc::cusparse::sys;
use sparse_core::{Backend, Csr, Result};
use sparse_device::Buffer;
use std::ptr;

/// The sum as a conversion.
pub(super) fn conversion<'a>(
    library: &'a Cusparse,
    a: &'a Csr<f32, Device>,
    b: &'a Csr<f32, Device>,
) -> Conversion<'a> {
    Conversion::new("cusparse:csrgeam2", move || {
        Ok(Sum { library, a, b, general: General::new()?, made: None })
    })
}

/// The descriptor of a general matrix with indices from 0 on.
struct General(sys::cusparseMatDescr_t);

impl General {
    fn new() -> Result<Self> {
        let mut descriptor = ptr::null_mut();
        // SAFETY: the call writes the descriptor.
        check("cusparseCreateMatDescr", unsafe { sys::cusparseCreateMatDescr(&raw mut descriptor) })?;
        Ok(Self(descriptor))
    }
}

impl Drop for General {
    fn drop(&mut self) {
        // SAFETY: the descriptor was made by `new` and is not used after this.
        let _ = unsafe { sys::cusparseDestroyMatDescr(self.0) };
    }
}

/// A + B, and the arrays of the last run.
struct Sum<'a> {
    library: &'a Cusparse,
    a: &'a Csr<f32, Device>,
    b: &'a Csr<f32, Device>,
    general: General,
    made: Option<(Buffer<i32>, Buffer<i32>, Buffer<f32>)>,
}

impl Sum<'_> {
    fn add(&self) -> Result<(Buffer<i32>, Buffer<i32>, Buffer<f32>)> {
        let (device, handle, descriptor) = (&self.library.device, self.library.handle, self.general.0);
        let (a, b, one) = (self.a, self.b, 1.0_f32);
        let (rows, cols) = (a.nrows() as i32, a.ncols() as i32);
        let (a_nnz, b_nnz) = (a.nnz() as i32, b.nnz() as i32);
        let offsets: Buffer<i32> = device.zeros(a.nrows() + 1)?;
        let mut bytes = 0;
        // SAFETY: handle and descriptors are alive; the arrays are those of two matrices of one shape. C has none yet.
        let status = unsafe {
            sys::cusparseScsrgeam2_bufferSizeExt(
                handle,
                rows,
                cols,
                &raw const one,
                descriptor,
                a_nnz,
                start(a.values()),
                start(a.row_ptr()),
                start(a.col_idx()),
                &raw const one,
                descriptor,
                b_nnz,
                start(b.values()),
                start(b.row_ptr()),
                start(b.col_idx()),
                descriptor,
                ptr::null(),
                start(&offsets),
                ptr::null(),
                &raw mut bytes,
            )
        };
        check("cusparseScsrgeam2_bufferSizeExt", status)?;
        let (workspace, mut nnz) = (device.zeros::<u8>(bytes)?, 0_i32);
        // SAFETY: as above; the workspace has the size that was asked for, and the number is written by the call.
        let status = unsafe {
            sys::cusparseXcsrgeam2Nnz(
                handle,
                rows,
                cols,
                descriptor,
                a_nnz,
                start(a.row_ptr()),
                start(a.col_idx()),
                descriptor,
                b_nnz,
                start(b.row_ptr()),
                start(b.col_idx()),
                descriptor,
                start(&offsets),
                &raw mut nnz,
                start(&workspace),
            )
        };
        check("cusparseXcsrgeam2Nnz", status)?;
        let (indices, values): (Buffer<i32>, Buffer<f32>) =
            (device.zeros(nnz as usize)?, device.zeros(nnz as usize)?);
        // SAFETY: as above; the arrays of C have the number of entries that was counted.
        let status = unsafe {
            sys::cusparseScsrgeam2(
                handle,
                rows,
                cols,
                &raw const one,
                descriptor,
                a_nnz,
                start(a.values()),
                start(a.row_ptr()),
                start(a.col_idx()),
                &raw const one,
                descriptor,
                b_nnz,
                start(b.values()),
                start(b.row_ptr()),
                start(b.col_idx()),
                descriptor,
                start(&values),
                start(&offsets),
                start(&indices),
                start(&workspace),
            )
        };
        check("cusparseScsrgeam2", status)?;
        Ok((offsets, indices, values))
    }
}

impl Convert for Sum<'_> {
    fn run(&mut self) -> Result<Option<f64>> {
        self.made = None;
        self.made = Some(self.add()?);
        Ok(None)
    }

    fn arrays(&mut self) -> Result<Arrays> {
        let device = &self.library.device;
        match &self.made {
            Some((offsets, indices, values)) => Ok(Arrays {
                offsets: device.download(offsets)?,
                indices: device.download(indices)?,
                values: device.download(values)?,
            }),
            None => Ok(Arrays::default()),
        }
    }
}
