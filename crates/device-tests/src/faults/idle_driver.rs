//! A driver whose kernels do nothing.

use kernels_core::File;
use sparse_core::{Error, Result};
use sparse_device::{Arg, Defines, Device, Driver, Grid, Kernel, Memory, Program, Properties};
use std::collections::BTreeSet;
use std::sync::Mutex;

/// A driver without hardware that has all algorithms of its kernels, and notes which files it launches. The first read
/// behind a launch is refused as unsupported, so that the table goes on with its next setting.
#[derive(Debug)]
pub(super) struct IdleDriver {
    properties: Properties,
    /// The files of kernels that were launched.
    launched: Mutex<BTreeSet<&'static str>>,
    /// True if nothing was read since the last launch.
    is_written: Mutex<bool>,
}

impl IdleDriver {
    /// A device of a backend's name that has these files.
    pub(super) fn device(backend: &'static str, files: &'static [File]) -> Device {
        let device = Device::without_hardware(backend, files, 8).expect("its work-groups are large enough");
        let properties = device.driver().properties().clone();
        let driver = Self { properties, launched: Mutex::default(), is_written: Mutex::default() };
        Device::from_driver(Box::new(driver)).expect("as above")
    }

    /// The names of the files of kernels that were launched.
    pub(super) fn launched(&self) -> BTreeSet<&'static str> {
        self.launched.lock().expect("nobody panics with it").clone()
    }
}

// SAFETY: no kernel runs; memory has the requested bytes, and only writes and copies change it.
unsafe impl Driver for IdleDriver {
    fn properties(&self) -> &Properties {
        &self.properties
    }

    fn allocate(&self, bytes: usize) -> Result<Memory> {
        Ok(Memory::new(Mutex::new(vec![0_u8; bytes.next_multiple_of(16)])))
    }

    unsafe fn write(&self, memory: &Memory, offset: usize, host: &[u8]) -> Result<()> {
        bytes_of(memory)?[offset..offset + host.len()].copy_from_slice(host);
        Ok(())
    }

    fn read(&self, memory: &Memory, offset: usize, host: &mut [u8]) -> Result<()> {
        let is_written = std::mem::take(&mut *self.is_written.lock().expect("nobody panics with it"));
        if is_written {
            return Err(Error::unsupported("reading what a kernel has written", "the driver runs none"));
        }
        host.copy_from_slice(&bytes_of(memory)?[offset..offset + host.len()]);
        Ok(())
    }

    unsafe fn copy(&self, from: (&Memory, usize), to: (&Memory, usize), bytes: usize) -> Result<()> {
        let copied = bytes_of(from.0)?[from.1..from.1 + bytes].to_vec();
        bytes_of(to.0)?[to.1..to.1 + bytes].copy_from_slice(&copied);
        Ok(())
    }

    fn flush(&self) -> Result<()> {
        Ok(())
    }

    fn synchronize(&self) -> Result<()> {
        Ok(())
    }

    fn build(&self, file: &File, _: &Defines) -> Result<Program> {
        Ok(Program::new(file.stem()))
    }

    fn kernel(&self, program: &Program, _: &str) -> Result<Kernel> {
        program.of::<&'static str>().map(|file| Kernel::new(*file))
    }

    unsafe fn launch(&self, kernel: &Kernel, _: Grid, _: &[Arg<'_>]) -> Result<()> {
        self.launched.lock().expect("nobody panics with it").insert(kernel.of::<&'static str>()?);
        *self.is_written.lock().expect("nobody panics with it") = true;
        Ok(())
    }
}

/// The bytes of memory of this driver.
fn bytes_of(memory: &Memory) -> Result<std::sync::MutexGuard<'_, Vec<u8>>> {
    Ok(memory.of::<Mutex<Vec<u8>>>()?.lock().expect("nobody panics with it"))
}
