//! `cargo xtask kernels`: compiles the kernels.

#[cfg(feature = "cuda")]
mod cuda;
mod device;
#[cfg(feature = "cuda")]
mod nvrtc;
#[cfg(feature = "opencl")]
mod opencl;
#[cfg(feature = "cuda")]
mod snapshot;

use anyhow::Result;

/// Compiles the kernels of a language.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Language {
    #[cfg(feature = "cuda")]
    Cuda(cuda::Args),
    #[cfg(feature = "opencl")]
    Opencl(opencl::Args),
}

/// Compiles the kernels.
pub(crate) fn run(language: &Language) -> Result<()> {
    match language {
        #[cfg(feature = "cuda")]
        Language::Cuda(args) => cuda::run(args),
        #[cfg(feature = "opencl")]
        Language::Opencl(args) => opencl::run(args),
    }
}
