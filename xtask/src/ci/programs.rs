//! Steps that run the programs of the step `build`.

use super::compile::{build_tests, workspace};
use super::tables::unoptimized_pocl;
use crate::bench;
use crate::program::{BENCH, HARNESS, NNZ, target};
use anyhow::Result;
use provision::{Runtime, python_packages, root};
use xshell::{Shell, cmd};

/// Runs the tests without OpenCL: those of its devices are run by the step `opencl`.
pub(super) fn test(sh: &Shell) -> Result<()> {
    let workspace = workspace(sh);
    Ok(cmd!(sh, "cargo test {workspace...}").env("OCL_ICD_VENDORS", "/nowhere/vendors").run()?)
}

pub(super) fn scipy(sh: &Shell) -> Result<()> {
    let packages = python_packages(sh)?;
    let _path = sh.push_env("PYTHONPATH", packages);
    // Built with the tests in debug mode: compiling it in release mode takes longer than the program saves, and
    // building only the program would compile it again with other features.
    build_tests(sh)?;
    let nnz = NNZ.path();
    Ok(cmd!(sh, "python3 crates/sparse-cli/tests/compare_with_scipy --nnz {nnz}").run()?)
}

/// Packs the extension into a wheel, installs it into an empty folder and runs its tests, with PoCL as a device.
pub(super) fn python(sh: &Shell) -> Result<()> {
    // With the features of the step `build`, which compiled all that the library is linked of.
    let workspace = workspace(sh);
    cmd!(sh, "cargo build {workspace...} --lib --test command").run()?;
    let library = target().join("debug/libnnz_python.so");
    let wheel = root().join("target/python-wheel");
    sh.remove_path(&wheel)?;
    sh.create_dir(&wheel)?;
    cmd!(sh, "python3 crates/sparse-python/pack_wheel.py {library} {wheel}").run()?;
    let installed = provision::install_wheel(sh, &wheel)?;
    let pytest = provision::from_pypi(sh, "pytest", "mypy", &["pytest", "pytest-timeout", "mypy"])?;
    // Their tests are skipped where they cannot be imported.
    let parallel = provision::from_pypi(sh, "python-parallel", "mpi4py", &["dask", "distributed", "mpi4py"])?;
    let learning = provision::from_pypi(sh, "python-learning", "sklearn", &["scikit-learn", "networkx"])?;
    let _tests = sh.push_dir(root().join("crates/sparse-python"));
    // The oldest versions that the package allows, where there are wheels of them for this Python.
    let oldest = ["--only-binary=:all:", "numpy==1.26.*", "scipy==1.15.*"];
    if let Ok(oldest) = provision::from_pypi(sh, "python-oldest", "scipy", &oldest) {
        let packages = std::env::join_paths([&installed, &oldest, &pytest])?;
        let tests = ["arrays", "constructors", "linalg"].map(|name| format!("tests/test_{name}.py"));
        cmd!(sh, "python3 -m pytest --quiet {tests...}").env("PYTHONPATH", packages).run()?;
    }
    let packages = [installed, python_packages(sh)?, pytest, parallel, learning];
    cmd!(sh, "python3 -m pytest --quiet")
        .env("PYTHONPATH", std::env::join_paths(packages)?)
        .env("NNZ_CONFORMANCE", HARNESS.path())
        .envs(unoptimized_pocl(sh)?)
        .run()?;
    Ok(())
}

pub(super) fn benchmarks(sh: &Shell) -> Result<()> {
    let _path = sh.push_env("PYTHONPATH", python_packages(sh)?);
    // Builds the program, too, with the profile and the features of the step `build`, so that little is compiled again:
    // the peers take minutes to compile in release mode, and a smoke run saves seconds by it.
    let workspace = workspace(sh);
    cmd!(sh, "cargo bench {workspace...} --profile dev --bench operations -- --test")
        .envs(unoptimized_pocl(sh)?)
        .run()?;
    for suite in ["all", "choice"] {
        BENCH.built(sh, &["--suite", suite, "--smoke"]).envs(bench::peers(sh)?).run()?;
        BENCH
            .built(sh, &["--suite", suite, "--smoke", "--backend", "opencl"])
            .envs(unoptimized_pocl(sh)?)
            .envs(provision::viennacl())
            .run()?;
    }
    let figures = BENCH.built(sh, &["--suite", "seed-001", "--smoke"]);
    figures.envs(unoptimized_pocl(sh)?).run()?;
    let sycl = BENCH.built(sh, &["--suite", "all", "--smoke", "--backend", "sycl"]);
    Ok(sycl.envs(provision::sycl(sh, Some(Runtime::Intel))?).run()?)
}
