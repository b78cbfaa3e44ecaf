//! The C++ compiler that the crate `cc` finds.
//!
//! `CXX` names another compiler, `CXXFLAGS` adds flags; both have forms for one target, such as
//! `CXX_x86_64_unknown_linux_gnu`.

use anyhow::{Context, Result, ensure};
use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};

/// The target of this program, which is also that of its compilations.
const TARGET: &str = env!("NNZ_TARGET");

/// Options of an optimized build in this standard of C++, with warnings as errors.
pub(crate) fn cpp(standard: &str) -> cc::Build {
    let mut build = cc::Build::new();
    build.cpp(true).std(standard).opt_level(2);
    build.warnings(true).extra_warnings(true).warnings_into_errors(true);
    build.target(TARGET).host(TARGET).out_dir(std::env::temp_dir());
    build.cargo_metadata(false);
    build
}

/// Compiles and links `source` into `output`, a program or with `-shared` a library; `arguments` come last.
///
/// `output` is replaced only after success; an error has the compiler's messages.
pub(crate) fn link(
    build: &cc::Build,
    source: &Path,
    output: &Path,
    arguments: &[impl AsRef<OsStr>],
) -> Result<()> {
    let part = output.with_extension(format!("{}.part", std::process::id()));
    let folder = output.parent().with_context(|| format!("{} is in no folder", output.display()))?;
    std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    let mut command = command(build)?;
    command.arg(source).arg("-o").arg(&part).args(arguments);
    let compiled = command.output().with_context(|| not_found(&command))?;
    ensure!(
        compiled.status.success(),
        "`{}` did not compile {}:\n{}",
        program(&command),
        source.display(),
        String::from_utf8_lossy(&compiled.stderr)
    );
    std::fs::rename(&part, output).with_context(|| output.display().to_string())
}

/// True if the compiler finds a header.
pub(crate) fn finds_header(build: &cc::Build, header: &str) -> Result<bool> {
    let mut command = command(build)?;
    command.args(["-fsyntax-only", "-x", "c++", "-include", header, "/dev/null"]).stderr(Stdio::null());
    Ok(command.status().with_context(|| not_found(&command))?.success())
}

fn command(build: &cc::Build) -> Result<Command> {
    Ok(build.try_get_compiler().context("no C++ compiler is found; CXX names one")?.to_command())
}

fn program(command: &Command) -> String {
    command.get_program().display().to_string()
}

fn not_found(command: &Command) -> String {
    format!(
        "the C++ compiler `{}` does not start; Debian's is the package g++, CXX names another",
        program(command)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_replaced_by_one_that_compiles() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let (source, output) = (folder.path().join("main.cpp"), folder.path().join("bin/program"));
        let none: [&str; 0] = [];
        std::fs::write(&source, "int main() { return ANSWER; }")?;
        link(cpp("c++17").define("ANSWER", "42"), &source, &output, &none)?;
        assert_eq!(Command::new(&output).status()?.code(), Some(42));

        let refused = link(&cpp("c++17"), &source, &output, &none).map_err(|error| error.to_string());
        assert!(refused.is_err_and(|error| error.contains("main.cpp") && error.contains("ANSWER")));
        assert_eq!(Command::new(&output).status()?.code(), Some(42));
        Ok(())
    }

    #[test]
    fn headers_are_found_or_not() -> Result<()> {
        let build = cpp("c++17");
        assert!(finds_header(&build, "vector")?);
        assert!(!finds_header(&build, "no_such_header.hpp")?);
        Ok(())
    }
}
