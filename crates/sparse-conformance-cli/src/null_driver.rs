//! A driver whose devices have only tables of algorithms.

use kernels_core::File;
use sparse_core::{Caps, Error, Result};
use sparse_device::{Arg, Defines, Driver, Grid, Kernel, Memory, Program, Properties};

/// A device without hardware: it has the kernels of a library and every extension, and runs nothing.
#[derive(Debug)]
pub(crate) struct NullDriver(Properties);

impl NullDriver {
    /// A device of a backend with these kernels.
    pub(crate) fn new(backend: &'static str, files: &'static [File], warps_per_group: usize) -> Self {
        let caps = Caps {
            backend,
            device: "none".into(),
            compute_units: 1,
            is_cpu: false,
            memory_bytes: None,
            f64: true,
            flushes_subnormals: false,
            features: files.iter().flat_map(|file| file.needs).map(ToString::to_string).collect(),
        };
        Self(Properties {
            caps,
            files,
            warps_per_group,
            cache_bytes: 0,
            shared_bytes: 1 << 16,
            largest_group: 256,
        })
    }
}

fn refused<T>() -> Result<T> {
    Err(Error::unsupported("work on a device without memory", "it has tables of algorithms alone"))
}

// SAFETY: it returns no memory and no kernels.
unsafe impl Driver for NullDriver {
    fn properties(&self) -> &Properties {
        &self.0
    }

    fn allocate(&self, _: usize) -> Result<Memory> {
        refused()
    }

    unsafe fn write(&self, _: &Memory, _: usize, _: &[u8]) -> Result<()> {
        refused()
    }

    fn read(&self, _: &Memory, _: usize, _: &mut [u8]) -> Result<()> {
        refused()
    }

    unsafe fn copy(&self, _: (&Memory, usize), _: (&Memory, usize), _: usize) -> Result<()> {
        refused()
    }

    fn flush(&self) -> Result<()> {
        refused()
    }

    fn synchronize(&self) -> Result<()> {
        refused()
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
