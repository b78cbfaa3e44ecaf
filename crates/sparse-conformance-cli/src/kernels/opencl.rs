//! `cargo xtask kernels opencl`: compiles every OpenCL kernel under every set of defines.

use anyhow::Result;
use backend_opencl::OPENCL;

/// Compiles every OpenCL kernel under every set of defines on one device, and prints what failed with the log.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The device, by a part of its name; without it the one that NNZ_OPENCL_DEVICE names, or the first.
    #[arg(long)]
    device: Option<String>,
    /// Only files whose names contain this.
    #[arg(long, default_value = "")]
    file: String,
}

/// Compiles the kernels.
pub(super) fn run(args: &Args) -> Result<()> {
    let device = match &args.device {
        Some(part) => OPENCL.open_named(part)?,
        None => OPENCL.open_preferred()?,
    };
    super::device::compile(&device, &args.file)
}
