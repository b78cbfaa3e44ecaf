//! Building blocks of several operations.
//!
//! | modules | contents |
//! |---|---|
//! | `raw`, `values` | matrices and operands without type parameters, as launches take them |
//! | `planned_rows`, `row_lengths` | the rows that a product is planned for, and statistics of their lengths |
//! | `chunks`, `row_blocks`, `column_blocks`, `partial_sums` | divisions of rows among warps, and the sums of divided rows |
//! | `row_groups`, `stored_values`, `padded_entries`, `block_diagonal`, `in_order` | matrices of any format as compressed rows |
//! | `coordinates`, `radix_sort`, `runs`, `triplets` | entries sorted by coordinate, and duplicates merged |
//! | `rearrangement`, `gather`, `positions`, `numbering`, `target` | plans that move values into another pattern |
//! | `merged_rows` | the merge of the rows of two matrices |
//! | `prefix_sum`, `look_back`, `scan_look_back`, `reduction` | scans and reductions |
//! | `validate`, `tolerance` | checks of indices, and the tolerance of pruning |

pub(crate) mod block_diagonal;
pub(crate) mod chunks;
pub(crate) mod column_blocks;
pub(crate) mod coordinates;
mod gather;
pub(crate) mod look_back;
pub(crate) mod merged_rows;
pub(crate) mod numbering;
pub(crate) mod padded_entries;
pub(crate) mod partial_sums;
pub(crate) mod planned_rows;
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
pub(crate) mod scan_look_back;
pub(crate) mod sorted_copy;
pub(crate) mod stored_values;
pub(crate) mod target;
pub(crate) mod tolerance;
pub(crate) mod triplets;
mod validate;
pub(crate) mod values;
