//! An allocator for Linux that keeps large blocks for the next results of their size.
//!
//! A program that multiplies in a loop frees each result before it asks for the next, and a server has a new version of
//! a matrix in place of the one before. The C library returns such memory to the operating system, which clears every
//! page that it gives out again: more than half of the time of a product with a wide dense matrix. Here freed blocks
//! wait for the next request of their size. Where more than 64 MiB wait, the operating system is told of further blocks
//! that it may take their pages when it needs memory (`MADV_FREE`), so that they cost a busy machine nothing.
//!
//! ```
//! #[cfg(target_os = "linux")]
//! #[global_allocator]
//! static ALLOCATOR: recycler::Recycler = recycler::Recycler;
//!
//! drop(vec![1_u8; 1 << 20]);
//! assert!(recycler::waiting_bytes() >= 1 << 20 || cfg!(not(target_os = "linux")));
//! recycler::release_all();
//! assert_eq!(recycler::waiting_bytes(), 0);
//! ```
//!
//! The blocks that wait are those of the process. Where the allocator is not installed none do, and the functions do
//! nothing.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Bytes from which on blocks are kept, unless a program says otherwise, and asked for in huge pages.
const LARGE: usize = 1 << 20;

/// The most blocks that wait.
const BLOCKS: usize = 256;

/// The most bytes of all blocks that wait, unless [`keep_at_most`] says otherwise.
const BYTES: usize = 1 << 30;

/// Bytes of waiting blocks up to which their pages are not offered to the operating system. A loop frees as much as it
/// takes next, and an offer costs more than it looks: pages of 4 MB that were offered make `A @ x` of a grid of 700²
/// points take 1.3 ms in place of 1.0, and the product with a diagonal of a million rows 1.25 in place of 0.9.
const UNOFFERED: usize = 64 << 20;

/// The greatest alignment of blocks that are kept: that of every block of the C library's `malloc`, from which a block
/// comes that grows with a smaller one.
const ALIGNMENT: usize = 2 * size_of::<usize>();

/// The allocator, which keeps blocks of `KEPT` bytes and more; all of its values are the same.
///
/// For blocks of 128 KiB and more the C library maps memory or trims its heap, and the system clears pages anew.
#[derive(Debug, Clone, Copy, Default)]
pub struct Recycler<const KEPT: usize = LARGE>;

/// A block that nobody has.
#[derive(Clone, Copy)]
struct Block {
    address: usize,
    bytes: usize,
    /// True if it was here when blocks were [released](release_unused) last.
    is_old: bool,
}

/// Blocks that wait for a request, from the one that was freed first.
struct Waiting {
    blocks: [Block; BLOCKS],
    count: usize,
    bytes: usize,
    /// The most bytes.
    limit: usize,
}

static WAITING: Mutex<Waiting> = Mutex::new(Waiting {
    blocks: [Block { address: 0, bytes: 0, is_old: false }; BLOCKS],
    count: 0,
    bytes: 0,
    limit: BYTES,
});

/// Bytes of the blocks that wait.
pub fn waiting_bytes() -> usize {
    lock().bytes
}

/// Lets blocks of at most `bytes` bytes in all wait, and frees those that have waited longest if there are more.
pub fn keep_at_most(bytes: usize) {
    lock().limit = bytes;
    free_while(|waiting| waiting.bytes > waiting.limit);
}

/// Frees the blocks that were there when this was called last: with one call in each period, those that have waited for
/// one period or two.
pub fn release_unused() {
    free_while(|waiting| waiting.blocks[0].is_old);
    let mut waiting = lock();
    let count = waiting.count;
    waiting.blocks[..count].iter_mut().for_each(|block| block.is_old = true);
}

/// Frees as many blocks as there are now: all, unless others come meanwhile.
pub fn release_all() {
    let count = lock().count;
    let freed = Cell::new(0);
    free_while(|_| freed.replace(freed.get() + 1) < count);
}

/// Frees the blocks that have waited longest, one after the other, while there are any and this is so. The system takes
/// long for a large one, and meanwhile others are handed out.
fn free_while(is_surplus: impl Fn(&Waiting) -> bool) {
    loop {
        let mut waiting = lock();
        if waiting.count == 0 || !is_surplus(&waiting) {
            return;
        }
        let bytes = waiting.blocks[0].bytes;
        let block = waiting.remove(0);
        drop(waiting);
        free(block, bytes);
    }
}

/// Nothing in a locked region allocates, or can panic.
fn lock() -> MutexGuard<'static, Waiting> {
    WAITING.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Waiting {
    /// Adds a block that was freed, and frees those that have waited longest where there are too many; false if it is
    /// too large itself.
    fn put(&mut self, block: *mut u8, bytes: usize) -> bool {
        if bytes > self.limit {
            return false;
        }
        self.shrink_for(bytes);
        if self.bytes + bytes > UNOFFERED {
            offer(block, bytes);
        }
        self.blocks[self.count] = Block { address: block.expose_provenance(), bytes, is_old: false };
        self.count += 1;
        self.bytes += bytes;
        true
    }

    /// Frees blocks until another one of `bytes` bytes may wait.
    fn shrink_for(&mut self, bytes: usize) {
        while self.count > 0 && (self.count == BLOCKS || self.bytes + bytes > self.limit) {
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

/// A block of this many bytes that waited. None if another thread, or before a fork another process, is here.
fn take(bytes: usize) -> Option<*mut u8> {
    let mut waiting = WAITING.try_lock().ok()?;
    let at = (0..waiting.count).rfind(|&k| waiting.blocks[k].bytes == bytes)?;
    Some(waiting.remove(at))
}

/// Lets a block wait, or frees it.
fn put(block: *mut u8, bytes: usize) {
    if !WAITING.try_lock().is_ok_and(|mut waiting| waiting.put(block, bytes)) {
        free(block, bytes);
    }
}

impl<const KEPT: usize> Recycler<KEPT> {
    /// The layout of a block that serves this one: a large one has some bytes more, so that it serves others, too.
    fn block(layout: Layout) -> Layout {
        if !Self::is_kept(layout) {
            return layout;
        }
        let rounded =
            || layout.size().checked_next_multiple_of(layout.size().checked_next_power_of_two()? / 16);
        let size = rounded().unwrap_or(layout.size());
        Layout::from_size_align(size, ALIGNMENT).unwrap_or(layout)
    }

    fn is_kept(layout: Layout) -> bool {
        layout.size() >= KEPT && layout.align() <= ALIGNMENT
    }
}

fn free(block: *mut u8, bytes: usize) {
    if let Ok(layout) = Layout::from_size_align(bytes, ALIGNMENT) {
        // SAFETY: the block was allocated with this layout, and nobody uses it.
        unsafe { System.dealloc(block, layout) };
    }
}

/// Tells the operating system that it may take the pages of a block until they are written.
fn offer(block: *mut u8, bytes: usize) {
    advise(block, bytes, Advice::Free);
}

/// A block that nobody has used, a large one in huge pages.
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
    let advice = match advice {
        Advice::Free => libc::MADV_FREE,
        Advice::HugePages => libc::MADV_HUGEPAGE,
    };
    // SAFETY: the pages lie in the block, whose contents nobody needs where they are offered; failing to follow the
    // advice is no error.
    unsafe { libc::madvise(block.add(skipped).cast(), (bytes - skipped) / PAGE * PAGE, advice) };
}

/// Other systems have other advice.
#[cfg(not(target_os = "linux"))]
fn advise(_block: *mut u8, _bytes: usize, _advice: Advice) {}

// SAFETY: blocks are the system's, of the layouts of `block`, which depend on the caller's layout alone, so that
// `dealloc` finds that of `alloc`. A block waits after it was freed, and leaves the list before it is handed out.
unsafe impl<const KEPT: usize> GlobalAlloc for Recycler<KEPT> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !Self::is_kept(layout) {
            // SAFETY: the caller's promise.
            return unsafe { System.alloc(layout) };
        }
        let block = Self::block(layout);
        // SAFETY: the caller's promise.
        take(block.size()).unwrap_or_else(|| fresh(unsafe { System.alloc(block) }, block.size()))
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if !Self::is_kept(layout) {
            // SAFETY: the caller's promise.
            return unsafe { System.alloc_zeroed(layout) };
        }
        let block = Self::block(layout);
        let Some(kept) = take(block.size()) else {
            // SAFETY: the caller's promise.
            return fresh(unsafe { System.alloc_zeroed(block) }, block.size());
        };
        // SAFETY: the block has at least these bytes.
        unsafe { kept.write_bytes(0, layout.size()) };
        kept
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        if Self::is_kept(layout) {
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
        // A block that shrinks is copied, too, and waits whole: a sparse product reserves as much as its result may
        // take, and the next one would get new pages, whose clearing takes more than half of the time of a band's.
        if Self::is_kept(new)
            && let Some(kept) = take(new.size())
        {
            // SAFETY: the blocks are two, and each has at least so many bytes.
            unsafe { kept.copy_from_nonoverlapping(memory, layout.size().min(size)) };
            // SAFETY: the caller's promise.
            unsafe { self.dealloc(memory, layout) };
            return kept;
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
        assert_eq!((block(3 << 20), waiting_bytes()), (first, 3 << 20), "both are rounded to the same size");
        // SAFETY: the block has the layout and is grown to a size that is valid for it.
        unsafe {
            let small = RECYCLER.alloc(Layout::from_size_align(1 << 20, 8).unwrap());
            small.add((1 << 20) - 1).write(9);
            let grown = RECYCLER.realloc(small, Layout::from_size_align(1 << 20, 8).unwrap(), 3 << 20);
            assert_eq!((grown, *grown.add((1 << 20) - 1), waiting_bytes()), (first, 9, 1 << 20));
            let shrunk = RECYCLER.realloc(grown, Layout::from_size_align(3 << 20, 8).unwrap(), 1 << 20);
            assert_eq!((shrunk, *shrunk.add((1 << 20) - 1), waiting_bytes()), (small, 9, 3 << 20));
            RECYCLER.dealloc(shrunk, Layout::from_size_align(1 << 20, 8).unwrap());
        }
        release_unused();
        assert_eq!(waiting_bytes(), 4 << 20, "they came since the last call");
        assert_eq!(block(3 << 20), first);
        release_unused();
        assert_eq!(waiting_bytes(), 3 << 20, "one of them was used since");
        keep_at_most(2 << 20);
        assert_eq!(waiting_bytes(), 0);
        block(3 << 20);
        assert_eq!(waiting_bytes(), 0, "it is larger than what may wait");
        keep_at_most(4 << 20);
        block(2 << 20);
        block(3 << 20);
        assert_eq!(waiting_bytes(), 3 << 20, "the one that has waited longest went");
        release_all();
        assert_eq!(waiting_bytes(), 0);
        let small = Layout::from_size_align(200 << 10, 8).unwrap();
        // SAFETY: the layout is not empty, and each block is freed once, by the same layout and allocator.
        unsafe { RECYCLER.dealloc(RECYCLER.alloc(small), small) };
        assert_eq!(waiting_bytes(), 0, "it is smaller than those that are kept");
        let all = Recycler::<{ 128 << 10 }>;
        // SAFETY: as above.
        unsafe { all.dealloc(all.alloc(small), small) };
        assert_eq!(waiting_bytes(), 208 << 10);
        release_all();
        #[cfg(target_os = "linux")]
        {
            keep_at_most(BYTES);
            block(UNOFFERED);
            assert_eq!(offered_kilobytes(), 0, "a loop takes them again");
            block(UNOFFERED / 2);
            assert!(offered_kilobytes() >= 4, "of more, the system may take the pages that were written");
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
