//! The run-time compiler: a file of kernels and its defines to a CUBIN for one architecture.

use crate::cu::backend_error;
use cudarc::nvrtc::{result, sys};
use kernels_core::File;
use sparse_core::{Error, Result};
use sparse_device::Defines;
use std::ffi::{CStr, CString, c_char};
use std::fmt::{self, Display};

/// An architecture by its number: 90 is sm_90.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Architecture(pub(crate) i32);

impl Display for Architecture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sm_{}", self.0)
    }
}

/// What the compiler said.
#[derive(Debug, thiserror::Error)]
#[error("compiling {file} with `{options}`: {code:?}\n{log}")]
struct CompileFailed {
    file: String,
    options: String,
    code: sys::nvrtcResult,
    log: String,
}

/// Something to compile.
#[derive(Debug)]
pub(crate) struct Source {
    name: &'static str,
    text: String,
    options: Vec<String>,
}

impl Source {
    pub(crate) fn new(file: &File, defines: &Defines, architecture: Architecture) -> Self {
        let mut options = vec![format!("--gpu-architecture={architecture}"), "--std=c++17".into()];
        options.extend(defines.iter().map(|(name, value)| format!("--define-macro={name}={value}")));
        Self { name: file.name, text: file.source(), options }
    }

    /// Everything that the result depends on but the compiler's version.
    pub(crate) fn key(&self) -> String {
        format!("{}\n{}", self.options.join(" "), self.text)
    }

    /// The CUBIN.
    pub(crate) fn compile(&self) -> Result<Vec<u8>> {
        if !is_present() {
            let reason = "nvcc made no image of it ahead of time (feature `aot`), and the run-time compiler's library \
                          (libnvrtc.so, .so.13, .so.12; nvrtc64_*.dll) is in no folder where the loader looks: \
                          install CUDA's NVRTC or name its folder in LD_LIBRARY_PATH (on Windows PATH)";
            return Err(Error::unsupported(format!("compiling {}", self.name), reason));
        }
        let text = CString::new(self.text.as_str()).map_err(backend_error)?;
        let name = CString::new(self.name).map_err(backend_error)?;
        let program = result::create_program(&text, Some(&name)).map_err(backend_error)?;
        let compiled = self.compile_program(program);
        // SAFETY: the program was made above and is not used after this.
        let _ = unsafe { result::destroy_program(program) };
        compiled
    }

    fn compile_program(&self, program: sys::nvrtcProgram) -> Result<Vec<u8>> {
        // SAFETY: the program is alive.
        let compiled = unsafe { result::compile_program(program, &self.options) };
        compiled.map_err(|error| {
            // SAFETY: as above.
            let log = unsafe { result::get_program_log(program) }.unwrap_or_default();
            let log = CStr::from_bytes_until_nul(bytes(&log)).unwrap_or_default().to_string_lossy().into();
            let options = self.options.join(" ");
            backend_error(CompileFailed { file: self.name.into(), options, code: error.0, log })
        })?;
        cubin(program).map_err(backend_error)
    }
}

/// Whether there is a compiler.
fn is_present() -> bool {
    // SAFETY: the call only looks for the library.
    unsafe { sys::is_culib_present() }
}

/// The compiler's version, or none without one.
pub(crate) fn version() -> Option<(i32, i32)> {
    if !is_present() {
        return None;
    }
    let (mut major, mut minor) = (0, 0);
    // SAFETY: both numbers are written by the call.
    let code = unsafe { sys::nvrtcVersion(&raw mut major, &raw mut minor) };
    code.result().ok().map(|()| (major, minor))
}

fn cubin(program: sys::nvrtcProgram) -> Result<Vec<u8>, result::NvrtcError> {
    let mut len = 0;
    // SAFETY: the program has been compiled for a real architecture, so it has a CUBIN, of this length.
    unsafe { sys::nvrtcGetCUBINSize(program, &raw mut len) }.result()?;
    let mut cubin = vec![0_u8; len];
    // SAFETY: the buffer has the length that was asked for.
    unsafe { sys::nvrtcGetCUBIN(program, cubin.as_mut_ptr().cast()) }.result()?;
    Ok(cubin)
}

fn bytes(chars: &[c_char]) -> &[u8] {
    // SAFETY: a c_char is a byte.
    unsafe { std::slice::from_raw_parts(chars.as_ptr().cast(), chars.len()) }
}
