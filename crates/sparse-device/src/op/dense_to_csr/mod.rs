//! Dense to compressed rows: count, scan, fill; or all in one pass.

mod algorithm;
mod batch;
mod output_buffer;
mod passes;
mod plan;
mod single_pass;
