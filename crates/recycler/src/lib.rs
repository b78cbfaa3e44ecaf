//! An allocator for Linux that caches large freed blocks for the next request of their size.
//!
//! A program that multiplies in a loop frees each result before it allocates the next, and a server replaces a matrix
//! by its next version. The C library returns such memory to the operating system, which clears every page before it
//! maps it again: more than half of the time of a product with a wide dense matrix. This allocator caches freed blocks
//! for the next request of their size. Beyond 64 MiB of cached blocks, it offers their pages to the operating system
//! (`MADV_FREE`), which takes them only when memory is short.
//!
//! ```
//! #[cfg(target_os = "linux")]
//! #[global_allocator]
//! static ALLOCATOR: recycler::Recycler = recycler::Recycler;
//!
//! drop(vec![1_u8; 1 << 20]);
//! assert!(recycler::cached_bytes() >= 1 << 20 || cfg!(not(target_os = "linux")));
//! recycler::release_all();
//! assert_eq!(recycler::cached_bytes(), 0);
//! ```
//!
//! The cache is one for the process. Without the allocator as global allocator it is empty, and the functions do
//! nothing.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The default size, in bytes, from which on blocks are cached; also the size from which on they get huge pages.
const LARGE: usize = 1 << 20;

/// The largest number of cached blocks.
const MAX_BLOCKS: usize = 256;

/// The default limit of the bytes of all cached blocks; [`limit_cache`] sets another.
const DEFAULT_LIMIT: usize = 1 << 30;

/// Bytes of cached blocks up to which their pages are not offered to the operating system. Reusing offered pages is
/// slow: with 4 MB of them, `A @ x` of a grid of 700² points takes 1.3 ms instead of 1.0, and the product with a
/// diagonal of a million rows 1.25 instead of 0.9.
const UNOFFERED_BYTES: usize = 64 << 20;

/// The largest alignment of cached blocks: that of the C library's `malloc`, since a block may begin as a smaller one
/// and grow by `realloc`.
const ALIGNMENT: usize = 2 * size_of::<usize>();

/// The allocator, which caches freed blocks of `MIN_BYTES` bytes and more. All values share one cache.
///
/// The C library maps and unmaps memory, or trims its heap, for blocks of 128 KiB and more.
#[derive(Debug, Clone, Copy, Default)]
pub struct Recycler<const MIN_BYTES: usize = LARGE>;

/// A cached block.
#[derive(Clone, Copy)]
struct Block {
    address: usize,
    bytes: usize,
    /// True if it was cached before the last call of [`release_unused`].
    is_old: bool,
}

/// The cached blocks, in the order in which they were freed.
struct Cache {
    blocks: [Block; MAX_BLOCKS],
    count: usize,
    bytes: usize,
    /// The limit of `bytes`.
    limit: usize,
}

static CACHE: Mutex<Cache> = Mutex::new(Cache {
    blocks: [Block { address: 0, bytes: 0, is_old: false }; MAX_BLOCKS],
    count: 0,
    bytes: 0,
    limit: DEFAULT_LIMIT,
});

/// The bytes of all cached blocks.
pub fn cached_bytes() -> usize {
    lock().bytes
}

/// Limits the cache to `bytes` bytes in all, and frees the oldest blocks beyond.
pub fn limit_cache(bytes: usize) {
    lock().limit = bytes;
    free_while(|cache| cache.bytes > cache.limit);
}

/// Frees the blocks that were already cached at the previous call. With one call per period, these are the blocks that
/// were not used for one to two periods.
pub fn release_unused() {
    free_while(|cache| cache.blocks[0].is_old);
    let mut cache = lock();
    let count = cache.count;
    cache.blocks[..count].iter_mut().for_each(|block| block.is_old = true);
}

/// Frees the blocks that are cached now. Blocks that other threads free meanwhile may stay.
pub fn release_all() {
    let count = lock().count;
    let freed = Cell::new(0);
    free_while(|_| freed.replace(freed.get() + 1) < count);
}

/// Frees the oldest blocks, one by one, while `is_surplus` is true. The lock is released during each call of the
/// system, which takes long for a large block.
fn free_while(is_surplus: impl Fn(&Cache) -> bool) {
    loop {
        let mut cache = lock();
        if cache.count == 0 || !is_surplus(&cache) {
            return;
        }
        let bytes = cache.blocks[0].bytes;
        let block = cache.remove(0);
        drop(cache);
        free(block, bytes);
    }
}

/// Nothing in a locked region allocates, or can panic.
fn lock() -> MutexGuard<'static, Cache> {
    CACHE.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Cache {
    /// Adds a freed block, and frees the oldest ones beyond the limits; false if the block itself exceeds the limit.
    fn put(&mut self, block: *mut u8, bytes: usize) -> bool {
        if bytes > self.limit {
            return false;
        }
        self.shrink_for(bytes);
        if self.bytes + bytes > UNOFFERED_BYTES {
            offer(block, bytes);
        }
        self.blocks[self.count] = Block { address: block.expose_provenance(), bytes, is_old: false };
        self.count += 1;
        self.bytes += bytes;
        true
    }

    /// Frees blocks until another one of `bytes` bytes fits the limits.
    fn shrink_for(&mut self, bytes: usize) {
        while self.count > 0 && (self.count == MAX_BLOCKS || self.bytes + bytes > self.limit) {
            self.free_oldest();
        }
    }

    fn free_oldest(&mut self) {
        let bytes = self.blocks[0].bytes;
        free(self.remove(0), bytes);
    }

    fn remove(&mut self, at: usize) -> *mut u8 {
        let Block { address, bytes, .. } = self.blocks[at];
        self.blocks[at..self.count].rotate_left(1);
        self.count -= 1;
        self.bytes -= bytes;
        std::ptr::with_exposed_provenance_mut(address)
    }
}

/// Takes a block of `bytes` bytes out of the cache. `None` also if another thread holds the lock, or held it in the
/// parent of a forked process.
fn take(bytes: usize) -> Option<*mut u8> {
    let mut cache = CACHE.try_lock().ok()?;
    let at = (0..cache.count).rfind(|&k| cache.blocks[k].bytes == bytes)?;
    Some(cache.remove(at))
}

/// Caches a block, or frees it.
fn put(block: *mut u8, bytes: usize) {
    if !CACHE.try_lock().is_ok_and(|mut cache| cache.put(block, bytes)) {
        free(block, bytes);
    }
}

impl<const MIN_BYTES: usize> Recycler<MIN_BYTES> {
    /// The layout that is allocated for `layout`: the sizes of large blocks are rounded up, so that more requests fit.
    fn block(layout: Layout) -> Layout {
        if !Self::is_cacheable(layout) {
            return layout;
        }
        let rounded =
            || layout.size().checked_next_multiple_of(layout.size().checked_next_power_of_two()? / 16);
        let size = rounded().unwrap_or(layout.size());
        Layout::from_size_align(size, ALIGNMENT).unwrap_or(layout)
    }

    fn is_cacheable(layout: Layout) -> bool {
        layout.size() >= MIN_BYTES && layout.align() <= ALIGNMENT
    }
}

fn free(block: *mut u8, bytes: usize) {
    if let Ok(layout) = Layout::from_size_align(bytes, ALIGNMENT) {
        // SAFETY: the block was allocated with this layout, and it is not used.
        unsafe { System.dealloc(block, layout) };
    }
}

/// Offers the pages of a block to the operating system until they are written again.
fn offer(block: *mut u8, bytes: usize) {
    advise(block, bytes, Advice::Free);
}

/// Advises huge pages for a new block, if it is large.
fn fresh(block: *mut u8, bytes: usize) -> *mut u8 {
    if !block.is_null() && bytes >= LARGE {
        advise(block, bytes, Advice::HugePages);
    }
    block
}

#[derive(Clone, Copy)]
enum Advice {
    Free,
    HugePages,
}

#[cfg(target_os = "linux")]
fn advise(block: *mut u8, bytes: usize, advice: Advice) {
    const PAGE: usize = 4096;
    let skipped = block.align_offset(PAGE);
    let Some(pages) = bytes.checked_sub(skipped).map(|rest| rest / PAGE) else { return };
    let advice = match advice {
        Advice::Free => libc::MADV_FREE,
        Advice::HugePages => libc::MADV_HUGEPAGE,
    };
    // SAFETY: the pages lie in the block, whose contents are not needed where they are offered; failing to follow the
    // advice is no error.
    unsafe { libc::madvise(block.add(skipped).cast(), pages * PAGE, advice) };
}

/// No advice on other systems.
#[cfg(not(target_os = "linux"))]
fn advise(_block: *mut u8, _bytes: usize, _advice: Advice) {}

// SAFETY: blocks are the system's, of the layouts of `block`, which depend on the caller's layout alone, so that
// `dealloc` finds that of `alloc`. A block is cached after it was freed, and leaves the cache before it is returned.
unsafe impl<const MIN_BYTES: usize> GlobalAlloc for Recycler<MIN_BYTES> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !Self::is_cacheable(layout) {
            // SAFETY: the caller's promise.
            return unsafe { System.alloc(layout) };
        }
        let block = Self::block(layout);
        // SAFETY: the caller's promise.
        take(block.size()).unwrap_or_else(|| fresh(unsafe { System.alloc(block) }, block.size()))
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if !Self::is_cacheable(layout) {
            // SAFETY: the caller's promise.
            return unsafe { System.alloc_zeroed(layout) };
        }
        let block = Self::block(layout);
        let Some(cached) = take(block.size()) else {
            // SAFETY: the caller's promise.
            return fresh(unsafe { System.alloc_zeroed(block) }, block.size());
        };
        // SAFETY: the block has at least these bytes.
        unsafe { cached.write_bytes(0, layout.size()) };
        cached
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        if Self::is_cacheable(layout) {
            return put(memory, Self::block(layout).size());
        }
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(memory, layout) };
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller promises that the size is valid with this alignment.
        let new = Self::block(unsafe { Layout::from_size_align_unchecked(size, layout.align()) });
        let old = Self::block(layout);
        if new.size() == old.size() {
            return memory;
        }
        // A block that shrinks is copied, too, and cached whole: a sparse product allocates the upper bound of its
        // result, and the next one would get new pages, whose clearing takes more than half of the time of a band's.
        if Self::is_cacheable(new)
            && let Some(cached) = take(new.size())
        {
            // SAFETY: the blocks are two, and each has at least this number of bytes.
            unsafe { cached.copy_from_nonoverlapping(memory, layout.size().min(size)) };
            // SAFETY: the caller's promise.
            unsafe { self.dealloc(memory, layout) };
            return cached;
        }
        // SAFETY: the block has the old layout, whose alignment is that of every block of `malloc` if one of the two is
        // large. The C library moves its pages without copying them.
        unsafe { System.realloc(memory, old, new.size()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECYCLER: Recycler = Recycler;

    #[test]
    fn blocks_wait_for_the_next_request_of_their_size() {
        let layout = Layout::from_size_align((3 << 20) - 5, 8).unwrap();
        let block = |bytes: usize| {
            // SAFETY: the layout is not empty, and the block is freed once, by the same layout.
            unsafe {
                let memory = RECYCLER.alloc_zeroed(Layout::from_size_align(bytes, 8).unwrap());
                assert_eq!((*memory, *memory.add(bytes - 1)), (0, 0), "a block that waited is zeroed, too");
                for at in [0, bytes / 2, bytes - 1] {
                    memory.add(at).write(7);
                }
                RECYCLER.dealloc(memory, Layout::from_size_align(bytes, 8).unwrap());
                memory
            }
        };
        let first = block(layout.size());
        assert_eq!((block(3 << 20), cached_bytes()), (first, 3 << 20), "both are rounded to the same size");
        // SAFETY: the block has the layout and is grown to a size that is valid for it.
        unsafe {
            let small = RECYCLER.alloc(Layout::from_size_align(1 << 20, 8).unwrap());
            small.add((1 << 20) - 1).write(9);
            let grown = RECYCLER.realloc(small, Layout::from_size_align(1 << 20, 8).unwrap(), 3 << 20);
            assert_eq!((grown, *grown.add((1 << 20) - 1), cached_bytes()), (first, 9, 1 << 20));
            let shrunk = RECYCLER.realloc(grown, Layout::from_size_align(3 << 20, 8).unwrap(), 1 << 20);
            assert_eq!((shrunk, *shrunk.add((1 << 20) - 1), cached_bytes()), (small, 9, 3 << 20));
            RECYCLER.dealloc(shrunk, Layout::from_size_align(1 << 20, 8).unwrap());
        }
        release_unused();
        assert_eq!(cached_bytes(), 4 << 20, "they came since the last call");
        assert_eq!(block(3 << 20), first);
        release_unused();
        assert_eq!(cached_bytes(), 3 << 20, "one of them was used since");
        limit_cache(2 << 20);
        assert_eq!(cached_bytes(), 0);
        block(3 << 20);
        assert_eq!(cached_bytes(), 0, "it exceeds the limit");
        limit_cache(4 << 20);
        block(2 << 20);
        block(3 << 20);
        assert_eq!(cached_bytes(), 3 << 20, "the oldest block was freed");
        release_all();
        assert_eq!(cached_bytes(), 0);
        let small = Layout::from_size_align(200 << 10, 8).unwrap();
        // SAFETY: the layout is not empty, and each block is freed once, by the same layout and allocator.
        unsafe { RECYCLER.dealloc(RECYCLER.alloc(small), small) };
        assert_eq!(cached_bytes(), 0, "it is smaller than blocks that are cached");
        let all = Recycler::<{ 128 << 10 }>;
        // SAFETY: as above.
        unsafe { all.dealloc(all.alloc(small), small) };
        assert_eq!(cached_bytes(), 208 << 10);
        release_all();
        #[cfg(target_os = "linux")]
        {
            limit_cache(DEFAULT_LIMIT);
            block(UNOFFERED_BYTES);
            assert_eq!(offered_kilobytes(), 0, "a loop takes them again");
            block(UNOFFERED_BYTES / 2);
            assert!(offered_kilobytes() >= 4, "of more, the system may take the pages that were written");
            let tiny = Layout::from_size_align(64, 8).unwrap();
            let every = Recycler::<64>;
            // SAFETY: the layout is not empty, and each block is freed once, by the same layout and allocator.
            unsafe { every.dealloc(every.alloc(tiny), tiny) };
            release_all();
        }
    }

    /// Kilobytes of this process that the system may take.
    #[cfg(target_os = "linux")]
    fn offered_kilobytes() -> usize {
        let smaps = std::fs::read_to_string("/proc/self/smaps_rollup").unwrap();
        let line = smaps.lines().find_map(|line| line.strip_prefix("LazyFree:")).unwrap();
        line.trim().trim_end_matches("kB").trim().parse().unwrap()
    }
}
