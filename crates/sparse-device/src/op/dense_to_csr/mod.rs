//! Dense to compressed rows: count, scan, fill; or all in one pass.

mod output_buffer;
mod plan;
mod single_pass;

pub(crate) use plan::Threshold;
