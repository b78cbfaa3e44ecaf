//! A·B by SpGEMMreuse: the pattern of C first, and its values any number of times.

use super::super::descriptor::{SparseMatrix, data_type, start};
use super::super::library::{Cusparse, check};
use super::{Algorithm, Factor, NONE, Offsets, Product, State, uninitialised};
use cudarc::cusparse::sys;
use sparse_core::{Backend, Result};
use sparse_device::Buffer;
use std::ffi::c_void;
use std::ptr;

/// The pattern of C, and what computes its values.
pub(super) struct Plan<'a> {
    library: &'a Cusparse,
    algorithm: Algorithm,
    left: SparseMatrix,
    right: SparseMatrix,
    descriptor: SparseMatrix,
    state: State,
    product: Product,
    /// The buffers that the library numbers 4 and 5, which the state names.
    _workspaces: [Buffer<u8>; 2],
}

impl<'a> Plan<'a> {
    /// Finds the pattern. The factors' arrays must outlive the plan.
    pub(super) fn new(
        library: &'a Cusparse,
        algorithm: Algorithm,
        left: Factor<'_>,
        right: Factor<'_>,
    ) -> Result<Self> {
        let (device, handle, state) = (&library.device, library.handle, State::new()?);
        let (a, b, c) = (left.describe()?, right.describe()?, Offsets::new(device, left, right)?);

        let estimate = |bytes: &mut usize, buffer: *mut c_void| {
            let c = c.descriptor.0;
            // SAFETY: handle and descriptors are alive; the buffer is null or has the bytes that were asked for.
            let status = unsafe {
                sys::cusparseSpGEMMreuse_workEstimation(
                    handle, NONE, NONE, a.0, b.0, c, algorithm, state.0, bytes, buffer,
                )
            };
            check("cusparseSpGEMMreuse_workEstimation", status)
        };
        let mut bytes = 0;
        estimate(&mut bytes, ptr::null_mut())?;
        let estimated = uninitialised::<u8>(device, bytes)?;
        estimate(&mut bytes, start(&estimated))?;

        let count = |[second, third, fourth]: &mut [usize; 3], buffers: [*mut c_void; 3]| {
            let c = c.descriptor.0;
            // SAFETY: as for the estimation, whose buffer is alive.
            let status = unsafe {
                sys::cusparseSpGEMMreuse_nnz(
                    handle, NONE, NONE, a.0, b.0, c, algorithm, state.0, second, buffers[0], third,
                    buffers[1], fourth, buffers[2],
                )
            };
            check("cusparseSpGEMMreuse_nnz", status)
        };
        let mut bytes = [0; 3];
        count(&mut bytes, [ptr::null_mut(); 3])?;
        let second = uninitialised::<u8>(device, bytes[0])?;
        let third = uninitialised::<u8>(device, bytes[1])?;
        let fourth = uninitialised::<u8>(device, bytes[2])?;
        count(&mut bytes, [start(&second), start(&third), start(&fourth)])?;
        drop((estimated, second));

        let (product, descriptor) = c.with_entries(device, |nnz| device.zeros(nnz))?;
        let copy = |bytes: &mut usize, buffer: *mut c_void| {
            let c = descriptor.0;
            // SAFETY: as for the estimation; the buffers that the library numbers 3 and 4 are alive.
            let status = unsafe {
                sys::cusparseSpGEMMreuse_copy(
                    handle, NONE, NONE, a.0, b.0, c, algorithm, state.0, bytes, buffer,
                )
            };
            check("cusparseSpGEMMreuse_copy", status)
        };
        let mut bytes = 0;
        copy(&mut bytes, ptr::null_mut())?;
        let fifth = uninitialised::<u8>(device, bytes)?;
        copy(&mut bytes, start(&fifth))?;
        let _workspaces = [fourth, fifth];
        Ok(Self { library, algorithm, left: a, right: b, descriptor, state, product, _workspaces })
    }

    /// Computes the values.
    pub(super) fn compute(&self) -> Result<()> {
        let (handle, value) = (self.library.handle, data_type::<f32>()?);
        let (a, b, c, state) = (self.left.0, self.right.0, self.descriptor.0, self.state.0);
        let (alpha, beta) = (1.0_f32, 0.0_f32);
        let (alpha, beta) = ((&raw const alpha).cast::<c_void>(), (&raw const beta).cast::<c_void>());
        // SAFETY: handle, descriptors and all arrays that they name are alive; the library reads the scalars during the
        // call.
        let status = unsafe {
            sys::cusparseSpGEMMreuse_compute(
                handle,
                NONE,
                NONE,
                alpha,
                a,
                b,
                beta,
                c,
                value,
                self.algorithm,
                state,
            )
        };
        check("cusparseSpGEMMreuse_compute", status)
    }

    /// The product with its values.
    pub(super) fn into_product(self) -> Result<Product> {
        self.compute()?;
        Ok(self.product)
    }
}

impl AsRef<Product> for Plan<'_> {
    fn as_ref(&self) -> &Product {
        &self.product
    }
}
