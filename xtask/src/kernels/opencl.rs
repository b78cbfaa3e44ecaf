//! `cargo xtask kernels opencl`: compiles every OpenCL kernel under every set of defines.

use anyhow::{Result, bail};
use backend_opencl::OpenCl;
use sparse_core::Backend;

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
        Some(part) => OpenCl::named(part)?,
        None => OpenCl::from_env()?,
    };
    println!("{}", device.caps().device);
    let mut failures = 0;
    for file in kernels_cl::FILES.iter().filter(|file| file.name.contains(&args.file)) {
        if !file.runs_with(&device.caps().features) {
            println!("{}: left out, for the device lacks {}", file.name, file.needs.join(", "));
            continue;
        }
        let mut variants = file.variants();
        if !device.caps().f64 {
            variants.retain(|variant| !variant.iter().any(|define| matches!(define.1, "F64" | "C64")));
        }
        let errors: Vec<_> =
            variants.iter().filter_map(|defines| device.compile(file, defines).err()).collect();
        println!("{}: {} of {} variants compile", file.name, variants.len() - errors.len(), variants.len());
        errors.iter().for_each(|error| println!("{error}"));
        failures += errors.len();
    }
    if failures > 0 {
        bail!("{failures} variants do not compile");
    }
    Ok(())
}
