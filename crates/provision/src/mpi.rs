//! MPI, which the system's package manager installs.

use std::path::{Path, PathBuf};
use xshell::{Shell, cmd};

/// The first thing that is missing here to build and run programs of MPI, and where Debian has it.
pub fn missing_for_mpi(sh: &Shell) -> Option<String> {
    for (program, package) in [("mpicc", "libopenmpi-dev"), ("mpirun", "openmpi-bin")] {
        if cmd!(sh, "{program} --version").quiet().ignore_stdout().ignore_stderr().run().is_err() {
            return Some(format!("there is no {program}; Debian's is in the package {package}"));
        }
    }
    let libclang = std::env::var_os("LIBCLANG_PATH").is_some() || library_folders().any(|f| has_libclang(&f));
    let missing =
        "there is no libclang; Debian's is in the package libclang-dev, LIBCLANG_PATH names another";
    (!libclang).then(|| missing.into())
}

/// Folders of libraries, of one architecture and of LLVM's versions among them.
fn library_folders() -> impl Iterator<Item = PathBuf> {
    ["/usr/lib", "/usr/lib64", "/usr/local/lib"].into_iter().flat_map(|folder| {
        let inner = Path::new(folder).read_dir().into_iter().flatten().flatten();
        let inner = inner.flat_map(|entry| [entry.path(), entry.path().join("lib")]);
        std::iter::once(folder.into()).chain(inner)
    })
}

/// True if a folder has `libclang.so` or one with a version, such as `libclang-15.so.1`.
fn has_libclang(folder: &Path) -> bool {
    folder.read_dir().into_iter().flatten().flatten().any(|entry| {
        let name = entry.file_name();
        let version = name.to_str().and_then(|name| name.strip_prefix("libclang"));
        version.is_some_and(|version| {
            version.trim_start_matches(|c: char| c == '-' || c.is_ascii_digit()).starts_with(".so")
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libclang_has_any_version_and_is_not_a_part_of_clang() -> anyhow::Result<()> {
        for (name, is_libclang) in [
            ("libclang.so", true),
            ("libclang-15.so.1", true),
            ("libclang.so.18.1", true),
            ("libclang-cpp.so.15", false),
            ("libclang_rt.asan.so", false),
        ] {
            let folder = tempfile::tempdir()?;
            std::fs::write(folder.path().join(name), "")?;
            assert_eq!(has_libclang(folder.path()), is_libclang, "{name}");
        }
        Ok(())
    }
}
