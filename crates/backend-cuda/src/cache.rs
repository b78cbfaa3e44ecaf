//! Compiled kernels on disk, so that a program's second start compiles nothing.
//!
//! An entry's key is the compiler's version, the options and the source. A cache that cannot be read or written is no
//! error: kernels are compiled.

use crate::nvrtc::{Source, version};
use disk_cache::{Cache, Kind};

/// The environment variable that names the folder of compiled kernels, by an absolute path; empty, it turns the cache
/// off. Without it the folder is `nnz/cuda` in the user's cache folder.
pub const CACHE_VARIABLE: &str = "NNZ_CUDA_CACHE";

const CUBINS: Kind = Kind { magic: *b"nnzcu\0\0\x02", extension: "cubin" };

/// The CUBIN of a source, if it is there.
pub(crate) fn read(source: &Source) -> Option<Vec<u8>> {
    let (cache, key) = entry(source)?;
    cache.read(&key)
}

/// Stores the CUBIN of a source.
pub(crate) fn write(source: &Source, cubin: &[u8]) {
    if let Some((cache, key)) = entry(source) {
        let _ = cache.write(&key, cubin);
    }
}

/// Removes the CUBIN of a source, because it does not load.
pub(crate) fn remove(source: &Source) {
    if let Some((cache, key)) = entry(source) {
        let _ = cache.remove(&key);
    }
}

/// The cache, and the key: everything that a CUBIN depends on; none if the compiler does not report its version.
fn entry(source: &Source) -> Option<(Cache, String)> {
    let (major, minor) = version()?;
    let cache = Cache::of_user(CACHE_VARIABLE, "cuda", CUBINS)?;
    Some((cache, format!("NVRTC {major}.{minor}\n{}", source.key())))
}
