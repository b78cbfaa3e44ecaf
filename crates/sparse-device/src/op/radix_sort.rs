//! A stable sort of keys, each with a position, by bytes from the lowest on.

use super::positions::{Positions, are_narrow};
use crate::program::{Defines, c_name};
use crate::{Buffer, Device, Kernel};
use sparse_core::{Element, Index, Result};
use std::mem::replace;
use std::ops::Range;

/// The file of the kernels.
const FILE: &str = "radix_sort";

/// Bits of a pass, and keys of a tile for each work-item: `DIGIT` and `ITEMS` of the kernels.
const DIGIT: u32 = 8;
const ITEMS: usize = 16;

/// Keys and where they stood.
#[derive(Debug)]
pub(super) struct Sorted<K, P> {
    pub(super) keys: Buffer<K>,
    pub(super) positions: Buffer<P>,
}

impl<K> Sorted<K, i32> {
    fn narrow(self) -> (Buffer<K>, Positions) {
        (self.keys, Positions::Narrow(self.positions))
    }
}

impl<K> Sorted<K, i64> {
    fn wide(self) -> (Buffer<K>, Positions) {
        (self.keys, Positions::Wide(self.positions))
    }
}

/// The kernels of a pass and the counts of its digits.
struct Pass<P> {
    count: Kernel,
    starts: Kernel,
    scatter: Kernel,
    counts: Buffer<P>,
    totals: Buffer<P>,
    tiles: usize,
}

impl<P: Index> Pass<P> {
    fn new<K>(backend: &Device, n: usize) -> Result<Self> {
        let key = if size_of::<K>() == 4 { "uint" } else { "ulong" };
        let block = backend.inner.block;
        let defines = Defines::default().set("KEY", key).set("POS", c_name::<P>()).set("BLOCK", block);
        let kernel = |entry| backend.kernel(FILE, entry, defines.clone());
        let tiles = n.div_ceil(ITEMS * block);
        Ok(Self {
            count: kernel("radix_sort_count")?,
            starts: kernel("radix_sort_starts")?,
            scatter: kernel("radix_sort_scatter")?,
            counts: backend.allocate(tiles << DIGIT)?,
            totals: backend.allocate(1 << DIGIT)?,
            tiles,
        })
    }

    /// Sorts by the digit from bit `shift` on. Keys without positions stand where they stood.
    fn run<K: Element>(
        &self,
        backend: &Device,
        shift: u32,
        (keys, positions): (&Buffer<K>, Option<&Buffer<P>>),
        to: &Sorted<K, P>,
    ) -> Result<()> {
        let (n, block) = (keys.len, backend.inner.block);
        let groups = self.tiles.min(backend.most_groups());
        let launch = backend.launch(&self.count).size(n).buffer(keys).value(shift as i32);
        launch.buffer(&self.counts).groups(groups, block)?;
        let launch = backend.launch(&self.starts).size(self.tiles).buffer(&self.counts);
        launch.buffer(&self.totals).groups(1 << DIGIT, block)?;
        let launch = backend.launch(&self.scatter).size(n).buffer(keys).buffer_or_null(positions);
        let launch = launch.value(shift as i32).buffer(&self.counts).buffer(&self.totals);
        launch.buffer(&to.keys).buffer(&to.positions).groups(groups, block)
    }
}

/// Sorts by these bits of the keys, above which there are none. Positions stand beside the keys; without them they are
/// 0, 1, …, and `P` holds their number.
pub(super) fn radix_sort<K: Element, P: Index>(
    backend: &Device,
    mut keys: Buffer<K>,
    mut positions: Option<Buffer<P>>,
    bits: Range<u32>,
) -> Result<Sorted<K, P>> {
    let n = keys.len;
    let pass = Pass::new::<K>(backend, n)?;
    let mut to = Sorted { keys: backend.allocate(n)?, positions: backend.allocate(n)? };
    for shift in bits.step_by(DIGIT as usize) {
        pass.run(backend, shift, (&keys, positions.as_ref()), &to)?;
        let free = positions.map_or_else(|| backend.allocate(n), Ok)?;
        keys = replace(&mut to.keys, keys);
        positions = Some(replace(&mut to.positions, free));
    }
    let positions = positions.map_or_else(|| backend.count_up(0..n), Ok)?;
    Ok(Sorted { keys, positions })
}

/// The same with positions in four bytes where their number fits.
pub(super) fn sort_keys<K: Element>(
    backend: &Device,
    keys: Buffer<K>,
    positions: Option<Positions>,
    bits: Range<u32>,
) -> Result<(Buffer<K>, Positions)> {
    let narrow = are_narrow(keys.len);
    match positions {
        None if narrow => radix_sort(backend, keys, None, bits).map(Sorted::narrow),
        None => radix_sort(backend, keys, None, bits).map(Sorted::wide),
        Some(Positions::Narrow(positions)) => {
            radix_sort(backend, keys, Some(positions), bits).map(Sorted::narrow)
        }
        Some(Positions::Wide(positions)) => {
            radix_sort(backend, keys, Some(positions), bits).map(Sorted::wide)
        }
    }
}
