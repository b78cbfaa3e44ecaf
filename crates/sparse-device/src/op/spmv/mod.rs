//! `y ← alpha·op(A)·x + beta·y`: a file for each family of formats, and one for each algorithm with a workspace.

mod batch;
mod block_per_row;
mod choice;
mod choice_by_lengths;
mod column_blocks;
mod compressed;
mod coo;
mod ell;
mod host_overflow;
mod hyb;
mod length_classes;
mod listed_rows;
mod merge_path;
mod node_blocks;
mod plan;
mod row_algorithm;
mod row_blocks;
mod row_deltas;
mod row_strategy;
mod segmented;
mod sell;
mod sliced_columns;
pub(crate) mod thresholds;
