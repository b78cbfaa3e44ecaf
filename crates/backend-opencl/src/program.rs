//! Programs and kernels, which are OpenCL's whoever launches them.

use crate::error::failed;
use kernels_core::File;
use opencl3::context::Context;
use opencl3::kernel::Kernel as ClKernel;
use opencl3::program::Program as ProgramObject;
use sparse_core::{Error, Result};
use sparse_device::{Defines, Grid};

/// A compiled program.
#[derive(Debug)]
pub(crate) struct ClProgram(ProgramObject);

impl ClProgram {
    /// Compiles a file for the context's device.
    ///
    /// # Errors
    /// [`Error::Backend`] with the file, the options and the compiler's whole log.
    pub(crate) fn build(
        backend: &'static str,
        context: &Context,
        file: &File,
        defines: &Defines,
    ) -> Result<Self> {
        let options = format!("-cl-std=CL1.2 {defines}");
        let device = context.default_device();
        let mut program = ProgramObject::create_from_source(context, &file.source())
            .map_err(|code| failed(backend, "clCreateProgramWithSource", code))?;
        if let Err(code) = program.build(&[device], &options) {
            let log = program.get_build_log(device).unwrap_or_default();
            let call = format!("compiling {} with `{options}`\n{}\n", file.name, log.trim());
            return Err(failed(backend, call, code));
        }
        Ok(Self(program))
    }

    /// A kernel of the program, and how many arguments it takes.
    pub(crate) fn kernel(&self, backend: &'static str, entry: &str) -> Result<(ClKernel, usize)> {
        let error = |code| failed(backend, format!("kernel {entry}"), code);
        let kernel = ClKernel::create(&self.0, entry).map_err(error)?;
        let arguments = kernel.num_args().map_err(error)?;
        Ok((kernel, arguments as usize))
    }
}

/// An error if a launch has not as many arguments as its kernel takes, or shares memory that the kernel does not name.
pub(crate) fn check_launch(name: &str, grid: Grid, given: usize, taken: usize) -> Result<()> {
    let reason = match (grid.shared, given == taken) {
        (0, true) => return Ok(()),
        (0, false) => format!("{given} arguments for the {taken} of {name}"),
        (shared, _) => format!("{shared} bytes to share for {name}, which has what it names"),
    };
    Err(Error::unsupported("a launch", reason))
}
