//! The backends of the harness; another one is one line.

use anyhow::Result;
#[cfg(feature = "opencl")]
use provision::Runtime;
use provision::Variables;
use sparse_conformance::Suite;
use xshell::Shell;

/// A backend by name.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Known {
    /// The name of the backend on the command line.
    pub(crate) name: &'static str,
    /// True if it runs only when it is named: the reference is the standard of comparison, and SYCL runs the kernels of
    /// OpenCL.
    pub(crate) on_request: bool,
    /// True if concurrent processes are slower than one: they take turns on a GPU, and each compiles all kernels.
    pub(crate) alone: bool,
    /// True if it compiles kernels: then a part of its table has all cases of some operations, so that no two processes
    /// compile one kernel. Other parts have all operations of some cases, which share a matrix and expected results.
    pub(crate) compiles: bool,
    /// Opens its suite on each of these numbers of threads, or on the usual one if there is none, or returns the reason
    /// why it cannot.
    pub(crate) open: fn(threads: &[usize]) -> Result<Suite>,
}

/// The backends. A function and not a constant, whose functions cargo would compile again, with the whole table, for
/// the unit tests of this crate.
pub(crate) fn known() -> [Known; 5] {
    let known = |name, open| Known { name, on_request: false, alone: false, compiles: true, open };
    [
        Known { on_request: true, compiles: false, ..known("reference", |_| Ok(Suite::reference())) },
        Known { compiles: false, ..known("cpu", cpu) },
        known("opencl", opencl),
        Known { on_request: true, ..known("sycl", sycl) },
        Known { alone: true, ..known("cuda", cuda) },
    ]
}

/// The backend called `name`.
pub(crate) fn find(name: &str) -> Option<Known> {
    known().into_iter().find(|known| known.name == name)
}

#[cfg(feature = "cpu")]
fn cpu(threads: &[usize]) -> Result<Suite> {
    let [first, others @ ..] = threads else { return Ok(Suite::full(&backend_cpu::Cpu::new()?)) };
    let suite = |threads| -> Result<Suite> {
        Ok(Suite::full(&backend_cpu::Cpu::with(threads, backend_cpu::Simd::detect())?))
    };
    others.iter().try_fold(suite(*first)?, |all, &threads| Ok(all.compared_with(suite(threads)?)?))
}

#[cfg(not(feature = "cpu"))]
fn cpu(_: &[usize]) -> Result<Suite> {
    not_built("cpu")
}

#[cfg(feature = "opencl")]
fn opencl(_: &[usize]) -> Result<Suite> {
    suite_of(&backend_opencl::OPENCL)
}

#[cfg(not(feature = "opencl"))]
fn opencl(_: &[usize]) -> Result<Suite> {
    not_built("opencl")
}

#[cfg(feature = "sycl")]
fn sycl(_: &[usize]) -> Result<Suite> {
    suite_of(&backend_opencl::sycl::SYCL)
}

#[cfg(not(feature = "sycl"))]
fn sycl(_: &[usize]) -> Result<Suite> {
    not_built("sycl")
}

#[cfg(feature = "cuda")]
fn cuda(_: &[usize]) -> Result<Suite> {
    suite_of(&backend_cuda::CUDA)
}

#[cfg(not(feature = "cuda"))]
fn cuda(_: &[usize]) -> Result<Suite> {
    not_built("cuda")
}

/// The suite of the preferred device of a library, with the device's name, since there may be many.
#[cfg(any(feature = "opencl", feature = "cuda"))]
fn suite_of(library: &sparse_device::Library) -> Result<Suite> {
    let device = library.open_preferred()?;
    let caps = sparse_core::Backend::caps(&device);
    eprintln!("{}: {}", caps.backend, caps.device);
    Ok(Suite::full(&device))
}

#[cfg(not(all(feature = "cpu", feature = "sycl", feature = "cuda")))]
fn not_built(name: &str) -> Result<Suite> {
    Err(anyhow::anyhow!("built without the {name} backend"))
}

/// Returns a function that fetches a device for a backend without any.
#[cfg(feature = "opencl")]
pub(crate) fn provision(name: &str) -> Option<fn(&Shell) -> Result<Variables>> {
    let no_opencl = || backend_opencl::OPENCL.probe().devices.is_empty();
    match name {
        "opencl" if no_opencl() => Some(|shell| Runtime::Pocl.variables(shell)),
        #[cfg(feature = "sycl")]
        "sycl" if !backend_opencl::sycl::SYCL.probe().devices.is_empty() => None,
        #[cfg(feature = "sycl")]
        "sycl" if no_opencl() => Some(|shell| provision::sycl(shell, Some(Runtime::Pocl))),
        #[cfg(feature = "sycl")]
        "sycl" => Some(|shell| provision::sycl(shell, None)),
        _ => None,
    }
}

#[cfg(not(feature = "opencl"))]
pub(crate) fn provision(_: &str) -> Option<fn(&Shell) -> Result<Variables>> {
    None
}
