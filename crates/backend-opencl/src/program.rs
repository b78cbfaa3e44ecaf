//! OpenCL's programs and kernels, for both drivers.

use crate::devices::nvidia_architecture;
use crate::error::failed;
use crate::owned::{Context, Owned};
use cl3::kernel::{CL_KERNEL_NUM_ARGS, create_kernel, get_kernel_info, release_kernel};
use cl3::program::{
    CL_PROGRAM_BUILD_LOG, build_program, create_program_with_source, get_program_build_info, release_program,
};
use kernels_core::File;
use opencl3::device::Device;
use sparse_core::{Error, Result};
use sparse_device::{Defines, Grid};
use std::ffi::CString;
use std::ptr;

/// A compiled program.
#[derive(Debug)]
pub(crate) struct ClProgram(Owned);

impl ClProgram {
    /// Compiles a file for the context's device.
    ///
    /// A build that fails is tried again: in `PoCL` 3.1 it fails where another process compiles the same text, as ranks of
    /// MPI do, and removes a file of the cache that both have found.
    ///
    /// # Errors
    /// [`Error::Backend`] with the file, the options and the compiler's whole log.
    pub(crate) fn build(
        backend: &'static str,
        context: &Context,
        file: &File,
        defines: &Defines,
    ) -> Result<Self> {
        let architecture = nvidia_architecture(&Device::new(context.device()));
        let registers = most_registers(file, defines).filter(|_| architecture >= FIRST_LIMITED);
        let limit = registers.map_or(String::new(), |most| format!(" -cl-nv-maxrregcount={most}"));
        let options = format!("-cl-std=CL1.2{limit} -D NV_ARCH={architecture} {defines}");
        let attempt = || Self::compile(backend, context, file, &options);
        (1..BUILD_ATTEMPTS).find_map(|_| attempt().ok()).map_or_else(attempt, Ok)
    }

    /// Compiles a file with these options, once.
    fn compile(backend: &'static str, context: &Context, file: &File, options: &str) -> Result<Self> {
        let arguments = text(file.name, options)?;
        let program = create_program_with_source(context.get(), &[&file.source()])
            .map_err(|code| failed(backend, "clCreateProgramWithSource", code))?;
        // SAFETY: the program is new.
        let program = unsafe { Owned::new(program, release_program) };
        let device = context.device();
        if let Err(code) = build_program(program.get(), &[device], &arguments, None, ptr::null_mut()) {
            let log = get_program_build_info(program.get(), device, CL_PROGRAM_BUILD_LOG);
            let log = log.map(String::from).unwrap_or_default();
            let call = format!("compiling {} with `{options}`\n{}\n", file.name, log.trim());
            return Err(failed(backend, call, code));
        }
        Ok(Self(program))
    }

    /// A kernel of the program, and the number of its arguments.
    pub(crate) fn kernel(&self, backend: &'static str, entry: &str) -> Result<(Owned, usize)> {
        let error = |code| failed(backend, format!("kernel {entry}"), code);
        let kernel = create_kernel(self.0.get(), &text("a kernel", entry)?).map_err(error)?;
        // SAFETY: the kernel is new.
        let kernel = unsafe { Owned::new(kernel, release_kernel) };
        let arguments = get_kernel_info(kernel.get(), CL_KERNEL_NUM_ARGS).map_err(error)?.to_uint();
        Ok((kernel, arguments as usize))
    }
}

/// The most builds of a program before it counts as one that cannot be compiled.
const BUILD_ATTEMPTS: u32 = 4;
/// The first architecture of NVIDIA with limits of registers: those before it were not measured.
const FIRST_LIMITED: u32 = 80;

/// The most registers of a work-item on NVIDIA's devices, for kernels that wait for memory most of the time: with so
/// few a multiprocessor runs as many warps at once as those of CUDA, which have the same limits. Measured on an H200
/// with 8-byte values and columns of 16 bits on bands and meshes: 0.78 to 0.98 of the time with 32.
fn most_registers(file: &File, defines: &Defines) -> Option<u32> {
    let value = |name| defines.iter().find(|(own, _)| *own == name).map_or("", |(_, value)| value);
    let sum_bytes = match value("SCALAR") {
        "C64" => 16,
        "F64" | "C32" => 8,
        _ => 4,
    };
    let entry_bytes = sum_bytes + if value("IDX") == "long" { 8 } else { 4 };
    match file.stem() {
        "csr_spmv_length_classes" | "csr_spmv_sliced_columns" => match entry_bytes {
            ..=8 => Some(32),
            9..=12 => Some(40),
            _ => None,
        },
        "csr_deltas_vector" | "csr_deltas_vector_evict_first" if value("SCALAR") == "F64" => Some(32),
        _ => None,
    }
}

/// A text as a C string.
pub(crate) fn text(what: &str, text: &str) -> Result<CString> {
    CString::new(text).map_err(|_| Error::unsupported(what, "it has a zero byte"))
}

/// An error if a launch has another number of arguments than its kernel, or requests dynamic shared memory.
pub(crate) fn check_launch(name: &str, grid: Grid, given: usize, taken: usize) -> Result<()> {
    let reason = match (grid.shared, given == taken) {
        (0, true) => return Ok(()),
        (0, false) => format!("{given} arguments for the {taken} of {name}"),
        (shared, _) => format!("{shared} bytes of dynamic shared memory for {name}, which declares its own"),
    };
    Err(Error::unsupported("a launch", reason))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_sums_have_more_registers() {
        let most = |name: &str, scalar: &str| {
            let file = kernels_cl::FILES.iter().find(|file| file.stem() == name).unwrap();
            most_registers(file, &Defines::default().set("SCALAR", scalar).set("IDX", "int"))
        };
        let classes = ["F32", "F64", "C64"].map(|scalar| most("csr_spmv_length_classes", scalar));
        assert_eq!(classes, [Some(32), Some(40), None]);
        assert_eq!(["F32", "F64"].map(|scalar| most("csr_deltas_vector", scalar)), [None, Some(32)]);
        assert_eq!(most("csr_spmv", "F32"), None);
    }
}
