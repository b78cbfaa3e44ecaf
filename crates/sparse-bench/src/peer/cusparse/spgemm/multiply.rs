//! A·B by SpGEMM, which finds the pattern in every run.

use super::super::descriptor::{data_type, start};
use super::super::library::{Cusparse, check};
use super::{Algorithm, Factor, NONE, Offsets, Product, State, uninitialised};
use cudarc::cusparse::sys;
use sparse_core::Result;
use std::ffi::c_void;
use std::ptr;

/// The part of the products that the algorithms with little memory compute at a time, as in the library's sample.
const CHUNK_FRACTION: f32 = 0.2;

/// The product, with its workspace allocated as the library asks.
pub(super) fn multiply(
    library: &Cusparse,
    algorithm: Algorithm,
    left: Factor<'_>,
    right: Factor<'_>,
) -> Result<Product> {
    let (device, handle, value) = (&library.device, library.handle, data_type::<f32>()?);
    let (a, b, c) = (left.describe()?, right.describe()?, Offsets::new(device, left, right)?);
    let (state, alpha, beta) = (State::new()?, 1.0_f32, 0.0_f32);
    let (alpha, beta) = ((&raw const alpha).cast::<c_void>(), (&raw const beta).cast::<c_void>());

    let estimate = |bytes: &mut usize, buffer: *mut c_void| {
        // SAFETY: handle and descriptors are alive; the buffer is null or has the bytes that were asked for.
        let status = unsafe {
            sys::cusparseSpGEMM_workEstimation(
                handle,
                NONE,
                NONE,
                alpha,
                a.0,
                b.0,
                beta,
                c.descriptor.0,
                value,
                algorithm,
                state.0,
                bytes,
                buffer,
            )
        };
        check("cusparseSpGEMM_workEstimation", status)
    };
    let mut bytes = 0;
    estimate(&mut bytes, ptr::null_mut())?;
    let estimated = uninitialised::<u8>(device, bytes)?;
    estimate(&mut bytes, start(&estimated))?;

    let mut bytes = 0;
    if algorithm != Algorithm::CUSPARSE_SPGEMM_ALG1 {
        let memory = |own: &mut usize, buffer: *mut c_void, bytes: *mut usize| {
            // SAFETY: as for the estimation; `bytes` is null or written by the call.
            let status = unsafe {
                sys::cusparseSpGEMM_estimateMemory(
                    handle,
                    NONE,
                    NONE,
                    alpha,
                    a.0,
                    b.0,
                    beta,
                    c.descriptor.0,
                    value,
                    algorithm,
                    state.0,
                    CHUNK_FRACTION,
                    own,
                    buffer,
                    bytes,
                )
            };
            check("cusparseSpGEMM_estimateMemory", status)
        };
        let mut own = 0;
        memory(&mut own, ptr::null_mut(), ptr::null_mut())?;
        let buffer = uninitialised::<u8>(device, own)?;
        memory(&mut own, start(&buffer), &raw mut bytes)?;
    }
    let compute = |bytes: &mut usize, buffer: *mut c_void| {
        // SAFETY: as for the estimation.
        let status = unsafe {
            sys::cusparseSpGEMM_compute(
                handle,
                NONE,
                NONE,
                alpha,
                a.0,
                b.0,
                beta,
                c.descriptor.0,
                value,
                algorithm,
                state.0,
                bytes,
                buffer,
            )
        };
        check("cusparseSpGEMM_compute", status)
    };
    if algorithm == Algorithm::CUSPARSE_SPGEMM_ALG1 {
        compute(&mut bytes, ptr::null_mut())?;
    }
    let computed = uninitialised::<u8>(device, bytes)?;
    compute(&mut bytes, start(&computed))?;

    let (product, c) = c.with_entries(device, |nnz| uninitialised(device, nnz))?;
    // SAFETY: handle and descriptors are alive, and so are the buffers of the calls before.
    let status = unsafe {
        sys::cusparseSpGEMM_copy(handle, NONE, NONE, alpha, a.0, b.0, beta, c.0, value, algorithm, state.0)
    };
    check("cusparseSpGEMM_copy", status)?;
    Ok(product)
}
