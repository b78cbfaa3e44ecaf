//! NVRTC, the run-time compiler of CUDA, from PyPI: it needs neither a GPU nor a driver.

use anyhow::{Context, Result};
use backend_cuda::compiler;
use libloading::Library;
use std::path::PathBuf;
use xshell::Shell;

/// The version of the GPU machine's own toolkit, so that register counts agree.
pub(super) const VERSION: &str = "13.0.88";
const LIBRARIES: &str = "nvidia/cu13/lib";

/// The loaded library. It may be used by several threads at once.
pub(super) struct Nvrtc {
    compiler: compiler::Nvrtc,
    _builtins: Library,
}

impl Nvrtc {
    /// Loads the library; fetches it into target/ first if it is not there yet.
    pub(super) fn load() -> Result<Self> {
        let folder = fetch()?.join(LIBRARIES);
        // NVRTC looks for its built-in functions by name alone; a library that is already loaded is found so.
        let builtins = folder.join("libnvrtc-builtins.so.13.0");
        // SAFETY: the initializers of NVIDIA's libraries have no requirements.
        let loaded = unsafe { Library::new(&builtins) };
        let _builtins = loaded.with_context(|| format!("loading {}", builtins.display()))?;
        let library = folder.join("libnvrtc.so.13");
        // SAFETY: it is the library of NVIDIA's package.
        let compiler = unsafe { compiler::Nvrtc::open(&library) };
        let compiler = compiler.with_context(|| format!("loading {}", library.display()))?;
        Ok(Self { compiler, _builtins })
    }

    /// Compiles a file to a CUBIN and returns the log of the assembler, or fails with that of the compiler.
    pub(super) fn compile(&self, name: &str, source: &str, options: &[String]) -> Result<String> {
        Ok(self.compiler.compile(name, source, options)?.log)
    }
}

/// The folder of the package.
fn fetch() -> Result<PathBuf> {
    let folder = format!("nvrtc-{VERSION}");
    let package = format!("nvidia-cuda-nvrtc=={VERSION}");
    provision::from_pypi(&Shell::new()?, &folder, LIBRARIES, &[&package])
}
