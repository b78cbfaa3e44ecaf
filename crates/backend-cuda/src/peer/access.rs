//! Access of devices to each other's memory.

use crate::error::failed;
use crate::queue::Queue;
use cudarc::driver::{result, sys};
use sparse_core::Result;

/// Lets each device reach the memory of all others that it can reach; true if that is all of them. Memory of a stream's
/// pool is its own device's until then.
pub(super) fn allow<'a>(queues: impl Iterator<Item = &'a Queue>) -> Result<bool> {
    let mut devices: Vec<_> = queues.map(Queue::device).collect();
    devices.sort_unstable();
    devices.dedup();
    let mut all = true;
    for &owner in &devices {
        for &reader in devices.iter().filter(|&&reader| reader != owner) {
            match reaches(reader, owner)? {
                true => open_pool(owner, reader)?,
                false => all = false,
            }
        }
    }
    Ok(all)
}

fn reaches(device: sys::CUdevice, peer: sys::CUdevice) -> Result<bool> {
    let mut can = 0;
    // SAFETY: both devices were found, and the call writes one number.
    let asked = unsafe { sys::cuDeviceCanAccessPeer(&raw mut can, device, peer) };
    asked.result().map_err(failed("cuDeviceCanAccessPeer"))?;
    Ok(can != 0)
}

/// Lets `reader` read and write all memory of the pool of `owner`.
fn open_pool(owner: sys::CUdevice, reader: sys::CUdevice) -> Result<()> {
    let location =
        sys::CUmemLocation { type_: sys::CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE, id: reader };
    let access =
        sys::CUmemAccessDesc { location, flags: sys::CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
    // SAFETY: the device was found, the pool is its own, and one description is given.
    let done = unsafe {
        result::device::get_default_mem_pool(owner)
            .and_then(|pool| sys::cuMemPoolSetAccess(pool, &raw const access, 1).result())
    };
    done.map_err(failed("cuMemPoolSetAccess"))
}
