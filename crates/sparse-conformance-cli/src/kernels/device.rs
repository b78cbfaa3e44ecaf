//! Compiles every kernel of a language under every set of defines, by a device's own compiler.

use anyhow::{Result, bail};
use sparse_core::Backend;
use sparse_device::Device;

/// Compiles the files whose names contain `part`, and prints what failed with the log.
pub(super) fn compile(device: &Device, part: &str) -> Result<()> {
    println!("{}", device.caps().device);
    let mut failures = 0;
    for file in device.driver().properties().files.iter().filter(|file| file.name.contains(part)) {
        let lacks = file.lacks(&device.caps().features);
        if !lacks.is_empty() {
            println!("{}: left out, for the device lacks {}", file.name, lacks.join(", "));
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
