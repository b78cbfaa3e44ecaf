//! A stable sort of keys, each with a position, by bytes from the lowest on.

use super::scan::Scan;
use crate::program::Defines;
use crate::{Buffer, Device, Driver};
use sparse_core::{Element, Result};
use std::mem::swap;
use std::sync::Arc;

/// The file of the kernels.
pub(super) const FILE: &str = "radix_sort";

/// Bits of a pass, and keys of a tile for each work-item: `DIGIT` and `ITEMS` of the kernels.
const DIGIT: u32 = 8;
const ITEMS: usize = 16;

/// Keys and their positions.
#[derive(Debug)]
pub(super) struct Pairs<D: Driver, K> {
    pub(super) keys: Buffer<D, K>,
    pub(super) positions: Buffer<D, i64>,
}

impl<D: Driver, K: Element> Pairs<D, K> {
    /// Room for `n` of them.
    pub(super) fn new(backend: &Device<D>, n: usize) -> Result<Self> {
        Ok(Self { keys: backend.allocate(n)?, positions: backend.allocate(n)? })
    }
}

/// The kernels of a pass and the counts of its digits.
struct Pass<D: Driver> {
    count: Arc<D::Kernel>,
    scatter: Arc<D::Kernel>,
    counts: Buffer<D, i64>,
    scan: Scan<D, i64>,
    tiles: usize,
}

impl<D: Driver> Pass<D> {
    fn new<K>(backend: &Device<D>, n: usize) -> Result<Self> {
        let key = if size_of::<K>() == 4 { "uint" } else { "ulong" };
        let block = backend.inner.block;
        let kernel =
            |entry| backend.kernel(FILE, entry, Defines::default().set("KEY", key).set("BLOCK", block));
        let tiles = n.div_ceil(ITEMS * block);
        let counts = tiles << DIGIT;
        Ok(Self {
            count: kernel("radix_sort_count")?,
            scatter: kernel("radix_sort_scatter")?,
            counts: backend.allocate(counts)?,
            scan: Scan::series(backend, counts)?,
            tiles,
        })
    }

    fn run<K: Element>(
        &mut self,
        backend: &Device<D>,
        shift: u32,
        from: &Pairs<D, K>,
        to: &Pairs<D, K>,
    ) -> Result<()> {
        let (n, block) = (from.keys.len, backend.inner.block);
        let groups = self.tiles.min(backend.most_groups());
        let launch = backend.launch(&self.count).size(n).buffer(&from.keys).value(shift as i32);
        launch.buffer(&self.counts).groups(groups, block)?;
        self.scan.starts(backend, &mut self.counts)?;
        let launch = backend.launch(&self.scatter).size(n).buffer(&from.keys).buffer(&from.positions);
        let launch = launch.value(shift as i32).buffer(&self.counts).buffer(&to.keys).buffer(&to.positions);
        launch.groups(groups, block)
    }
}

/// Sorts by the lowest `bits` bits of the keys, which are not negative.
pub(super) fn radix_sort<D: Driver, K: Element>(
    backend: &Device<D>,
    mut pairs: Pairs<D, K>,
    bits: u32,
) -> Result<Pairs<D, K>> {
    let n = pairs.keys.len;
    let mut pass = Pass::new::<K>(backend, n)?;
    let mut sorted = Pairs::new(backend, n)?;
    for shift in (0..bits).step_by(DIGIT as usize) {
        pass.run(backend, shift, &pairs, &sorted)?;
        swap(&mut pairs, &mut sorted);
    }
    Ok(pairs)
}
