//! The axis that a format is compressed along.

use std::fmt::Debug;

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Row {}
    impl Sealed for super::Col {}
}

/// The axis that a compressed format is compressed along: [`Row`] for CSR, [`Col`] for CSC.
pub trait Axis: sealed::Sealed + Debug + Clone + Copy + Default + PartialEq + Send + Sync + 'static {
    /// The other axis.
    type Other: Axis<Other = Self>;
    /// `csr` or `csc`.
    const FORMAT: &'static str;
    /// `batch_csr` or `batch_csc`.
    const BATCH_FORMAT: &'static str;
    /// Name of the major index: `row` or `column`.
    const MAJOR: &'static str;
    /// Name of the minor index: `column` or `row`.
    const MINOR: &'static str;
    /// True for [`Row`].
    const IS_ROW: bool;

    /// (rows, columns) from (major, minor), or back: the map is its own inverse.
    fn swap<N>(first: N, second: N) -> (N, N) {
        if Self::IS_ROW { (first, second) } else { (second, first) }
    }
}

/// Rows are compressed: CSR.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Row;

/// Columns are compressed: CSC.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Col;

impl Axis for Row {
    type Other = Col;
    const FORMAT: &'static str = "csr";
    const BATCH_FORMAT: &'static str = "batch_csr";
    const MAJOR: &'static str = "row";
    const MINOR: &'static str = "column";
    const IS_ROW: bool = true;
}

impl Axis for Col {
    type Other = Row;
    const FORMAT: &'static str = "csc";
    const BATCH_FORMAT: &'static str = "batch_csc";
    const MAJOR: &'static str = "column";
    const MINOR: &'static str = "row";
    const IS_ROW: bool = false;
}
