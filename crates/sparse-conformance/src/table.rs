//! The table: every case that needs no file.

use crate::case::{self, Case};
use crate::check::rule;

/// All cases except those of files.
pub fn table() -> Vec<Case> {
    [case::cases(), rule::cases()].into_iter().flatten().collect()
}
