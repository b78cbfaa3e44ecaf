//! A driver without hardware, for tables of algorithms and for tests of plans.

use crate::defines::Defines;
use crate::device::Device;
use crate::driver::{Arg, Driver, Grid, Kernel, Memory, Program, Properties};
use kernels_core::File;
use sparse_core::{Caps, Error, Result};

impl Device {
    /// A device that has the algorithms of these kernels and every extension that they need, and computes nothing.
    ///
    /// Allocations and writes succeed; compiling, launching and reading are errors.
    ///
    /// ```
    /// use sparse_core::op::{Op, SpmvKernel};
    /// use sparse_core::Csr;
    /// use sparse_device::Device;
    ///
    /// let device = Device::without_hardware("none", &[], 32)?;
    /// let algorithms = SpmvKernel::<Csr<f32, Device>>::spmv_algorithms(&device, Op::None);
    /// assert!(algorithms.iter().any(|algorithm| algorithm.name == "merge_path"));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`from_driver`](Self::from_driver).
    pub fn without_hardware(
        backend: &'static str,
        files: &'static [File],
        warps_per_group: usize,
    ) -> Result<Self> {
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
        Self::from_driver(Box::new(NullDriver(Properties {
            caps,
            files,
            warps_per_group,
            exchanging_warps_per_group: warps_per_group,
            cache_bytes: 0,
            local_bytes: 48 << 10,
            shared_bytes: 1 << 16,
            largest_group: 256,
        })))
    }
}

#[derive(Debug)]
struct NullDriver(Properties);

fn refused<T>() -> Result<T> {
    Err(Error::unsupported("work on a device without hardware", "it has tables of algorithms alone"))
}

// SAFETY: it has no kernels, and nothing is ever read.
unsafe impl Driver for NullDriver {
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
