//! Building blocks that several operations share.

pub(crate) mod chunks;
pub(crate) mod column_blocks;
pub(crate) mod coordinates;
pub(crate) mod look_back;
pub(crate) mod padded_entries;
pub(crate) mod positions;
mod radix_sort;
pub(crate) mod raw;
pub(crate) mod row_groups;
pub(crate) mod stored_values;
mod validate;
