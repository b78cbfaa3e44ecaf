//! The programs of the workspace that chores start: cargo builds them with their profile first, or a step of CI has
//! built them as it builds the tests.

use anyhow::{Context, Result};
use provision::root;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use xshell::{Cmd, Shell, cmd};

/// A program of the workspace.
pub(crate) struct Program {
    pub(crate) package: &'static str,
    pub(crate) name: &'static str,
    /// The profile with which cargo builds it for a chore.
    pub(crate) profile: &'static str,
}

/// The conformance table, and the chores that need every backend.
pub(crate) const HARNESS: Program =
    Program { package: "sparse-conformance-cli", name: "conformance", profile: "harness" };
/// Benchmarks.
pub(crate) const BENCH: Program =
    Program { package: "sparse-bench", name: "sparse-bench", profile: "release" };
/// The command.
pub(crate) const NNZ: Program = Program { package: "sparse-cli", name: "nnz", profile: "release" };

/// Thresholds of `nnz tune` for the devices of this machine (`nnz::THRESHOLDS_VARIABLE`).
const THRESHOLDS: &str = "NNZ_THRESHOLDS";

/// A shell whose programs choose algorithms as on a machine that was not tuned, unless the user names thresholds.
pub(crate) fn shell() -> Result<Shell> {
    let shell = Shell::new()?;
    if std::env::var_os(THRESHOLDS).is_none() {
        shell.set_var(THRESHOLDS, "");
    }
    Ok(shell)
}

impl Program {
    /// The command that builds and runs the program; a terminal sees what is built, which takes minutes at first.
    pub(crate) fn command<'a>(&self, shell: &'a Shell, arguments: &[impl AsRef<str>]) -> Cmd<'a> {
        let (Self { package, name, profile }, manifest) = (self, root().join("Cargo.toml"));
        let quiet = (!std::io::stderr().is_terminal()).then_some("--quiet");
        let cargo = cmd!(
            shell,
            "cargo run --profile {profile} {quiet...} --manifest-path {manifest} -p {package} --bin {name} --"
        );
        cargo.args(arguments.iter().map(AsRef::as_ref))
    }

    /// The command that runs the program that was built with the tests.
    pub(crate) fn built<'a>(&self, shell: &'a Shell, arguments: &[impl AsRef<str>]) -> Cmd<'a> {
        shell.cmd(self.path()).args(arguments.iter().map(AsRef::as_ref))
    }

    /// The path of the program that was built with the tests.
    pub(crate) fn path(&self) -> PathBuf {
        target().join("debug").join(self.name)
    }

    /// Builds and runs the program, and returns its exit code.
    pub(crate) fn run(&self, arguments: &[String]) -> Result<ExitCode> {
        exit_code(self.command(&shell()?, arguments))
    }
}

/// Runs a command, and returns its exit code.
pub(crate) fn exit_code(command: Cmd<'_>) -> Result<ExitCode> {
    let status = Command::from(command).status().context("cargo does not start")?;
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}

/// The folder of cargo's build outputs.
pub(crate) fn target() -> PathBuf {
    root().join(std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()))
}

/// The arguments of a program, as they are.
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true)]
pub(crate) struct ForwardedArguments {
    /// Arguments of the program; `--help` lists them.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) arguments: Vec<String>,
}

impl ForwardedArguments {
    /// The arguments after a subcommand.
    pub(crate) fn after(&self, subcommand: &str) -> Vec<String> {
        [&[subcommand.to_string()], &self.arguments[..]].concat()
    }
}
