//! `C ← alpha·op(A)·B + beta·C`: the compressed direction of CSR and CSC by rows, everything else by grouped entries.

mod column_blocks;
mod compressed;
mod grouped;
mod panel_columns;
mod row_blocks;
mod row_panels;
mod row_product;
mod row_split;
mod row_split_atomic;
mod summed_chunks;
mod team_kernels;
mod tensor;
pub(crate) mod thresholds;
