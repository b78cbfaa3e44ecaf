//! Bytes that an operation needs for its result and on the way, from above.

use super::Call;
use crate::problem::Problem;
use nnz::c64;

pub(super) fn array_bytes(call: &Call<'_>, rows: usize, cols: usize) -> u64 {
    (rows as u64).saturating_mul(cols as u64).saturating_mul(call.a.dtype().bytes() as u64)
}

/// Bytes of a double for each row and column.
pub(super) fn lines_bytes(call: &Call<'_>) -> u64 {
    let lines = (call.a.nrows() as u64).saturating_add(call.a.ncols() as u64);
    lines.saturating_mul(size_of::<c64>() as u64)
}

pub(super) fn own_bytes(call: &Call<'_>) -> Result<u64, Problem> {
    Ok(call.a.bytes() as u64)
}

pub(super) fn operand_bytes(call: &Call<'_>) -> u64 {
    let operand = call.operand;
    operand.map_or(0, |x| array_bytes(call, x.values.nrows(), x.values.ncols()))
}

/// The result of a product with dense columns, and a copy of the operand.
pub(super) fn predict_product(call: &Call<'_>) -> Result<u64, Problem> {
    let columns = call.operand.map_or(1, |x| x.values.ncols());
    let longest = call.a.nrows().max(call.a.ncols());
    Ok(array_bytes(call, longest, columns).saturating_mul(2))
}

/// A copy of A as a matrix of other index or value types, and one on the way; of CSC as CSR, other offsets.
pub(super) fn predict_copy(call: &Call<'_>) -> Result<u64, Problem> {
    let entries = (call.a.nnz() as u64).saturating_mul((size_of::<c64>() + size_of::<i64>()) as u64);
    Ok(entries.saturating_mul(2).saturating_add(lines_bytes(call)))
}

pub(super) fn predict_union(call: &Call<'_>) -> Result<u64, Problem> {
    let both = (call.a.bytes() as u64).saturating_add(call.other()?.bytes() as u64);
    Ok(both.saturating_mul(2).saturating_add(lines_bytes(call)))
}

/// The entries of the selected rows, as often as the most frequent column is repeated, the lists, and their positions.
pub(super) fn predict_select(call: &Call<'_>) -> Result<u64, Problem> {
    let rows = call.parameters.positions("rows", call.a.nrows())?;
    let columns = call.parameters.positions("columns", call.a.ncols())?;
    let lengths = call.a.row_lengths()?;
    let entries: u64 = rows.iter().filter_map(|row| lengths.get(row)).map(|&length| length as u64).sum();
    let entry = (call.a.dtype().bytes() + size_of::<i64>()) as u64;
    let entry_bytes = entries.saturating_mul(columns.most_repeats() as u64).saturating_mul(2 * entry);
    let lists = (rows.len() as u64).saturating_add(columns.len() as u64);
    let list_bytes = lists.saturating_mul(2 * size_of::<usize>() as u64);
    Ok(entry_bytes.saturating_add(list_bytes).saturating_add(lines_bytes(call)))
}

/// One entry for each pair of entries that meet, or a dense result where that is less.
pub(super) fn predict_spgemm(call: &Call<'_>) -> Result<u64, Problem> {
    let (a, b) = (call.a, call.other()?);
    let lengths = b.row_lengths()?;
    let mut products = 0_u64;
    a.for_each_entry(&mut |_, col, _| products += lengths.get(col).map_or(0, |&length| length as u64))?;
    let dense = (a.nrows() as u64).saturating_mul(b.ncols() as u64);
    let entry = (a.dtype().bytes() + size_of::<i64>()) as u64;
    Ok(products.min(dense).saturating_mul(entry).saturating_add(lines_bytes(call)))
}
