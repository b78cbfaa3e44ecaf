//! Numbers of streams of a device, sizes of the portions of a chunk, and the memory of a portion.

use sparse_core::{Index, Scalar};

/// Streams of a device with memory of its own: one copies a chunk there while the other compresses.
pub(crate) const DEVICE_STREAMS: usize = 2;
/// Streams of a device that unpacks messages. Each copies planes to pinned memory before they cross the link: two moved
/// 8 to 12 GB/s of messages to an H100 or H200, two for each of two or four devices 14 to 16 together.
pub(crate) const UNPACKING_STREAMS: usize = 4;
/// Bytes of the elements of a portion of a chunk, unless one matrix has more: few enough to stay in a cache. A thread
/// of the host compresses it alone, without handing work over to others.
pub(crate) const PORTION_BYTES: u64 = 4 << 20;
/// Bytes of the elements of a portion that is written to a slot for a device behind a link, unless one matrix has more:
/// enough to hide the launches of its compression, few enough that slots are pinned quickly.
pub(crate) const STAGED_BYTES: u64 = 16 << 20;
/// Bytes of the elements of the largest matrix that is written to a slot as its device has it allocated. Pinning memory
/// takes 0.4 to 0.5 ms per MiB, longer than one more copy; larger matrices use pageable memory.
pub(crate) const MAX_PINNED_BYTES: u64 = 64 << 20;

/// Bytes that compressing a chunk may take at most of a device's memory, its plan apart: the dense elements, the arrays
/// with `nnz` entries, and on a device the copy of these that has no unused capacity.
pub(crate) fn peak_bytes<T: Scalar, I: Index, O: Index>(lines: usize, elements: usize, nnz: usize) -> u64 {
    let entries = (nnz as u64).saturating_mul((size_of::<T>() + size_of::<I>()) as u64);
    let offsets = (lines as u64).saturating_mul(size_of::<O>() as u64);
    let dense = (elements as u64).saturating_mul(size_of::<T>() as u64);
    dense.saturating_add(entries.saturating_add(offsets).saturating_mul(2))
}
