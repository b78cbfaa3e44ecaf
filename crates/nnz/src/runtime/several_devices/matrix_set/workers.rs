//! The devices of a set as workers of the engine.

use crate::Device;
use crate::device::HostBackend;
use sparse_core::op::DenseToCsrKernel;
use sparse_core::{Error, Result, Scalar};
use sparse_device::Device as Accelerator;
use sparse_distrib::{DeviceWorker, Worker};

/// Fails if a device is named twice.
pub(super) fn check_devices(devices: &[Device]) -> Result<()> {
    for (position, device) in devices.iter().enumerate() {
        let name = device.to_string();
        if devices[..position].iter().any(|other| other.to_string() == name) {
            return Err(Error::operands("compress", format_args!("the device {name} is named twice")));
        }
    }
    Ok(())
}

/// The worker of a device, with at most `memory` bytes of it.
pub(super) fn worker<T: Scalar>(device: &Device, memory: Option<u64>) -> Box<dyn Worker<T, i32, i32>>
where
    HostBackend: DenseToCsrKernel<T, i32, i32>,
    Accelerator: DenseToCsrKernel<T, i32, i32>,
{
    fn boxed<B, T>(
        worker: DeviceWorker<B, T, i32, i32>,
        name: String,
        memory: Option<u64>,
    ) -> Box<dyn Worker<T, i32, i32>>
    where
        B: DenseToCsrKernel<T, i32, i32>,
        T: Scalar,
    {
        let worker = worker.named(name);
        Box::new(match memory {
            Some(bytes) => worker.with_budget(bytes),
            None => worker,
        })
    }
    match device {
        Device::Cpu(backend) => {
            boxed(DeviceWorker::new(HostBackend::clone(backend)), device.to_string(), memory)
        }
        Device::Accelerator(backend, _) => {
            boxed(DeviceWorker::new(backend.clone()).unpacking(), device.to_string(), memory)
        }
    }
}
