//! A·B by SpGEMMreuse: the pattern of C first, and its values any number of times.

use super::super::descriptor::{PLAIN, Scalars, start};
use super::super::library::{Cusparse, check};
use super::{Algorithm, Factor, Operation, Product, uninitialized, with_workspace};
use crate::value::Value;
use cudarc::cusparse::sys;
use sparse_core::{Backend, Result};
use sparse_device::Buffer;
use std::ffi::c_void;
use std::ptr;

/// The pattern of C, and what computes its values.
pub(super) struct Plan<'a, T: Value> {
    operation: Operation<'a>,
    scalars: Scalars<T>,
    product: Product<T>,
    /// The buffers that the library numbers 4 and 5, which the state names.
    _workspaces: [Buffer<u8>; 2],
}

impl<'a, T: Value> Plan<'a, T> {
    /// Finds the pattern. The factors' arrays must outlive the plan.
    pub(super) fn new(
        library: &'a Cusparse,
        algorithm: Algorithm,
        left: Factor<'_, T>,
        right: Factor<'_, T>,
    ) -> Result<Self> {
        let device = &library.device;
        let (operation, offsets) = Operation::new(library, algorithm, left, right)?;
        let estimated = with_workspace(device, |bytes, buffer| operation.estimate(bytes, buffer))?;
        let [_third, fourth] = operation.find_pattern()?;
        drop(estimated);
        let product = offsets.with_entries(&operation, |nnz| device.zeros(nnz))?;
        let fifth = with_workspace(device, |bytes, buffer| operation.copy(bytes, buffer))?;
        Ok(Self { operation, scalars: Scalars::new(), product, _workspaces: [fourth, fifth] })
    }

    /// Computes the values.
    pub(super) fn compute(&self) -> Result<()> {
        let (handle, algorithm, a, b, c, state) = self.operation.handles();
        let (alpha, beta, value) = self.scalars.arguments()?;
        // SAFETY: handle, descriptors and all arrays that they name are alive; the library reads the scalars during the
        // call.
        let status = unsafe {
            sys::cusparseSpGEMMreuse_compute(
                handle, PLAIN, PLAIN, alpha, a, b, beta, c, value, algorithm, state,
            )
        };
        check("cusparseSpGEMMreuse_compute", status)
    }

    /// The product with its values.
    pub(super) fn into_product(self) -> Result<Product<T>> {
        self.compute()?;
        Ok(self.product)
    }
}

impl Operation<'_> {
    fn estimate(&self, bytes: &mut usize, buffer: *mut c_void) -> Result<()> {
        let (handle, algorithm, a, b, c, state) = self.handles();
        // SAFETY: handle and descriptors are alive; the buffer is null or has the bytes that were asked for.
        let status = unsafe {
            sys::cusparseSpGEMMreuse_workEstimation(
                handle, PLAIN, PLAIN, a, b, c, algorithm, state, bytes, buffer,
            )
        };
        check("cusparseSpGEMMreuse_workEstimation", status)
    }

    /// Finds the pattern. Returns the buffers that the library numbers 3 and 4, which the state names.
    fn find_pattern(&self) -> Result<[Buffer<u8>; 2]> {
        let (device, mut bytes) = (&self.library.device, [0; 3]);
        self.count(&mut bytes, [ptr::null_mut(); 3])?;
        let second = uninitialized::<u8>(device, bytes[0])?;
        let third = uninitialized(device, bytes[1])?;
        let fourth = uninitialized(device, bytes[2])?;
        self.count(&mut bytes, [start(&second), start(&third), start(&fourth)])?;
        Ok([third, fourth])
    }

    fn count(&self, bytes: &mut [usize; 3], buffers: [*mut c_void; 3]) -> Result<()> {
        let (handle, algorithm, a, b, c, state) = self.handles();
        let ([second, third, fourth], [b2, b3, b4]) = (bytes, buffers);
        // SAFETY: as for the estimation, whose buffer is alive.
        let status = unsafe {
            sys::cusparseSpGEMMreuse_nnz(
                handle, PLAIN, PLAIN, a, b, c, algorithm, state, second, b2, third, b3, fourth, b4,
            )
        };
        check("cusparseSpGEMMreuse_nnz", status)
    }

    /// Copies the pattern into the product's arrays.
    fn copy(&self, bytes: &mut usize, buffer: *mut c_void) -> Result<()> {
        let (handle, algorithm, a, b, c, state) = self.handles();
        // SAFETY: as for the estimation; the buffers that the library numbers 3 and 4 are alive.
        let status = unsafe {
            sys::cusparseSpGEMMreuse_copy(handle, PLAIN, PLAIN, a, b, c, algorithm, state, bytes, buffer)
        };
        check("cusparseSpGEMMreuse_copy", status)
    }
}

impl<T: Value> AsRef<Product<T>> for Plan<'_, T> {
    fn as_ref(&self) -> &Product<T> {
        &self.product
    }
}
