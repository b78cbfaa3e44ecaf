//! Intel's oneMKL, loaded at run time: its plain routines and its inspector-executor, in single precision with 32-bit
//! indices.

mod convert;
mod functions;
mod product;

use crate::measure::Contender;
use anyhow::{Context, Result, ensure};
use functions::{Handle, Status};
use libloading::Library;
use std::ffi::{CStr, c_int};
use std::marker::PhantomData;
use std::ptr;

pub(crate) use convert::{coo_to_csr, dense_to_csr};
pub(crate) use product::{spmm, spmv};

/// The library's file names by version, the latest with plain routines first.
const NAMES: [&str; 2] = ["libmkl_rt.so.2", "libmkl_rt.so.3"];
/// The OpenMP runtime of MKL.
const OPENMP: &str = "libiomp5.so";
/// `MKL_INTERFACE_LP64`: integers have 32 bits.
const LP64: c_int = 0;
/// `MKL_THREADING_INTEL`.
const INTEL: c_int = 0;
/// Milliseconds that MKL's threads wait for more work before they sleep: those of the next contender need the cores.
const PATIENCE: c_int = 1;

/// The library. It is never unloaded, since its threads stay.
pub(crate) struct Mkl {
    library: &'static Library,
}

impl Mkl {
    /// Loads the library for this number of threads.
    ///
    /// # Errors
    /// The reason why it is unavailable.
    pub(crate) fn connect(threads: usize) -> Result<Self> {
        // MKL ends the process if it finds no threads, so they are looked for before.
        let openmp = load(OPENMP)?;
        let library = NAMES.iter().find_map(|name| load(name).ok());
        let library = library.with_context(|| not_found(&NAMES.join(" or ")))?;
        let mkl = Self { library };
        let threads = c_int::try_from(threads)?;
        // SAFETY: the functions take numbers; the types are those of the headers of MKL and of its OpenMP.
        unsafe {
            ensure!(mkl.MKL_Set_Interface_Layer()?(LP64) == LP64, "MKL works with 64-bit integers here");
            mkl.MKL_Set_Threading_Layer()?(INTEL);
            mkl.MKL_Set_Dynamic()?(0);
            mkl.MKL_Set_Num_Threads()?(threads);
            openmp.get::<unsafe extern "C" fn(c_int)>("kmp_set_blocktime")?(PATIENCE);
        }
        Ok(mkl)
    }

    /// Its name and version.
    pub(crate) fn name(&self) -> Result<String> {
        let mut text = [0; 200];
        // SAFETY: the call writes a string of at most as many bytes as there are.
        unsafe { self.MKL_Get_Version_String()?(text.as_mut_ptr().cast(), text.len() as c_int) };
        let text = CStr::from_bytes_until_nul(&text)?.to_string_lossy();
        Ok(text
            .split(" for ")
            .next()
            .unwrap_or_default()
            .replace("Intel(R) oneAPI Math Kernel Library", "MKL"))
    }
}

fn load(name: &str) -> Result<&'static Library> {
    // SAFETY: the libraries of MKL do nothing but set themselves up when they are loaded.
    let library = unsafe { Library::new(name) }.with_context(|| not_found(name))?;
    Ok(Box::leak(Box::new(library)))
}

fn not_found(name: &str) -> String {
    format!("MKL's {name} was not found by the loader: name its folder in LD_LIBRARY_PATH")
}

/// The result of a call of the inspector-executor.
fn check(call: &str, status: Status) -> Result<()> {
    ensure!(status == 0, "{call} answers with status {status}");
    Ok(())
}

/// A matrix of the inspector-executor, over arrays that live as long as `'a`, or of its own.
struct SparseMatrix<'a> {
    library: &'a Mkl,
    handle: Handle,
    arrays: PhantomData<&'a [f32]>,
}

impl<'a> SparseMatrix<'a> {
    /// The matrix that a call makes.
    fn made(library: &'a Mkl, call: &str, make: impl FnOnce(*mut Handle) -> Status) -> Result<Self> {
        let mut handle = ptr::null_mut();
        check(call, make(&raw mut handle))?;
        Ok(Self { library, handle, arrays: PhantomData })
    }
}

impl Drop for SparseMatrix<'_> {
    fn drop(&mut self) {
        if let Ok(destroy) = self.library.mkl_sparse_destroy() {
            // SAFETY: the handle was made by the library and is not used after this.
            let _ = unsafe { destroy(self.handle) };
        }
    }
}

/// The contenders of MKL; the reason for a missing one is printed.
fn available<'a>(
    found: impl IntoIterator<Item = (&'static str, Result<Contender<'a>>)>,
) -> Vec<Contender<'a>> {
    let said = |(name, found): (&str, Result<_>)| {
        found.inspect_err(|error| eprintln!("left out: mkl:{name}: {error:#}")).ok()
    };
    found.into_iter().filter_map(said).collect()
}
