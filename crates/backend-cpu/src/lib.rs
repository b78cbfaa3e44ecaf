//! The CPU backend of [nnz](https://docs.rs/nnz): rayon, with SIMD chosen at run time.
//!
//! Results do not depend on the number of threads: work is split by nnz, never by the thread count, and partial sums
//! are combined in a fixed order.
//!
//! | file | contents |
//! |---|---|
//! | `op/` | the operations: a file each, or a folder with the plan, the choice (`automatic`) and the algorithms |
//! | `op/compiled.rs` | the tables by which the kernel traits find the functions for a format and its types |
//! | `primitive/` | code of several operations: partitions, sorts, gathers, sums of products |
//! | `parallel.rs`, `pool.rs`, `shared_work.rs` | threads: how work is split, the pool, work that idle threads join |
//! | `simd.rs` | instruction sets, detected at run time |
//! | `memory.rs` | the memory that the process may have |
//! | `borrow.rs` | matrices over the caller's arrays, checked by all threads |

mod borrow;
mod memory;
mod op;
mod parallel;
mod pool;
mod primitive;
mod shared_work;
mod simd;

pub use simd::Simd;

use memory::available_memory;
use pool::Pool;
use sparse_core::backend::{Buf, ViewMutOf, ViewOf};
use sparse_core::op::AllTypes;
use sparse_core::reference::Reference;
use sparse_core::{Backend, Caps, ContextId, Element, Error, Host, Probe, Result};
use std::sync::Arc;

/// The host's processor: a pool of threads and the instruction sets available.
///
/// It may be used in a process that is forked, which starts as many threads of its own at its first larger operation.
#[derive(Debug, Clone)]
pub struct Cpu {
    pool: Arc<Pool>,
    caps: Arc<Caps>,
    simd: Simd,
}

impl Cpu {
    /// The most threads of a pool: the number of processors of the process, but at least 256. Idle threads look for
    /// work at each other: with 1024 of them on two busy processors a small product took half a minute. Where a process
    /// runs out of mappings, Rust's threads panic in place of an error.
    pub fn max_threads() -> usize {
        default_threads().max(256)
    }

    /// All processors that the process may use, and the widest instruction set.
    ///
    /// # Errors
    /// [`Error::Backend`] if the operating system refuses the threads.
    pub fn new() -> Result<Self> {
        Self::with(default_threads(), Simd::detect())
    }

    /// A pool of `threads` threads and an instruction set, which must be one that this processor has.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the processor lacks the instruction set, or `threads` is 0 or more than
    /// [`max_threads`](Self::max_threads); [`Error::Backend`] if the operating system refuses the threads.
    pub fn with(threads: usize, simd: Simd) -> Result<Self> {
        if !(1..=Self::max_threads()).contains(&threads) {
            let limits = format!("from 1 to {} can be had", Self::max_threads());
            return Err(Error::unsupported(format_args!("a CPU backend of {threads} threads"), limits));
        }
        if !simd.is_available() {
            return Err(Error::unsupported(
                format!("instruction set {}", simd.name()),
                format!("this processor has {}", Simd::detect().name()),
            ));
        }
        let pool = Pool::start(threads)?;
        Ok(Self { pool: Arc::new(pool), caps: Arc::new(caps(threads, simd)), simd })
    }

    /// The number of threads.
    pub fn threads(&self) -> usize {
        self.pool.size()
    }

    /// The instruction set that kernels use.
    pub fn simd(&self) -> Simd {
        self.simd
    }
}

/// The one CPU device.
pub fn probe() -> Probe {
    Probe { devices: vec![caps(default_threads(), Simd::detect())], reason: None }
}

fn default_threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn caps(threads: usize, simd: Simd) -> Caps {
    Caps {
        backend: "cpu",
        device: std::env::consts::ARCH.to_string(),
        compute_units: threads,
        is_cpu: true,
        memory_bytes: available_memory(),
        f64: true,
        flushes_subnormals: false,
        features: vec![simd.name().to_string()],
    }
}

const _: () = {
    const fn has_all_operations<B: AllTypes>() {}
    has_all_operations::<Cpu>();
};

// SAFETY: buffers are the reference's, in the one context of the host.
unsafe impl Backend for Cpu {
    type Space = Host;

    fn caps(&self) -> &Caps {
        &self.caps
    }

    fn context(&self) -> ContextId {
        ContextId::HOST
    }

    fn upload<T: Element>(&self, host: &[T]) -> Result<Buf<Self, T>> {
        Reference.upload(host)
    }

    fn download_into<T: Element>(&self, device: ViewOf<'_, Self, T>, host: &mut [T]) -> Result<()> {
        Reference.download_into(device, host)
    }

    fn copy<T: Element>(&self, from: ViewOf<'_, Self, T>, to: ViewMutOf<'_, Self, T>) -> Result<()> {
        Reference.copy(from, to)
    }

    fn synchronize(&self) -> Result<()> {
        Ok(())
    }

    /// With the same instruction set. Where the operating system refuses another thread, the same backend.
    fn single_threaded(&self) -> Self {
        Self::with(1, self.simd).unwrap_or_else(|_| self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_available_memory_is_that_of_the_probe() {
        let cpu = Cpu::with(1, Simd::detect()).unwrap();
        assert_eq!(cpu.caps().memory_bytes, probe().devices[0].memory_bytes);
        assert!(cpu.caps().memory_bytes.is_some() || !cfg!(target_os = "linux"));
    }
}
