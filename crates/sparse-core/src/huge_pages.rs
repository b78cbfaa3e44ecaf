//! Huge pages for large arrays of the host.

/// Asks the operating system for huge pages for `memory` of `at_least` bytes or more that was allocated and not written
/// yet: page faults of 4 KiB each can take longer than writing the memory.
///
/// This is advice (`madvise`): it changes neither contents nor validity, and has no effect on systems other than Linux.
#[cfg_attr(not(target_os = "linux"), expect(unused_variables, reason = "only Linux takes advice"))]
pub fn advise_huge_pages<T>(memory: &[T], at_least: usize) {
    #[cfg(target_os = "linux")]
    if size_of_val(memory) >= at_least {
        const PAGE: usize = 4096;
        let start = memory.as_ptr().cast::<u8>();
        let skipped = start.align_offset(PAGE).min(size_of_val(memory));
        let len = (size_of_val(memory) - skipped) / PAGE * PAGE;
        // SAFETY: the range lies within `memory`; the advice changes neither its contents nor its validity, and failing
        // to follow it is no error.
        unsafe { libc::madvise(start.add(skipped).cast_mut().cast(), len, libc::MADV_HUGEPAGE) };
    }
}
