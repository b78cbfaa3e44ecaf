//! A driver with a fault.

use super::{Fault, Site};
use kernels_core::File;
use sparse_core::Result;
use sparse_device::{Arg, Defines, Driver, Grid, Kernel, Memory, Program, Properties};
use std::sync::Mutex;

/// Another driver, with a fault in one file of its kernels or in its reads.
#[derive(Debug)]
pub(super) struct PlantedDriver {
    driver: Box<dyn Driver>,
    fault: &'static Fault,
    /// The file with the fault.
    file: Option<File>,
    /// The result of each compilation of that file.
    builds: Mutex<Vec<Result<(), String>>>,
}

impl PlantedDriver {
    pub(super) fn new(driver: Box<dyn Driver>, fault: &'static Fault) -> Self {
        let file = driver.properties().files.iter().find_map(|file| fault.plant(file));
        Self { driver, fault, file, builds: Mutex::default() }
    }

    /// Asserts that the file with the fault was compiled without an error: every operation would find a compile error.
    pub(super) fn assert_was_run(&self) {
        let builds = self.builds.lock().expect("nobody panics with it");
        let is_used = !builds.is_empty() || matches!(self.fault.place, Site::Read);
        assert!(is_used, "{}: the file is never compiled", self.fault.name());
        assert!(builds.iter().all(Result::is_ok), "{}: {builds:?}", self.fault.name());
    }
}

// SAFETY: memory, programs and kernels are the other driver's. What is planted is no kernel of `Properties::files`, and
// reads go wrong: that is the fault, which keeps inside its memory.
unsafe impl Driver for PlantedDriver {
    fn properties(&self) -> &Properties {
        self.driver.properties()
    }

    fn allocate(&self, bytes: usize) -> Result<Memory> {
        self.driver.allocate(bytes)
    }

    unsafe fn write(&self, memory: &Memory, offset: usize, host: &[u8]) -> Result<()> {
        // SAFETY: the caller promises the same.
        unsafe { self.driver.write(memory, offset, host) }
    }

    fn read(&self, memory: &Memory, offset: usize, host: &mut [u8]) -> Result<()> {
        self.driver.read(memory, offset, host)?;
        if matches!(self.fault.place, Site::Read) && host.len() >= 16 {
            host.copy_within(8..12, 12);
        }
        Ok(())
    }

    unsafe fn copy(&self, from: (&Memory, usize), to: (&Memory, usize), bytes: usize) -> Result<()> {
        // SAFETY: the caller promises the same.
        unsafe { self.driver.copy(from, to, bytes) }
    }

    fn flush(&self) -> Result<()> {
        self.driver.flush()
    }

    fn synchronize(&self) -> Result<()> {
        self.driver.synchronize()
    }

    fn build(&self, file: &File, defines: &Defines) -> Result<Program> {
        let Some(planted) = self.file.filter(|_| self.fault.is_in(file)) else {
            return self.driver.build(file, defines);
        };
        let built = self.driver.build(&planted, defines);
        let outcome = built.as_ref().map(drop).map_err(ToString::to_string);
        self.builds.lock().expect("nobody panics with it").push(outcome);
        built
    }

    fn kernel(&self, program: &Program, entry: &str) -> Result<Kernel> {
        self.driver.kernel(program, entry)
    }

    unsafe fn launch(&self, kernel: &Kernel, grid: Grid, args: &[Arg<'_>]) -> Result<()> {
        // SAFETY: the caller promises the same.
        unsafe { self.driver.launch(kernel, grid, args) }
    }
}
