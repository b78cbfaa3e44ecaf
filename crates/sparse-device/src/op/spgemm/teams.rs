//! Teams of work-items, each of which has a row.

use crate::Device;
use crate::lanes::LANES;
use sparse_core::Backend;

/// The most bytes of local memory per lane of a team: in `spgemm_values`, columns, sums and waiting lanes for
/// entries of C, and two positions.
const LANE_BYTES: usize = 8 * (8 + 8 + 4) + 2 * 8;

/// The lanes of the largest team: a work-group, of a size whose arrays fit in local memory. A CPU's runtime compiles a
/// kernel anew for each size of its work-groups, so a warp is all that it has.
pub(super) fn largest_team(backend: &Device) -> usize {
    if backend.caps().is_cpu {
        return LANES;
    }
    let fitting = (backend.properties().local_bytes / LANE_BYTES).max(LANES);
    backend.inner.block.min(1 << fitting.ilog2())
}

/// The lanes of teams, powers of two: of the smallest, and of the largest.
#[derive(Debug, Clone, Copy)]
pub(super) struct Teams {
    pub(super) smallest: usize,
    pub(super) largest: usize,
}

impl Teams {
    /// Teams of which the smallest has about `lanes`, up to a warp. Where a work-group is a single team, it has a warp.
    pub(super) fn new(backend: &Device, lanes: usize) -> Self {
        let has_parts = backend.properties().warps_per_group > 1;
        let smallest = if has_parts { lanes.next_power_of_two().min(LANES) } else { LANES };
        Self { smallest, largest: largest_team(backend) }
    }
}
