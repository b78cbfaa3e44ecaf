//! The library, loaded for a number of threads.

use anyhow::{Context, Result, ensure};
use libloading::Library;
use std::ffi::{CStr, c_int};

/// The library's file names by version, the latest with plain routines first.
const NAMES: [&str; 2] = ["libmkl_rt.so.2", "libmkl_rt.so.3"];
/// The OpenMP runtime of MKL.
const OPENMP: &str = "libiomp5.so";
/// `MKL_INTERFACE_LP64`: integers have 32 bits.
const LP64: c_int = 0;
/// `MKL_THREADING_INTEL`.
const INTEL: c_int = 0;
/// Milliseconds that MKL's threads wait for more work before they sleep: the next contender's threads need the cores.
const PATIENCE: c_int = 1;

/// The library. It is never unloaded, since its threads stay.
pub(crate) struct Mkl {
    pub(super) library: &'static Library,
    /// The name and version of the library.
    pub(super) name: String,
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
        let mut mkl = Self { library, name: String::new() };
        let threads = c_int::try_from(threads)?;
        // SAFETY: the functions take numbers; the types are those of the headers of MKL and of its OpenMP.
        unsafe {
            ensure!(mkl.set_interface_layer()?(LP64) == LP64, "MKL works with 64-bit integers here");
            mkl.set_threading_layer()?(INTEL);
            mkl.set_dynamic()?(0);
            mkl.set_num_threads()?(threads);
            openmp.get::<unsafe extern "C" fn(c_int)>("kmp_set_blocktime")?(PATIENCE);
        }
        mkl.name = mkl.version()?;
        Ok(mkl)
    }

    /// The name and version that the library reports.
    fn version(&self) -> Result<String> {
        let mut text = [0; 200];
        // SAFETY: the call writes a string of at most as many bytes as there are.
        unsafe { self.get_version_string()?(text.as_mut_ptr().cast(), text.len() as c_int) };
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
