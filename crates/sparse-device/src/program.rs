//! Kernels, compiled once for each set of defines.

use crate::defines::Defines;
use crate::driver::{Driver, Kernel, Program, Properties};
use sparse_core::{Error, Result};
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The key of a program: its file and macros.
type ProgramKey = (&'static str, Defines);

/// The key of a kernel: its program and name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct KernelKey {
    program: ProgramKey,
    entry: &'static str,
}

/// The compiled programs and kernels of a device.
#[derive(Debug, Default)]
pub(crate) struct Programs {
    programs: Mutex<HashMap<ProgramKey, Program>>,
    kernels: Mutex<HashMap<KernelKey, Kernel>>,
}

impl Programs {
    /// A kernel of the driver, compiled at the first call.
    pub(crate) fn kernel(
        &self,
        driver: &dyn Driver,
        file: &'static str,
        entry: &'static str,
        defines: Defines,
    ) -> Result<Kernel> {
        let key = KernelKey { program: (file, defines), entry };
        if let Some(kernel) = lock(&self.kernels).get(&key) {
            return Ok(kernel.clone());
        }
        let program = self.program(driver, &key.program)?;
        let kernel = driver.kernel(&program, entry)?;
        lock(&self.kernels).insert(key, kernel.clone());
        Ok(kernel)
    }

    fn program(&self, driver: &dyn Driver, key: &ProgramKey) -> Result<Program> {
        let mut programs = lock(&self.programs);
        if let Some(program) = programs.get(key) {
            return Ok(program.clone());
        }
        let Properties { caps, files, .. } = driver.properties();
        let file = files.iter().find(|file| file.stem() == key.0).ok_or_else(|| {
            Error::unsupported(
                format!("{} on {}", key.0, caps.backend),
                "it has no file of kernels of this name",
            )
        })?;
        debug_assert!(file.accepts(key.1.iter()), "{} has no defines {}", file.name, key.1);
        let program = driver.build(file, &key.1)?;
        programs.insert(key.clone(), program.clone());
        Ok(program)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
