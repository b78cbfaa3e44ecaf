//! `examples/*.c` compile against `nnz.h` without a warning, link with the library alone, and give the right results.

#![cfg(unix)]

use std::env;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The compiler of C11 that the `cc` crate finds; warnings are errors.
fn compiler() -> Result<Command, cc::Error> {
    let mut build = cc::Build::new();
    build.std("c11").flag("-pedantic").warnings(true).extra_warnings(true).warnings_into_errors(true);
    build
        .target(env!("NNZ_TARGET"))
        .host(env!("NNZ_TARGET"))
        .opt_level(0)
        .out_dir(env!("CARGO_TARGET_TMPDIR"));
    Ok(build.cargo_metadata(false).try_get_compiler()?.to_command())
}

/// Compiles an example; the library is beside this test, where `cargo test` has built it.
fn compile(example: &str) -> Result<PathBuf, Box<dyn Error>> {
    let libraries = env::current_exe()?.parent().ok_or("the test is in no folder")?.to_path_buf();
    let library = libraries.join(format!("{}nnz_capi{}", env::consts::DLL_PREFIX, env::consts::DLL_SUFFIX));
    assert!(library.is_file(), "{} is not there", library.display());
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(example);
    let mut compiler = compiler()?;
    let status = compiler
        .arg("-I")
        .arg(package.join("include"))
        .arg(package.join("examples").join(example).with_extension("c"))
        .arg("-L")
        .arg(&libraries)
        .arg(format!("-Wl,-rpath,{}", libraries.display()))
        .args(["-lnnz_capi", "-o"])
        .arg(&program)
        .status()
        .map_err(|error| format!("{:?} does not start: {error}; CC names another", compiler.get_program()))?;
    assert!(status.success(), "the compiler ended with {status}");
    Ok(program)
}

/// Compiles and runs an example; an error unless it prints what is expected. Cargo's search path is left out: an older
/// library may come first there.
fn prints(example: &str, expected: &str) -> Result<(), Box<dyn Error>> {
    let output = Command::new(compile(example)?).env_remove("LD_LIBRARY_PATH").output()?;
    let (stdout, stderr) = (String::from_utf8(output.stdout)?, String::from_utf8(output.stderr)?);
    assert!(output.status.success(), "{}: {stderr}", output.status);
    assert_eq!((stdout.as_str(), stderr.as_str()), (expected, ""));
    Ok(())
}

#[test]
fn spmv() -> Result<(), Box<dyn Error>> {
    let expected = "y[0] = 201\ny[1] = 300\ny[2] = 54\n\
        refused: csr: the last offset is 4, the number of indices 5\n";
    prints("spmv", expected)
}

#[test]
fn spgemm() -> Result<(), Box<dyn Error>> {
    let expected = "C[0][0] = 1\nC[0][1] = 8\nC[1][1] = 9\nC[0][0] = 1\nC[0][1] = 0\nC[1][1] = 1\n";
    prints("spgemm", expected)
}

#[test]
fn solve() -> Result<(), Box<dyn Error>> {
    let expected = "3 x 3, 7 entries\nb = 1 0 1\nC = 1 -0.5, -0.5 1, 0 -0.5\n\
        converged: x = 1.000000 1.000000 1.000000\n";
    prints("solve", expected)
}

#[test]
fn newton() -> Result<(), Box<dyn Error>> {
    prints("newton", "8 steps: u = 0.753644 0.935343 0.935343 0.753644\n")
}
