//! The chunks of a run: items of one shape that are compressed together.

use super::item::Item;
use crate::schedule::{self, Device, Job, Policy};
use sparse_core::{Error, Order, Result};
use std::collections::{HashMap, VecDeque};

/// Items of one shape and order, by their positions among all.
#[derive(Debug)]
pub(super) struct Chunk {
    pub(super) items: Vec<usize>,
    /// True if the source has failed to fill them once.
    pub(super) is_retry: bool,
    /// The devices that had no memory for them, and what they said last.
    pub(super) refused: Vec<usize>,
    pub(super) error: Option<Error>,
}

impl Chunk {
    pub(super) fn new(items: Vec<usize>) -> Self {
        Self { items, is_retry: false, refused: vec![], error: None }
    }
}

/// The chunks of every device, and those that any device takes.
#[derive(Debug, Default)]
pub(super) struct Assignment {
    pub(super) own: Vec<VecDeque<Chunk>>,
    pub(super) shared: VecDeque<Chunk>,
}

impl Assignment {
    /// The chunks of all items by a policy, of at most `chunk_bytes` unless they are one item.
    pub(super) fn new(items: &[Item], policy: Policy, devices: &[Device], chunk_bytes: u64) -> Result<Self> {
        let weight = items.iter().map(Item::weight).fold(0, u64::saturating_add);
        let limit = schedule::chunk_limit(chunk_bytes, weight, devices.len());
        let mut own: Vec<_> = devices.iter().map(|_| VecDeque::new()).collect();
        if let Policy::Pull { .. } = policy {
            let mut shared = chunks(items, 0..items.len(), limit);
            let bytes = |chunk: &Chunk| chunk.items.iter().map(|&k| items[k].bytes).sum();
            schedule::biggest_first(&mut shared, devices.len(), bytes);
            return Ok(Self { own, shared: shared.into() });
        }
        // What does not fit any device is not for a policy to refuse: the device that gets it says so.
        let smallest = devices.iter().map(|device| device.memory_bytes).min().unwrap_or_default();
        let job = |item: &Item| Job { bytes: item.bytes, resident_bytes: item.bytes.min(smallest) };
        let jobs: Vec<_> = items.iter().map(job).collect();
        for (chunks_of_device, queue) in own.iter_mut().zip(policy.schedule(&jobs, devices)?.queues()) {
            *chunks_of_device = chunks(items, queue.iter().copied(), limit).into();
        }
        Ok(Self { own, shared: VecDeque::new() })
    }
}

/// Items of equal shape and order together, in the order of `positions`, up to `limit` bytes.
fn chunks(items: &[Item], positions: impl Iterator<Item = usize>, limit: u64) -> Vec<Chunk> {
    let mut chunks: Vec<Chunk> = vec![];
    // The chunk of each shape and order that is not yet full, and its bytes.
    let mut open = HashMap::new();
    for position in positions {
        let item = &items[position];
        let key = (item.shape(), item.order == Order::RowMajor);
        let weight = item.weight();
        match open.get_mut(&key) {
            Some((chunk, bytes)) if weight <= limit.saturating_sub(*bytes) => {
                let chunk: &mut Chunk = &mut chunks[*chunk];
                chunk.items.push(position);
                *bytes += weight;
            }
            _ => {
                open.insert(key, (chunks.len(), weight));
                chunks.push(Chunk::new(vec![position]));
            }
        }
    }
    chunks
}
