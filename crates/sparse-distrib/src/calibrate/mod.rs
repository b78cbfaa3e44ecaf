//! Rates of this machine, measured once and stored on disk.
//!
//! | rate | measured by |
//! |---|---|
//! | link | uploads of a block of zeros and numbers from memory that the backend allocates for them; unlimited for a backend that computes in the host's memory |
//! | host scan, host packing | each thread of the host compressing blocks with few and with many nonzeros to messages by `ed2` and checking these, as it does for the engine, with the part of the processors that two streams leave |
//! | host unpacking | as many threads as a device has streams for messages, uploading the planes of such messages; unlimited as the link is |
//! | host memory | all threads reading memory of their own, 4 MiB each at least, flushed from the caches before |
//! | host copies | the same threads copying that memory, flushed again, to 4 MiB each |
//! | device | the device's backend compressing the block in place |
//!
//! The block has 16 MiB of `f32`, a tenth of them not zero; those of the host have 4 MiB. A calibration takes 200 ms at
//! most: 12 ms for each rate except the memory's. A pass over a small block says how large a block there is time for,
//! so that a slow machine measures smaller ones, and passes end before when two agree within 3 %; the memory's rates
//! are those of few bytes. Compiling kernels, and creating a device's streams and pinned memory, take additional time.
//!
//! The memory that is read and copied is flushed from the caches first (`clflush`), since a source is larger than the
//! caches: unflushed, a processor with a cache of 300 MiB copied at 52 GB/s, and 25 GB of a source at 29 to 44. Other
//! processors than x86-64 do not flush, and large caches count as memory there.
//!
//! Rates are stored by the machine's processor, its threads and instruction set, and by the name and driver of the
//! device.

mod measure;
mod memory;
mod passes;
mod storage;

use crate::scheme::Rates;
use disk_cache::{Cache, Kind};
pub use measure::measure;
pub use memory::memory_bandwidth;
use sparse_core::op::DenseToCsrKernel;
use sparse_core::{Backend, Host, Result};
use std::path::PathBuf;
use storage::{key, rates_from_bytes, rates_to_bytes};

/// The environment variable that names the folder of measured rates, by an absolute path; empty, rates are measured
/// each time. Without it the folder is `nnz/rates` in the user's cache folder.
pub const RATES_VARIABLE: &str = "NNZ_RATES_CACHE";

const ENTRIES: Kind = Kind { magic: *b"nnzrate6", extension: "rates" };

/// The devices that matrices are sent to: equal devices, each with its own link.
#[derive(Debug, Clone)]
pub struct Target<'a, B> {
    /// The backend of one of them.
    pub backend: &'a B,
    /// The number of devices.
    pub devices: usize,
    /// The version of their driver: rates of another version are measured again.
    pub driver: &'a str,
}

/// Rates of this machine: stored ones, or new measurements.
///
/// ```
/// use sparse_core::reference::Reference;
/// use sparse_distrib::{Calibration, Target};
///
/// # let folder = tempfile::tempdir()?;
/// # let folder = folder.path();
/// let host = Reference; // or a faster backend of the host
/// let target = Target { backend: &host, devices: 1, driver: "" };
/// let calibration = Calibration::in_folder(folder); // Calibration::of_user() for the user's own
/// let rates = calibration.rates(&host, &target)?; // measured, and stored
/// assert_eq!(calibration.rates(&host, &target)?, rates);
/// assert!(rates.link.is_infinite() && rates.host_scan > 0.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Calibration {
    cache: Option<Cache>,
}

impl Calibration {
    /// Rates in the folder that [`RATES_VARIABLE`] names, else in the user's cache folder.
    pub fn of_user() -> Self {
        Self { cache: Cache::of_user(RATES_VARIABLE, "rates", ENTRIES) }
    }

    /// Rates in this folder.
    pub fn in_folder(folder: impl Into<PathBuf>) -> Self {
        Self { cache: Some(Cache::in_folder(folder, ENTRIES)) }
    }

    /// The stored rates of this machine; without them new ones, which are stored.
    ///
    /// # Errors
    /// As for [`measure`].
    pub fn rates<H, B>(&self, host: &H, target: &Target<'_, B>) -> Result<Rates>
    where
        H: DenseToCsrKernel<f32, i32, i32> + Backend<Space = Host>,
        B: DenseToCsrKernel<f32, i32, i32>,
    {
        let stored = self.cache.as_ref().and_then(|cache| cache.read(&key(host, target)));
        match stored.and_then(|bytes| rates_from_bytes(&bytes, target.devices)) {
            Some(rates) => Ok(rates),
            None => self.refresh(host, target),
        }
    }

    /// New rates, which replace the stored ones. A folder that cannot be written is no error: later calls measure
    /// again.
    ///
    /// # Errors
    /// As for [`measure`].
    pub fn refresh<H, B>(&self, host: &H, target: &Target<'_, B>) -> Result<Rates>
    where
        H: DenseToCsrKernel<f32, i32, i32> + Backend<Space = Host>,
        B: DenseToCsrKernel<f32, i32, i32>,
    {
        let rates = measure(host, target)?;
        if let Some(cache) = &self.cache {
            let _ = cache.write(&key(host, target), &rates_to_bytes(&rates));
        }
        Ok(rates)
    }
}
