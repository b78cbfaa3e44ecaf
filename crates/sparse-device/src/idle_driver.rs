//! A driver for tests of what plans do before anything runs: it takes memory and data, and computes nothing.

use crate::defines::Defines;
use crate::device::Device;
use crate::driver::{Arg, Driver, Grid, Kernel, Memory, Program, Properties};
use kernels_core::File;
use sparse_core::{Caps, Error, Result};

/// A device that computes nothing.
pub(crate) fn idle_device() -> Device {
    let caps = Caps {
        backend: "idle",
        device: "none".into(),
        compute_units: 1,
        is_cpu: false,
        memory_bytes: None,
        f64: true,
        flushes_subnormals: false,
        features: vec![],
    };
    let properties = Properties {
        caps,
        files: &[],
        warps_per_group: 1,
        cache_bytes: 0,
        shared_bytes: 0,
        largest_group: 256,
    };
    Device::from_driver(Box::new(IdleDriver(properties))).expect("its work-groups are large enough")
}

#[derive(Debug)]
struct IdleDriver(Properties);

fn refused<T>() -> Result<T> {
    Err(Error::unsupported("this call", "the driver is idle"))
}

// SAFETY: nothing is ever read.
unsafe impl Driver for IdleDriver {
    fn properties(&self) -> &Properties {
        &self.0
    }

    fn allocate(&self, _: usize) -> Result<Memory> {
        Ok(Memory::new(()))
    }

    unsafe fn write(&self, _: &Memory, _: usize, _: &[u8]) -> Result<()> {
        Ok(())
    }

    fn read(&self, _: &Memory, _: usize, _: &mut [u8]) -> Result<()> {
        refused()
    }

    unsafe fn copy(&self, _: (&Memory, usize), _: (&Memory, usize), _: usize) -> Result<()> {
        refused()
    }

    fn flush(&self) -> Result<()> {
        Ok(())
    }

    fn synchronize(&self) -> Result<()> {
        Ok(())
    }

    fn build(&self, _: &File, _: &Defines) -> Result<Program> {
        refused()
    }

    fn kernel(&self, _: &Program, _: &str) -> Result<Kernel> {
        refused()
    }

    unsafe fn launch(&self, _: &Kernel, _: Grid, _: &[Arg<'_>]) -> Result<()> {
        refused()
    }
}
