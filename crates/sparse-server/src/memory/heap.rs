//! The heap of a process that stores matrices.
//!
//! In a program whose allocator is the crate `recycler`, as `nnz` is, large freed blocks are cached for the next
//! requests of their size. Otherwise each upload would get new pages, which the operating system clears first.

#[cfg(all(target_os = "linux", target_env = "gnu"))]
use std::thread::available_parallelism;
use std::time::Duration;
use tokio::task::spawn_blocking;
use tokio::time::interval;

/// Time between two returns of freed memory.
const PERIOD: Duration = Duration::from_secs(10);

/// Returns freed memory to the operating system every ten seconds, as long as it is polled.
///
/// glibc allocates a buffer of up to 32 MiB in the heap if one of that size was freed before. The heap shrinks only
/// from its end, which a small live object prevents. `docs/server.md` has the figures. With a fixed threshold for
/// mappings (`M_MMAP_THRESHOLD`) each buffer would be returned at once, but each new one would get new pages: in short
/// runs on a busy machine 64 clients of a matrix of 20 000 rows had 170 to 260 products a second instead of 290 to 420.
pub(crate) async fn return_freed_memory() {
    let mut periods = interval(PERIOD);
    loop {
        periods.tick().await;
        let release = || {
            recycler::release_unused();
            trim();
        };
        if let Err(error) = spawn_blocking(release).await {
            tracing::debug!("returning freed memory: {error}");
        }
    }
}

/// Limits the heap to one arena per processor, at the start of a server process.
///
/// glibc has up to eight per processor, and an arena caches freed memory until it is trimmed. With a budget of 16 MB,
/// four clients that use four times as much had 32 MB of such memory, and 25 MB with two arenas on two processors
/// (`zipf` of `cargo xtask soak --full`, load 17 to 20).
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(crate) fn limit_arenas() {
    let count = available_parallelism().map_or(1, usize::from);
    // SAFETY: it changes a number that the allocator reads when a thread first allocates.
    unsafe { libc::mallopt(libc::M_ARENA_MAX, count.try_into().unwrap_or(libc::c_int::MAX)) };
}

/// Other allocators have no such arenas.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(crate) fn limit_arenas() {}

/// The limit of the bytes of cached blocks.
const MAX_CACHED_BYTES: u64 = 4 << 30;

/// Limits the cache of freed blocks to `free` bytes, those that are free in the ledger.
pub(crate) fn limit_cache(free: u64) {
    recycler::limit_cache(free.min(MAX_CACHED_BYTES) as usize);
}

/// Returns all freed memory to the operating system.
pub(crate) fn trim_all() {
    recycler::release_all();
    trim();
}

/// Returns the free pages of all arenas to the operating system.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn trim() {
    // SAFETY: any thread may call it at any time; it locks each arena, and returns pages that no buffer uses.
    unsafe { libc::malloc_trim(0) };
}

/// Other allocators return memory by themselves.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn trim() {}
