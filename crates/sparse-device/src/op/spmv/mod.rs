//! `y ← alpha·op(A)·x + beta·y`: a file for each family of formats, and one for each algorithm with a workspace.
//!
//! Along the compressed direction of CSR and CSC, `compressed` makes the plan in two steps. `choice` chooses an
//! algorithm, mostly by the rules of `choice_by_lengths` and the numbers of `thresholds`. `row_strategy` compiles its
//! kernels and allocates its workspace; an algorithm is a struct that implements `RowProduct`, in a file of its own.
//!
//! All other products go by `grouped_rows`: the plan groups the entries by the rows of op(A), as compressed rows, and
//! chooses an algorithm for these.
//!
//! | algorithm | module | kernels |
//! |---|---|---|
//! | `row_per_thread`, `row_per_vector`, `row_per_warp` | `row_strategy` | `csr_spmv`, `csr_spmv_vector` |
//! | `row_per_sub_group` | `row_strategy` | `csr_spmv_sub_group` (OpenCL) |
//! | `row_per_block` | `row_per_block` | `csr_spmv_block` |
//! | `listed_rows` | `listed_rows` | `csr_spmv_listed` |
//! | `length_classes` | `length_classes` | `csr_spmv_length_classes` |
//! | `sliced_columns` | `sliced_columns` | `csr_spmv_sliced_columns` |
//! | `delta16` | `row_deltas`, of SELL `sell` | `csr_deltas…` |
//! | `node_blocks` | `node_blocks` | `csr_spmv_node_blocks` |
//! | `row_patterns` | `row_patterns` | `csr_spmv_row_patterns` (CUDA) |
//! | `row_blocks` | `row_blocks` | `csr_spmv_row_blocks` |
//! | `segmented` | `segmented`, of COO `coo` | `csr_spmv_segmented`, `coo_spmv` |
//! | `merge_path` | `merge_path` | `csr_spmv_merge` |
//! | `column_blocks` | `column_blocks` | `csr_spmv_column_blocks` (CUDA) |
//! | `grouped_rows` | `plan` | those of the algorithm that it chooses |
//! | `atomic`, `sequential` | `coo` | `coo_spmv` |
//! | `device`, `host_coo` | `hyb`, `host_overflow` | those of COO and ELL |
//!
//! The names of all algorithms, and when each is chosen, are in `row_algorithm`, or in the file of the format.

mod batch;
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
mod row_patterns;
mod row_per_block;
mod row_strategy;
mod segmented;
mod sell;
mod sliced_columns;
pub(crate) mod thresholds;
