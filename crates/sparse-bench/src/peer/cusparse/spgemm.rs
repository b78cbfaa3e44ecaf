//! A·A in CSR by each of the library's algorithms, which find the pattern in every run.

use super::descriptor::{SparseMatrix, data_type, start};
use super::library::{Cusparse, check};
use crate::conversion::{Arrays, Conversion, Convert};
use crate::peer::call;
use backend_cuda::{Device, stream};
use cudarc::cusparse::sys::{self, cusparseSpGEMMAlg_t as Algorithm, cusparseSpGEMMDescr_t as Descriptor};
use cudarc::driver::result;
use cudarc::driver::sys::{CUdeviceptr, CUstream};
use sparse_core::{Backend, Csr, Result};
use sparse_device::Buffer;
use std::ffi::c_void;
use std::ptr;

const NONE: sys::cusparseOperation_t = sys::cusparseOperation_t::CUSPARSE_OPERATION_NON_TRANSPOSE;

/// The part of the products that the algorithms with little memory compute at a time, as in the library's sample.
const CHUNK_FRACTION: f32 = 0.2;

/// A conversion for each algorithm.
pub(super) fn all<'a>(library: &'a Cusparse, a: &'a Csr<f32, Device>) -> Vec<Conversion<'a>> {
    let algorithms = [
        ("cusparse:alg1", Algorithm::CUSPARSE_SPGEMM_ALG1),
        ("cusparse:alg2", Algorithm::CUSPARSE_SPGEMM_ALG2),
        ("cusparse:alg3", Algorithm::CUSPARSE_SPGEMM_ALG3),
    ];
    let conversion = |(name, algorithm): (&str, Algorithm)| {
        let convert = Box::new(Square { library, a, algorithm, made: None });
        Conversion { name: name.into(), plan_seconds: None, convert }
    };
    algorithms.into_iter().map(conversion).collect()
}

/// A·A by one algorithm, and the arrays of the last run.
struct Square<'a> {
    library: &'a Cusparse,
    a: &'a Csr<f32, Device>,
    algorithm: Algorithm,
    made: Option<(Buffer<i32>, Buffer<i32>, Buffer<f32>)>,
}

/// The state of a product between its calls.
struct State(Descriptor);

impl State {
    fn new() -> Result<Self> {
        let mut descriptor = ptr::null_mut();
        // SAFETY: the call writes the descriptor.
        let status = unsafe { sys::cusparseSpGEMM_createDescr(&raw mut descriptor) };
        check("cusparseSpGEMM_createDescr", status)?;
        Ok(Self(descriptor))
    }
}

impl Drop for State {
    fn drop(&mut self) {
        // SAFETY: the descriptor was made by `new` and is not used after this.
        let _ = unsafe { sys::cusparseSpGEMM_destroyDescr(self.0) };
    }
}

/// Memory of arbitrary contents, as the library's users allocate it.
struct Workspace {
    pointer: CUdeviceptr,
    stream: CUstream,
}

impl Workspace {
    fn new(device: &Device, bytes: usize) -> Result<Self> {
        let stream = stream(device)?.cast();
        if bytes == 0 {
            return Ok(Self { pointer: 0, stream });
        }
        // SAFETY: the stream is alive, and the memory is freed once, by `Drop`.
        let pointer = unsafe { result::malloc_async(stream, bytes) };
        let pointer = pointer.map_err(|code| call::failed("cuda", "cuMemAllocAsync", code.0))?;
        Ok(Self { pointer, stream })
    }

    fn start<P>(&self) -> *mut P {
        ptr::without_provenance_mut(self.pointer as usize)
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        if self.pointer != 0 {
            // SAFETY: the memory was allocated by `new` in order with this stream, as was its use.
            let _ = unsafe { result::free_async(self.pointer, self.stream) };
        }
    }
}

impl Square<'_> {
    /// The product, with its workspace allocated as the library asks.
    fn multiply(&self) -> Result<(Buffer<i32>, Buffer<i32>, Buffer<f32>)> {
        let (device, handle, algorithm) = (&self.library.device, self.library.handle, self.algorithm);
        let (n, value) = (self.a.nrows(), data_type::<f32>()?);
        let arrays = (start(self.a.row_ptr()), start(self.a.col_idx()), start(self.a.values()));
        let a = SparseMatrix::csr::<f32>((n, n), self.a.nnz(), arrays)?;
        let offsets: Buffer<i32> = device.zeros(n + 1)?;
        let c = SparseMatrix::csr::<f32>((n, n), 0, (start(&offsets), ptr::null_mut(), ptr::null_mut()))?;
        let (state, alpha, beta) = (State::new()?, 1.0_f32, 0.0_f32);
        let (alpha, beta) = ((&raw const alpha).cast::<c_void>(), (&raw const beta).cast::<c_void>());
        let workspace = |bytes: usize| Workspace::new(device, bytes);

        let estimate = |bytes: &mut usize, buffer: *mut c_void| {
            // SAFETY: handle and descriptors are alive; the buffer is null or has the bytes that were asked for.
            let status = unsafe {
                sys::cusparseSpGEMM_workEstimation(
                    handle, NONE, NONE, alpha, a.0, a.0, beta, c.0, value, algorithm, state.0, bytes, buffer,
                )
            };
            check("cusparseSpGEMM_workEstimation", status)
        };
        let mut bytes = 0;
        estimate(&mut bytes, ptr::null_mut())?;
        let estimated = workspace(bytes)?;
        estimate(&mut bytes, estimated.start())?;

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
                        a.0,
                        beta,
                        c.0,
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
            let buffer = workspace(own)?;
            memory(&mut own, buffer.start(), &raw mut bytes)?;
        }
        let compute = |bytes: &mut usize, buffer: *mut c_void| {
            // SAFETY: as for the estimation.
            let status = unsafe {
                sys::cusparseSpGEMM_compute(
                    handle, NONE, NONE, alpha, a.0, a.0, beta, c.0, value, algorithm, state.0, bytes, buffer,
                )
            };
            check("cusparseSpGEMM_compute", status)
        };
        if algorithm == Algorithm::CUSPARSE_SPGEMM_ALG1 {
            compute(&mut bytes, ptr::null_mut())?;
        }
        let computed = workspace(bytes)?;
        compute(&mut bytes, computed.start())?;

        let (mut rows, mut cols, mut nnz) = (0, 0, 0);
        // SAFETY: the numbers are written by the call.
        let status = unsafe { sys::cusparseSpMatGetSize(c.0, &raw mut rows, &raw mut cols, &raw mut nnz) };
        check("cusparseSpMatGetSize", status)?;
        let (indices, values): (Buffer<i32>, Buffer<f32>) =
            (device.zeros(nnz as usize)?, device.zeros(nnz as usize)?);
        // SAFETY: the descriptor is alive; the arrays have the sizes that it says.
        let status =
            unsafe { sys::cusparseCsrSetPointers(c.0, start(&offsets), start(&indices), start(&values)) };
        check("cusparseCsrSetPointers", status)?;
        // SAFETY: handle and descriptors are alive, and so are the buffers of the calls before.
        let status = unsafe {
            sys::cusparseSpGEMM_copy(
                handle, NONE, NONE, alpha, a.0, a.0, beta, c.0, value, algorithm, state.0,
            )
        };
        check("cusparseSpGEMM_copy", status)?;
        Ok((offsets, indices, values))
    }
}

impl Convert for Square<'_> {
    fn run(&mut self) -> Result<Option<f64>> {
        self.made = None;
        self.made = Some(self.multiply()?);
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
            None => Ok(Arrays { offsets: vec![], indices: vec![], values: vec![] }),
        }
    }
}
