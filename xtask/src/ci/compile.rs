//! Steps that compile.

use super::tables::harness;
use crate::portability::{self, CHECKS};
use crate::program::{BENCH, HARNESS, Program};
use anyhow::{Context, Result, ensure};
use xshell::{Shell, cmd};

pub(super) fn format(sh: &Shell) -> Result<()> {
    Ok(cmd!(sh, "cargo fmt --all --check").run()?)
}

pub(super) fn clippy(sh: &Shell) -> Result<()> {
    let workspace = workspace(sh);
    Ok(cmd!(sh, "cargo clippy {workspace...} --all-targets -- -D warnings").run()?)
}

/// Checks what feature unification hides: a crate that builds only because another one turned a feature on. Leaves out
/// the benchmark, on which no crate depends: with other features its peers would be compiled again.
pub(super) fn features(sh: &Shell) -> Result<()> {
    for package in packages(sh)?.iter().filter(|package| *package != BENCH.package) {
        cmd!(sh, "cargo check --quiet -p {package} --no-default-features").run()?;
    }
    // Traces, and their test, which no other step compiles.
    Ok(cmd!(sh, "cargo check --quiet -p sparse-server --features otel --tests").run()?)
}

fn packages(sh: &Shell) -> Result<Vec<String>> {
    let metadata = cmd!(sh, "cargo metadata --no-deps --format-version 1").quiet().read()?;
    let metadata: serde_json::Value = serde_json::from_str(&metadata)?;
    let names = metadata["packages"].as_array().context("cargo metadata lists no packages")?;
    Ok(names.iter().filter_map(|p| p["name"].as_str().map(String::from)).collect())
}

/// Runs the checks, warnings denied; rustup installs the missing toolchains and targets.
pub(super) fn portability(sh: &Shell) -> Result<()> {
    if cmd!(sh, "rustup --version").quiet().ignore_stdout().ignore_stderr().run().is_err() {
        println!("skipped: there is no rustup to install the minimum Rust and the target AArch64 with");
        return Ok(());
    }
    let _denied = sh.push_env("RUSTFLAGS", portability::RUSTFLAGS);
    for check in &CHECKS {
        let installed = command(sh, check.list).quiet().read()?;
        if !installed.lines().any(|line| line.starts_with(check.needs)) {
            command(sh, check.install).run()?;
        }
        command(sh, check.run).arg("--quiet").run()?;
    }
    Ok(())
}

/// The command of a line without quotes.
fn command<'a>(sh: &'a Shell, line: &str) -> xshell::Cmd<'a> {
    let (program, arguments) = line.split_once(' ').unwrap_or((line, ""));
    sh.cmd(program).args(arguments.split_whitespace())
}

/// Compiles the tests. It is a separate step, since other steps need the build but not that the tests pass.
/// `NNZ_REQUIRE` can ask for those of MPI.
pub(super) fn build_tests(sh: &Shell) -> Result<()> {
    if let Some(missing) = provision::missing_for_mpi(sh) {
        let required = std::env::var("NNZ_REQUIRE").unwrap_or_default();
        ensure!(!required.split(',').any(|name| name.trim() == "mpi"), "NNZ_REQUIRE asks for mpi: {missing}");
        println!("without the tests of MPI: {missing}");
    }
    let workspace = workspace(sh);
    Ok(cmd!(sh, "cargo test {workspace...} --no-run").run()?)
}

/// The arguments of every command that compiles tests, with the feature `mpi` where MPI is installed: with the same
/// features nothing is compiled twice.
pub(super) fn workspace(sh: &Shell) -> Vec<&'static str> {
    let mpi: &[_] = match provision::missing_for_mpi(sh) {
        None => &["--features", "sparse-cli/mpi"],
        Some(_) => &[],
    };
    [&["--workspace", "--quiet"], mpi].concat()
}

/// Builds the programs of later steps, so that their times do not include compiling.
pub(super) fn build_harness(sh: &Shell) -> Result<()> {
    let Program { package, name, profile } = HARNESS;
    Ok(cmd!(sh, "cargo build --profile {profile} --quiet -p {package} --bin {name}").run()?)
}

pub(super) fn doc(sh: &Shell) -> Result<()> {
    let _denied = sh.push_env("RUSTDOCFLAGS", "-D warnings");
    cmd!(sh, "cargo doc --workspace --no-deps --quiet").run()?;
    harness(sh, vec![], &["algorithms", "--check"])
}

pub(super) fn package(sh: &Shell) -> Result<()> {
    // These two need a crate that no registry has, and are in none themselves.
    let unpublished = ["--exclude", HARNESS.package, "--exclude", "xtask"];
    Ok(cmd!(sh, "cargo package --workspace {unpublished...} --quiet --no-verify --allow-dirty").run()?)
}
