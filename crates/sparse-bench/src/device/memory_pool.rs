//! The bytes in use of the pool from which CUDA allocates in order with a stream: all of our buffers, and the
//! workspaces that other libraries are given.

use crate::peer::call;
use backend_cuda::CUDA;
use cudarc::driver::result::{self, DriverError};
use cudarc::driver::sys::{CUmemPool_attribute as Attribute, CUmemoryPool};
use sparse_core::{Error, Result};

/// The error of a call.
fn failed(call: &'static str) -> impl FnOnce(DriverError) -> Error {
    move |code| call::failed("cuda", call, code.0)
}

/// A device's default pool.
pub(super) struct MemoryPool(CUmemoryPool);

impl MemoryPool {
    /// The pool of the preferred device.
    pub(super) fn preferred() -> Result<Self> {
        let device = result::device::get(CUDA.preferred_index()? as i32).map_err(failed("cuDeviceGet"))?;
        // SAFETY: the device was just got from the library.
        let pool = unsafe { result::device::get_default_mem_pool(device) };
        pool.map(Self).map_err(failed("cuDeviceGetDefaultMemPool"))
    }

    /// The bytes that are in use now.
    pub(super) fn in_use(&self) -> Result<u64> {
        self.get(Attribute::CU_MEMPOOL_ATTR_USED_MEM_CURRENT)
    }

    /// The most bytes that were in use since the last [`reset`](Self::reset).
    pub(super) fn peak(&self) -> Result<u64> {
        Ok(self.get(Attribute::CU_MEMPOOL_ATTR_USED_MEM_HIGH)?.max(self.in_use()?))
    }

    /// Begins a new measurement of the peak.
    pub(super) fn reset(&self) -> Result<()> {
        let mut bytes = 0_u64;
        let attribute = Attribute::CU_MEMPOOL_ATTR_USED_MEM_HIGH;
        // SAFETY: a device's default pool is never destroyed; the attribute is a 64-bit number, as given.
        let done = unsafe { result::mem_pool::set_attribute(self.0, attribute, (&raw mut bytes).cast()) };
        done.map_err(failed("cuMemPoolSetAttribute"))
    }

    fn get(&self, attribute: Attribute) -> Result<u64> {
        let mut bytes = 0_u64;
        // SAFETY: a device's default pool is never destroyed; the call writes these attributes, 64-bit numbers.
        let done = unsafe { result::mem_pool::get_attribute(self.0, attribute, (&raw mut bytes).cast()) };
        done.map_err(failed("cuMemPoolGetAttribute"))?;
        Ok(bytes)
    }
}
