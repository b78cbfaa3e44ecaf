//! The heap of a process that holds matrices.

/// Gives each buffer of 128 KiB and more a mapping of its own, which the system has back once it is freed.
///
/// By itself glibc raises this threshold to the size of the largest buffer that was freed, up to 32 MiB. Then buffers of
/// matrices lie in the heap, which shrinks from its end alone, where small objects that live keep it from shrinking.
/// `docs/server.md` has the figures.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(crate) fn return_large_buffers() {
    const MAPPED_BYTES: libc::c_int = 128 << 10;
    // A process may have 65530 mappings; buffers above as many as these are in the heap.
    const MAPPINGS: libc::c_int = 32_768;
    for (parameter, value) in [(libc::M_MMAP_THRESHOLD, MAPPED_BYTES), (libc::M_MMAP_MAX, MAPPINGS)] {
        // SAFETY: mallopt takes any two integers and locks what it changes; it returns 0 for those that it refuses.
        let is_set = unsafe { libc::mallopt(parameter, value) };
        if is_set == 0 {
            tracing::warn!(
                "glibc refuses mallopt({parameter}, {value}): freed memory may stay with the process"
            );
        }
    }
}

/// Other allocators give memory back by themselves.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(crate) fn return_large_buffers() {}
