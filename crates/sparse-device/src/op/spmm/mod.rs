//! `C ← alpha·op(A)·B + beta·C`: the compressed direction of CSR and CSC by rows, everything else by grouped entries.
//!
//! | module | contents |
//! |---|---|
//! | `compressed` | the algorithm table of compressed rows, and the choice among it; `thresholds` has its numbers |
//! | `row_split`, `row_split_atomic`, `row_blocks`, `row_panels`, `column_blocks`, `tensor` | an algorithm each: its workspace and launches |
//! | `row_product` | the trait of these algorithms, and the kernels that need no workspace (`row_per_thread`, `crc`, `cwm`) |
//! | `grouped` | COO, ELL, HYB, SELL, batches, and products across the compressed direction |
//! | `team_kernels`, `panel_columns`, `summed_chunks` | helpers of several algorithms |

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
