//! From the text to COO, in the order of the file.

use super::entries::Body;
use super::header::Header;
use crate::source::Text;
use rayon::prelude::*;
use sparse_core::{Coo, Host, Index, Result, Scalar};

/// Reads a coordinate file in `parts` parts. A mirror image follows its entry; duplicates are kept.
pub(super) fn read<T: Scalar, I: Index>(
    text: Text<'_>,
    header: Header,
    parts: usize,
) -> Result<Coo<T, Host, I>> {
    I::try_new("rows", header.info.rows)?;
    I::try_new("columns", header.info.cols)?;
    let body = Body::split(text, header, parts);
    let counts = body.survey(|| 0_usize, |count, rows| *count += rows.len())?;
    let nnz = counts.iter().sum();
    let (mut row_idx, mut col_idx) = (vec![I::cast(0); nnz], vec![I::cast(0); nnz]);
    let mut values = vec![T::ZERO; nnz];

    let slices = split_by(&mut row_idx, &counts)
        .into_iter()
        .zip(split_by(&mut col_idx, &counts))
        .zip(split_by(&mut values, &counts));
    let filled: Vec<Result<()>> = body
        .parts
        .par_iter()
        .zip(slices.collect::<Vec<_>>())
        .map(|(part, ((rows, cols), values))| {
            let mut slots = rows.iter_mut().zip(cols).zip(values);
            body.visit(part.clone(), |entries| {
                for (&(row, col, value), ((r, c), v)) in entries.iter().zip(&mut slots) {
                    (*r, *c, *v) = (I::cast(row), I::cast(col), value);
                }
            })
        })
        .collect();
    filled.into_iter().collect::<Result<()>>()?;
    Coo::new(header.info.rows, header.info.cols, row_idx, col_idx, values)
}

/// Neighbouring pieces of the given lengths.
fn split_by<'a, T>(mut slice: &'a mut [T], lengths: &[usize]) -> Vec<&'a mut [T]> {
    lengths.iter().map(|&length| slice.split_off_mut(..length).unwrap_or_default()).collect()
}
