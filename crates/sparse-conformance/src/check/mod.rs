//! What each operation must do: one file each, written once for every backend, format and type.

pub(crate) mod convert;
pub(crate) mod dense_to_csr;
mod moved;
pub(crate) mod prune;
pub(crate) mod row_statistics;
pub(crate) mod rule;
pub(crate) mod scan;
pub(crate) mod sort;
pub(crate) mod spmm;
pub(crate) mod spmv;
pub(crate) mod to_dense;
pub(crate) mod vector;

use crate::case::{Case, Problem};
use crate::portrait::Portrait;
use crate::product::Bounded;
use crate::subject::{Call, Key, Setting};
use crate::suite::Suite;
use sparse_core::Result;

/// What a run must give.
#[derive(Debug, Clone, Default)]
pub struct Expected {
    /// The elements of the output, column by column.
    pub y: Vec<Bounded>,
    /// Whether the elements were moved, not computed: then −0 is not +0.
    pub moved: bool,
    /// The matrix or the numbers that are made.
    pub made: Portrait,
    /// The order that a made matrix has: (sorted, unique).
    pub claims: (bool, bool),
    /// Whether a made matrix must be marked as sorted and unique (rule O1).
    pub canonical: bool,
    /// Whether the run must be refused with [`Error::Format`](sparse_core::Error::Format).
    pub refused: bool,
}

/// An operation's part of the table.
pub trait Check: Sync {
    /// Whether the case says anything of the operation.
    fn takes(&self, _: &Case) -> bool {
        true
    }

    /// What plans are made for; none where the matrix is too large for the operation.
    fn settings(&self, key: &Key, problem: &Problem) -> Vec<Setting>;

    /// The operands of the runs of a plan.
    fn calls(&self, setting: &Setting, problem: &Problem) -> Vec<Call>;

    /// Operands whose shapes do not fit (rule E2).
    fn misfits(&self, _: &Setting, _: &Problem) -> Vec<Call> {
        vec![]
    }

    /// What distinguishes answers of one operation, setting and call in snapshots: nothing where all formats agree, the
    /// format where they do not; `None` where answers depend on the types.
    fn scope(&self, key: &Key, _: &Setting) -> Option<String> {
        Some(if key.is_batch() { "batch".into() } else { String::new() })
    }

    /// What a run gives. `reference` is the serial reference, for operations that only move data.
    ///
    /// # Errors
    /// Those of the reference.
    fn expected(
        &self,
        key: &Key,
        setting: &Setting,
        call: &Call,
        problem: &Problem,
        reference: &Suite,
    ) -> Result<Expected>;
}
