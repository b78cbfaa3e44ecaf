//! Compiles every kernel of a language under every set of defines, by a device's own compiler.

use anyhow::{Result, bail};
use sparse_core::Backend;
use sparse_device::Device;

/// Compiles the files whose names contain `part`, and prints what failed with the log; with `few_types`, 64-bit indices with
/// values of f64 alone, as the table's tier `quick` does.
pub(super) fn compile(device: &Device, part: &str, few_types: bool) -> Result<()> {
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
        if few_types {
            variants.retain(|variant| !is_wide(variant) || scalar(variant).is_none_or(|name| name == "F64"));
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

/// True if indices or offsets have 64 bits.
fn is_wide(variant: &[(&str, &str)]) -> bool {
    variant.iter().any(|define| define.1 == "long")
}

/// The type of the values, where a kernel has any.
fn scalar<'a>(variant: &[(&str, &'a str)]) -> Option<&'a str> {
    variant.iter().find(|define| define.0 == "SCALAR").map(|define| define.1)
}
