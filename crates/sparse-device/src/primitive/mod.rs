//! Building blocks that several operations share.

pub(crate) mod block_diagonal;
pub(crate) mod chunks;
pub(crate) mod column_blocks;
pub(crate) mod coordinates;
mod gather;
pub(crate) mod in_order;
pub(crate) mod look_back;
pub(crate) mod merged_rows;
pub(crate) mod numbering;
pub(crate) mod padded_entries;
pub(crate) mod partial_sums;
pub(crate) mod positions;
pub(crate) mod prefix_sum;
pub(crate) mod radix_sort;
pub(crate) mod raw;
pub(crate) mod rearrangement;
pub(crate) mod reduction;
pub(crate) mod row_blocks;
pub(crate) mod row_groups;
pub(crate) mod row_lengths;
mod runs;
pub(crate) mod stored_values;
pub(crate) mod target;
pub(crate) mod tolerance;
pub(crate) mod triplets;
mod validate;
pub(crate) mod values;
