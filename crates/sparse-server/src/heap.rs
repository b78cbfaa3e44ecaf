//! The heap of a process that holds matrices.
//!
//! Large blocks that are freed wait for the next ones of their size where the program's allocator is that of the crate
//! `recycler`, as in `nnz`: else each upload would have new pages, which the system clears first.

#[cfg(all(target_os = "linux", target_env = "gnu"))]
use std::thread::available_parallelism;
use std::time::Duration;
use tokio::task::spawn_blocking;
use tokio::time::interval;

/// Time between two returns of freed memory.
const PERIOD: Duration = Duration::from_secs(10);

/// Gives freed memory back to the system, each ten seconds, as long as it is polled.
///
/// glibc keeps a buffer in the heap if one as large was freed before, up to 32 MiB, and the heap shrinks from its end
/// alone: small objects that live keep it from shrinking. `docs/server.md` has the figures. With a fixed threshold for
/// mappings (`M_MMAP_THRESHOLD`) each buffer would go back at once, but each would have new pages, too: in short runs
/// on a busy machine 64 clients of a matrix of 20 000 rows had 170 to 260 products a second in place of 290 to 420.
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

/// Lets the heap have an arena for each processor, at the start of a process that serves.
///
/// glibc has up to eight for each, and every arena keeps what was freed in it until it is trimmed: beside a budget of
/// 16 MB four clients that use four times as much had 32 MB, and 25 MB with two arenas on two processors (`zipf` of
/// `cargo xtask soak --full`, load 17 to 20).
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(crate) fn limit_arenas() {
    let count = available_parallelism().map_or(1, usize::from);
    // SAFETY: it changes a number that the allocator reads when a thread first allocates.
    unsafe { libc::mallopt(libc::M_ARENA_MAX, count.try_into().unwrap_or(libc::c_int::MAX)) };
}

/// Other allocators have no such arenas.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(crate) fn limit_arenas() {}

/// The most bytes of blocks that wait.
const MAX_WAITING: u64 = 4 << 30;

/// Lets blocks of so many bytes wait for the next ones, those that are free in the ledger.
pub(crate) fn keep_at_most(free: u64) {
    recycler::keep_at_most(free.min(MAX_WAITING) as usize);
}

/// Gives all that is free back.
pub(crate) fn trim_all() {
    recycler::release_all();
    trim();
}

/// Gives the free pages of all arenas back.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn trim() {
    // SAFETY: any thread may call it at any time; it locks each arena, and gives back pages that no buffer has.
    unsafe { libc::malloc_trim(0) };
}

/// Other allocators give memory back by themselves.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn trim() {}
