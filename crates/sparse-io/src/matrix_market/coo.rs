//! Reads a text to COO, in the order of the file.

use super::entries::Body;
use super::header::Header;
use super::triplets::Triplets;
use crate::source::Text;
use sparse_core::{Coo, Host, Index, Result, Scalar};

/// Reads a coordinate file in `parts` parts. A mirror image follows its entry; duplicates stay.
pub(super) fn read<T: Scalar, I: Index>(
    text: Text<'_>,
    header: Header,
    parts: usize,
) -> Result<Coo<T, Host, I>> {
    I::try_new("rows", header.info.rows)?;
    I::try_new("columns", header.info.cols)?;
    let Triplets { rows, cols, values } = Body::split(text, header, parts).read::<T, I, I>()?;
    Coo::new(header.info.rows, header.info.cols, rows, cols, values)
}
