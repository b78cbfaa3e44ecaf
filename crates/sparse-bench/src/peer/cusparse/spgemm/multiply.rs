//! A·B by SpGEMM, which finds the pattern in every run.

use super::super::descriptor::{PLAIN, Scalars, start};
use super::super::library::{Cusparse, check};
use super::{Algorithm, Factor, Operation, Product, uninitialized, with_workspace};
use crate::value::Value;
use cudarc::cusparse::sys;
use sparse_core::Result;
use sparse_device::Buffer;
use std::ffi::c_void;
use std::ptr;

/// The part of the products that the algorithms with little memory compute at a time, as in the library's sample.
const CHUNK: f32 = 0.2;

/// The product, with its workspace allocated as the library asks.
pub(super) fn multiply<T: Value>(
    library: &Cusparse,
    algorithm: Algorithm,
    left: Factor<'_, T>,
    right: Factor<'_, T>,
) -> Result<Product<T>> {
    let device = &library.device;
    let (operation, offsets) = Operation::new(library, algorithm, left, right)?;
    let call = Multiplication { operation: &operation, scalars: Scalars::<T>::new() };
    let _estimated = with_workspace(device, |bytes, buffer| call.estimate(bytes, buffer))?;
    let _computed = match algorithm {
        Algorithm::CUSPARSE_SPGEMM_ALG1 => {
            with_workspace(device, |bytes, buffer| call.compute(bytes, buffer))?
        }
        _ => call.compute_in_chunks()?,
    };
    let product = offsets.with_entries(&operation, |nnz| uninitialized(device, nnz))?;
    call.copy()?;
    Ok(product)
}

/// The operands of every call.
struct Multiplication<'a, T> {
    operation: &'a Operation<'a>,
    scalars: Scalars<T>,
}

impl<T: Value> Multiplication<'_, T> {
    fn estimate(&self, bytes: &mut usize, buffer: *mut c_void) -> Result<()> {
        let (handle, algorithm, a, b, c, state) = self.operation.handles();
        let (alpha, beta, value) = self.scalars.arguments()?;
        // SAFETY: handle and descriptors are alive; the buffer is null or has the bytes that were asked for.
        let status = unsafe {
            sys::cusparseSpGEMM_workEstimation(
                handle, PLAIN, PLAIN, alpha, a, b, beta, c, value, algorithm, state, bytes, buffer,
            )
        };
        check("cusparseSpGEMM_workEstimation", status)
    }

    /// Estimates the memory of [`compute`](Self::compute), with `own` bytes in `buffer`; a null asks for them.
    fn estimate_memory(&self, own: &mut usize, buffer: *mut c_void, bytes: &mut usize) -> Result<()> {
        let (handle, algorithm, a, b, c, state) = self.operation.handles();
        let (alpha, beta, value) = self.scalars.arguments()?;
        let bytes = if buffer.is_null() { ptr::null_mut() } else { &raw mut *bytes };
        // SAFETY: as for the estimation; `bytes` is null or written by the call.
        let status = unsafe {
            sys::cusparseSpGEMM_estimateMemory(
                handle, PLAIN, PLAIN, alpha, a, b, beta, c, value, algorithm, state, CHUNK, own, buffer,
                bytes,
            )
        };
        check("cusparseSpGEMM_estimateMemory", status)
    }

    fn compute(&self, bytes: &mut usize, buffer: *mut c_void) -> Result<()> {
        let (handle, algorithm, a, b, c, state) = self.operation.handles();
        let (alpha, beta, value) = self.scalars.arguments()?;
        // SAFETY: as for the estimation, whose buffer is alive.
        let status = unsafe {
            sys::cusparseSpGEMM_compute(
                handle, PLAIN, PLAIN, alpha, a, b, beta, c, value, algorithm, state, bytes, buffer,
            )
        };
        check("cusparseSpGEMM_compute", status)
    }

    /// Computes the products part by part, in a workspace that is returned.
    fn compute_in_chunks(&self) -> Result<Buffer<u8>> {
        let (device, mut bytes) = (&self.operation.library.device, 0);
        with_workspace(device, |own, buffer| self.estimate_memory(own, buffer, &mut bytes))?;
        let workspace = uninitialized(device, bytes)?;
        self.compute(&mut bytes, start(&workspace))?;
        Ok(workspace)
    }

    /// Copies the entries into the product's arrays.
    fn copy(&self) -> Result<()> {
        let (handle, algorithm, a, b, c, state) = self.operation.handles();
        let (alpha, beta, value) = self.scalars.arguments()?;
        // SAFETY: handle and descriptors are alive, and so are the buffers of the calls before.
        let status = unsafe {
            sys::cusparseSpGEMM_copy(handle, PLAIN, PLAIN, alpha, a, b, beta, c, value, algorithm, state)
        };
        check("cusparseSpGEMM_copy", status)
    }
}
