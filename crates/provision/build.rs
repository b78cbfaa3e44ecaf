//! Tells the library for which target it is built: the `cc` crate asks for it outside a build script.

#![allow(clippy::print_stdout, reason = "cargo listens to what a build script prints")]

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if let Ok(target) = std::env::var("TARGET") {
        println!("cargo::rustc-env=NNZ_TARGET={target}");
    }
}
