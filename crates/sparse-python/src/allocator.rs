//! An allocator for Linux that keeps large blocks for the next results of their size.
//!
//! A program that multiplies in a loop frees each result before it asks for the next. The C library returns such memory
//! to the operating system, which clears every page that it gives out again: more than half of the time of a product with
//! a wide dense matrix. Here freed blocks wait for the next request of their size. The operating system is told that it
//! may take their pages when it needs memory (`MADV_FREE`), so that they cost a busy machine nothing.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Mutex;

/// Bytes from which on blocks are kept: smaller ones the C library keeps itself.
const LARGE: usize = 1 << 20;

/// The most blocks that wait.
const BLOCKS: usize = 16;

/// The most bytes of all blocks that wait.
const BYTES: usize = 1 << 30;

/// The greatest alignment of blocks that are kept: that of numbers.
const ALIGNMENT: usize = 16;

/// Blocks that wait for a request, from the one that was freed first.
pub(crate) struct Recycler(Mutex<Waiting>);

struct Waiting {
    /// Address and bytes.
    blocks: [(usize, usize); BLOCKS],
    count: usize,
    bytes: usize,
}

impl Recycler {
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(Waiting { blocks: [(0, 0); BLOCKS], count: 0, bytes: 0 }))
    }

    /// A block of this many bytes that waited. None if another thread, or before a fork another process, is here.
    fn take(&self, bytes: usize) -> Option<*mut u8> {
        let mut waiting = self.0.try_lock().ok()?;
        let at = (0..waiting.count).rfind(|&k| waiting.blocks[k].1 == bytes)?;
        Some(waiting.remove(at))
    }

    /// Keeps a block, and frees those that have waited longest where there are too many.
    fn put(&self, block: *mut u8, bytes: usize) {
        let Ok(mut waiting) = self.0.try_lock() else { return free(block, bytes) };
        if bytes > BYTES {
            return free(block, bytes);
        }
        while waiting.count == BLOCKS || waiting.bytes + bytes > BYTES {
            let oldest = waiting.blocks[0].1;
            free(waiting.remove(0), oldest);
        }
        offer(block, bytes);
        let end = waiting.count;
        waiting.blocks[end] = (block.expose_provenance(), bytes);
        waiting.count += 1;
        waiting.bytes += bytes;
    }
}

impl Waiting {
    fn remove(&mut self, at: usize) -> *mut u8 {
        let (address, bytes) = self.blocks[at];
        self.blocks[at..self.count].rotate_left(1);
        self.count -= 1;
        self.bytes -= bytes;
        std::ptr::with_exposed_provenance_mut(address)
    }
}

/// The layout of a block that serves this one: a large one has some bytes more, so that it serves others, too.
fn block(layout: Layout) -> Layout {
    if !is_kept(layout) {
        return layout;
    }
    let step = layout.size().next_power_of_two() / 16;
    let size = layout.size().next_multiple_of(step);
    Layout::from_size_align(size, ALIGNMENT).unwrap_or(layout)
}

fn is_kept(layout: Layout) -> bool {
    (LARGE..=BYTES).contains(&layout.size()) && layout.align() <= ALIGNMENT
}

fn free(block: *mut u8, bytes: usize) {
    if let Ok(layout) = Layout::from_size_align(bytes, ALIGNMENT) {
        // SAFETY: the block was allocated with this layout, and nobody uses it.
        unsafe { System.dealloc(block, layout) };
    }
}

/// Tells the operating system that it may take the pages of a block until they are written.
fn offer(block: *mut u8, bytes: usize) {
    advise(block, bytes, libc::MADV_FREE);
}

/// A block that nobody has used, in huge pages: of small ones an offer takes longer than the clearing that it saves.
fn fresh(block: *mut u8, bytes: usize) -> *mut u8 {
    if !block.is_null() {
        advise(block, bytes, libc::MADV_HUGEPAGE);
    }
    block
}

fn advise(block: *mut u8, bytes: usize, advice: i32) {
    const PAGE: usize = 4096;
    let skipped = block.align_offset(PAGE);
    // SAFETY: the pages lie in the block, whose contents nobody needs where they are offered; failing to follow the
    // advice is no error.
    unsafe { libc::madvise(block.add(skipped).cast(), (bytes - skipped) / PAGE * PAGE, advice) };
}

// SAFETY: blocks are the system's, of the layouts of `block`; those that wait are no one's.
unsafe impl GlobalAlloc for Recycler {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !is_kept(layout) {
            // SAFETY: the caller's promise.
            return unsafe { System.alloc(layout) };
        }
        let block = block(layout);
        // SAFETY: the caller's promise.
        self.take(block.size()).unwrap_or_else(|| fresh(unsafe { System.alloc(block) }, block.size()))
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if !is_kept(layout) {
            // SAFETY: the caller's promise.
            return unsafe { System.alloc_zeroed(layout) };
        }
        let block = block(layout);
        let Some(kept) = self.take(block.size()) else {
            // SAFETY: the caller's promise.
            return fresh(unsafe { System.alloc_zeroed(block) }, block.size());
        };
        // SAFETY: the block has at least these bytes.
        unsafe { kept.write_bytes(0, layout.size()) };
        kept
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        if is_kept(layout) {
            return self.put(memory, block(layout).size());
        }
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(memory, layout) };
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller promises that the size is valid with this alignment.
        let new = block(unsafe { Layout::from_size_align_unchecked(size, layout.align()) });
        let old = block(layout);
        if new.size() == old.size() {
            return memory;
        }
        // SAFETY: the block has the old layout. The C library moves its pages without copying them.
        unsafe { System.realloc(memory, old, new.size()) }
    }
}
