//! The memory that code asks for at once.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's allocator, with a record of the largest request of each thread.
struct Recording;

thread_local! {
    static LARGEST: Cell<usize> = const { Cell::new(0) };
}

fn record(bytes: usize) {
    LARGEST.with(|largest| largest.set(largest.get().max(bytes)));
}

// SAFETY: all requests go to the system's allocator as they are; the record is a number of the thread that is never
// dropped, so that making it allocates nothing.
unsafe impl GlobalAlloc for Recording {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        record(layout.size());
        // SAFETY: the caller's promises are those of this call.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        record(layout.size());
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, start: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        record(size);
        // SAFETY: as above.
        unsafe { System.realloc(start, layout, size) }
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(start, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Recording = Recording;

/// The result of `run`, and the bytes of the largest allocation that it asked for on this thread.
pub(crate) fn largest_allocation<R>(run: impl FnOnce() -> R) -> (R, usize) {
    LARGEST.with(|largest| largest.set(0));
    let result = run();
    (result, LARGEST.with(Cell::get))
}

#[test]
fn the_largest_request_is_recorded() {
    let (made, largest) = largest_allocation(|| (vec![0_u8; 300], vec![1_u8; 1000]));
    assert_eq!((made.0.len(), largest), (300, 1000));
}
