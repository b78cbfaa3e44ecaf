//! The run-time compiler: a file of kernels and its defines to a CUBIN for one architecture.

use crate::compiler::Nvrtc;
use kernels_core::File;
use sparse_core::{Error, Result};
use sparse_device::Defines;
use std::fmt::{self, Display};

/// An architecture by its number: 90 is sm_90.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Architecture(pub(crate) i32);

impl Display for Architecture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sm_{}", self.0)
    }
}

/// A program to compile.
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

    /// Everything that the result depends on, except the compiler's version.
    pub(crate) fn key(&self) -> String {
        format!("{}\n{}", self.options.join(" "), self.text)
    }

    /// Compiles to a CUBIN.
    pub(crate) fn compile(&self) -> Result<Vec<u8>> {
        let Some(nvrtc) = Nvrtc::found() else {
            let reason = "nvcc made no image of it ahead of time (feature `aot`), and the run-time compiler's library \
                          (libnvrtc.so, .so.13, .so.12; nvrtc64_130_0.dll, _120_0.dll) is in no folder where the loader \
                          looks: install CUDA's NVRTC or name its folder in LD_LIBRARY_PATH (on Windows PATH)";
            return Err(Error::unsupported(format!("compiling {}", self.name), reason));
        };
        Ok(nvrtc.compile(self.name, &self.text, &self.options)?.cubin)
    }
}

/// The compiler's version; none without a compiler.
pub(crate) fn version() -> Option<(i32, i32)> {
    Nvrtc::found()?.version()
}
