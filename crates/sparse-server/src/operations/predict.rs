//! Bytes that an operation needs for its result and on the way, from above.

use super::{Call, run};
use crate::problem::Problem;
use crate::request::parameters::Positions;
use nnz::solvers::SolverOptions;
use nnz::{DType, Device, Each, Format, Norm, PreconditionerKind, are_mostly_empty, c64};
use serde_json::Value;

/// Bytes that a call needs beside its operands, from above.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Needed {
    pub(crate) result: u64,
    /// Bytes that are free again once the result is there.
    pub(crate) workspace: u64,
}

impl Needed {
    pub(crate) fn total(self) -> u64 {
        self.result.saturating_add(self.workspace)
    }
}

fn array_bytes(call: &Call<'_>, rows: usize, cols: usize) -> u64 {
    (rows as u64).saturating_mul(cols as u64).saturating_mul(call.a.dtype().bytes() as u64)
}

/// Bytes of a double for each row and column.
pub(super) fn lines_bytes(call: &Call<'_>) -> u64 {
    let lines = (call.a.nrows() as u64).saturating_add(call.a.ncols() as u64);
    lines.saturating_mul(size_of::<c64>() as u64)
}

/// Bytes of numbers for as many lines of hypersparse COO as have entries, and of those entries sorted, renumbered and in
/// CSR: what operations need in place of [`lines_bytes`].
fn hypersparse_bytes(call: &Call<'_>) -> u64 {
    let coordinate = 2 * size_of::<i64>() + size_of::<c64>();
    (call.a.nnz() as u64).saturating_mul(6 * coordinate as u64)
}

/// Bytes of an entry with its index.
fn entry_bytes(call: &Call<'_>) -> u64 {
    (call.a.dtype().bytes() + size_of::<i64>()) as u64
}

/// Bytes of a copy of the entries with the widest values and indices.
pub(super) fn copied_entry_bytes(call: &Call<'_>) -> u64 {
    (call.a.nnz() as u64).saturating_mul((size_of::<c64>() + size_of::<i64>()) as u64)
}

/// A copy of A in its own types.
pub(super) fn own(call: &Call<'_>) -> Result<Needed, Problem> {
    Ok(Needed { result: call.a.bytes() as u64, workspace: 0 })
}

/// The result of a product with dense columns, and a copy of the operand.
pub(super) fn product(call: &Call<'_>) -> Result<Needed, Problem> {
    let columns = call.operand.map_or(1, |x| x.values.ncols());
    let array = array_bytes(call, call.a.nrows().max(call.a.ncols()), columns);
    Ok(Needed { result: array, workspace: array })
}

/// A copy of A, and the two factors.
pub(super) fn sampled_product(call: &Call<'_>) -> Result<Needed, Problem> {
    let factors = call.operand.map_or(0, |x| array_bytes(call, x.values.nrows(), x.values.ncols()));
    Ok(Needed { workspace: factors, ..own(call)? })
}

/// A copy of A as a matrix of other index or value types, and one on the way; of CSC as CSR, other offsets. COO has
/// none, and as many indices more.
pub(super) fn copy(call: &Call<'_>) -> Result<Needed, Problem> {
    let is_coo = match call.parameters.get::<Format>("format")? {
        Some(format) => format == Format::Coo,
        None => call.a.is_hypersparse(),
    };
    let index_bytes = (call.a.nnz() as u64).saturating_mul(size_of::<i64>() as u64);
    let entries = copied_entry_bytes(call).saturating_add(if is_coo { index_bytes } else { 0 });
    let offsets = if is_coo { 0 } else { lines_bytes(call) };
    Ok(Needed { result: entries.saturating_add(offsets), workspace: entries })
}

/// The second matrix in the format of the first, and one on the way, where the formats differ.
fn converted_bytes(call: &Call<'_>) -> Result<u64, Problem> {
    let other = Call { a: call.other()?, ..*call };
    let converted = if call.converts_other() { copy(&other)?.total() } else { 0 };
    Ok(converted)
}

pub(super) fn union(call: &Call<'_>) -> Result<Needed, Problem> {
    let (a, b) = (call.a, call.other()?);
    let both = (a.bytes() as u64).saturating_add(b.bytes() as u64);
    let are_coordinates = a.format() == Format::Coo && b.format() == Format::Coo;
    if are_coordinates && are_mostly_empty(a.nrows(), a.nnz().saturating_add(b.nnz())) {
        let other = hypersparse_bytes(&Call { a: b, ..*call });
        return Ok(Needed { result: both, workspace: hypersparse_bytes(call).saturating_add(other) });
    }
    let workspace = both.saturating_add(converted_bytes(call)?);
    Ok(Needed { result: both.saturating_add(lines_bytes(call)), workspace })
}

/// A transpose, and its sum with A.
pub(super) fn symmetrized(call: &Call<'_>) -> Result<Needed, Problem> {
    let Needed { result, workspace } = union(&Call { other: Some(call.a), ..*call })?;
    let transposed = copy(call)?.total();
    Ok(Needed { result, workspace: workspace.saturating_add(transposed.saturating_mul(2)) })
}

/// The entries of the selected rows, as often as the most frequent column is repeated, the lists, and their positions.
pub(super) fn select(call: &Call<'_>) -> Result<Needed, Problem> {
    let rows = call.parameters.positions("rows", call.a.nrows())?;
    let columns = call.parameters.positions("columns", call.a.ncols())?;
    if call.a.is_hypersparse() {
        return Ok(select_of_hypersparse(call, &rows, &columns));
    }
    let lengths = call.a.row_lengths()?;
    let selected: u64 = rows.iter().filter_map(|row| lengths.get(row)).map(|&length| length as u64).sum();
    let entries = selected.saturating_mul(columns.most_repeats() as u64).saturating_mul(entry_bytes(call));
    let lists = (rows.len() as u64).saturating_add(columns.len() as u64);
    let list_bytes = lists.saturating_mul(size_of::<usize>() as u64);
    Ok(Needed {
        result: entries.saturating_add(list_bytes).saturating_add(lines_bytes(call)),
        workspace: entries.saturating_add(list_bytes),
    })
}

/// As [`select`], for a range without numbers of its rows, where they are very many, and of its columns.
fn select_of_hypersparse(call: &Call<'_>, rows: &Positions, columns: &Positions) -> Needed {
    let are_in_coo = rows.is_range() && are_mostly_empty(rows.len(), call.a.nnz());
    let listed_rows = if are_in_coo { 0 } else { rows.len() };
    let listed_columns = if columns.is_range() { 0 } else { columns.len().saturating_add(call.a.ncols()) };
    let lists = (listed_rows as u64).saturating_add(listed_columns as u64);
    let list_bytes = lists.saturating_mul(size_of::<c64>() as u64);
    let repeats = (rows.most_repeats() as u64).saturating_mul(columns.most_repeats() as u64);
    let coordinate_bytes = entry_bytes(call) + size_of::<i64>() as u64;
    let entries = (call.a.nnz() as u64).saturating_mul(repeats).saturating_mul(coordinate_bytes);
    let copies = entries.saturating_add(hypersparse_bytes(call));
    Needed { result: entries.saturating_add(list_bytes), workspace: copies.saturating_add(list_bytes) }
}

/// One entry for each pair of entries that meet, or a dense result where that is less.
pub(super) fn sparse_product(call: &Call<'_>) -> Result<Needed, Problem> {
    let (a, b) = (call.a, call.other()?);
    let lengths = b.row_lengths()?;
    let mut products = 0_u64;
    a.for_each_entry(&mut |_, col, _| products += lengths.get(col).map_or(0, |&length| length as u64))?;
    let dense = (a.nrows() as u64).saturating_mul(b.ncols() as u64);
    let entries = products.min(dense).saturating_mul(entry_bytes(call));
    Ok(Needed { result: entries.saturating_add(lines_bytes(call)), workspace: converted_bytes(call)? })
}

pub(super) fn dense(call: &Call<'_>) -> Result<Needed, Problem> {
    Ok(Needed { result: array_bytes(call, call.a.nrows(), call.a.ncols()), workspace: 0 })
}

/// A number for each line, and two on the way. Of hypersparse COO the host needs those of the diagonal alone.
pub(super) fn diagonal(call: &Call<'_>) -> Result<Needed, Problem> {
    let on_host = matches!(call.a.device(), Device::Cpu(_));
    let shortest = (call.a.nrows().min(call.a.ncols()) as u64).saturating_mul(size_of::<c64>() as u64);
    let lines = if call.a.is_hypersparse() && on_host { shortest } else { lines_bytes(call) };
    Ok(Needed { result: lines, workspace: lines.saturating_mul(2) })
}

/// A number for each line, and one on the way. The numbers of very long lines of COO alone, and its entries by lines.
pub(super) fn lines(call: &Call<'_>) -> Result<Needed, Problem> {
    let (rows, cols) = call.a.shape();
    let (count, extent) = match run::reduced_lines(call)? {
        Each::Row => (rows, cols),
        Each::Column => (cols, rows),
    };
    let are_alone = call.a.format() == Format::Coo && are_mostly_empty(extent, call.a.nnz());
    let lines = match are_alone {
        true => (count as u64).saturating_mul(2 * size_of::<c64>() as u64),
        false => lines_bytes(call),
    };
    let entries = if are_alone { hypersparse_bytes(call) } else { 0 };
    Ok(Needed { result: lines, workspace: lines.saturating_add(entries) })
}

/// A number for each row on the way. Where A is not CSR, nor a batch, there is a copy of it in CSR.
pub(super) fn statistics(call: &Call<'_>) -> Result<Needed, Problem> {
    if call.a.is_hypersparse() && are_mostly_empty(call.a.nrows(), call.a.nnz()) {
        return Ok(Needed { result: 0, workspace: hypersparse_bytes(call) });
    }
    let is_copied = call.a.members().is_none() && call.a.format() != Format::Csr;
    let entries = if is_copied { copied_entry_bytes(call) } else { 0 };
    let rows = (call.a.nrows() as u64).saturating_mul(size_of::<c64>() as u64);
    Ok(Needed { result: 0, workspace: rows.saturating_add(entries) })
}

/// The sums of the rows or columns; copies of the entries where they are not in double precision, or not in the format
/// that has these lines one after the other.
pub(super) fn norm(call: &Call<'_>) -> Result<Needed, Problem> {
    /// Numbers for each line: its offset, its sum, and this as complex numbers of the host, twice.
    const NUMBERS: u64 = 4;
    let a = call.a;
    if a.is_hypersparse() {
        let sums = (a.nnz() as u64).saturating_mul(2 * NUMBERS * size_of::<c64>() as u64);
        return Ok(Needed { result: 0, workspace: sums.saturating_add(hypersparse_bytes(call)) });
    }
    let is_wide = matches!(a.dtype(), DType::F64 | DType::C64);
    let (lines, is_in_order) = match call.parameters.get_or("ord", Norm::Frobenius)? {
        Norm::Frobenius if a.format() != Format::Coo => (0, true),
        Norm::Frobenius => (a.nrows(), false),
        Norm::Infinity => (a.nrows(), a.format() == Format::Csr),
        Norm::One => (a.ncols(), a.format() == Format::Csc),
    };
    let copies = u64::from(!is_wide) + u64::from(!is_in_order);
    let line_bytes = (lines as u64).saturating_mul(NUMBERS * size_of::<c64>() as u64);
    Ok(Needed {
        result: 0,
        workspace: copies.saturating_mul(copied_entry_bytes(call)).saturating_add(line_bytes),
    })
}

/// The counts of the cells as JSON, and before.
pub(super) fn spy(call: &Call<'_>) -> Result<Needed, Problem> {
    let cells = (run::spy_cells(call)? as u64).pow(2);
    Ok(Needed { result: cells * size_of::<Value>() as u64, workspace: cells * size_of::<u64>() as u64 })
}

/// A copy of A in CSR, the values of its factors and those on the way to the device; none without a preconditioner.
pub(super) fn preconditioner_bytes(call: &Call<'_>) -> Result<u64, Problem> {
    if run::solve_options(call.parameters)?.preconditioner == PreconditionerKind::None {
        return Ok(0);
    }
    let copies = copied_entry_bytes(call).saturating_mul(2);
    Ok(copies.saturating_add(lines_bytes(call).saturating_mul(2)))
}

/// A product's, with the vectors of the method and a preconditioner.
pub(super) fn solve(call: &Call<'_>) -> Result<Needed, Problem> {
    let restart = call.parameters.get_or("restart", SolverOptions::default().restart)?;
    let vectors = lines_bytes(call).saturating_mul(restart.saturating_add(16) as u64);
    let Needed { result, workspace } = product(call)?;
    let copies = (call.a.bytes() as u64).saturating_add(preconditioner_bytes(call)?);
    Ok(Needed { result, workspace: workspace.saturating_add(vectors).saturating_add(copies) })
}

/// A product's, with a number for each line.
pub(super) fn triangular_solve(call: &Call<'_>) -> Result<Needed, Problem> {
    let Needed { result, workspace } = product(call)?;
    Ok(Needed { result, workspace: workspace.saturating_add(lines_bytes(call)) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::execution::task::Task;
    use crate::operations::Operation;
    use crate::request::parameters::Parameters;
    use nnz::{Csr, Matrix};
    use std::time::Duration;

    #[test]
    fn a_preconditioner_needs_memory_of_the_host() {
        let a = Matrix::from_typed(&Device::host().unwrap(), Csr::<f64>::identity(100).unwrap()).unwrap();
        let (task, solve) = (Task::new(Duration::from_secs(60)), Operation::find("solve").unwrap());
        let needed = |preconditioner: &str| {
            let parameters = Parameters::checked(vec![("preconditioner".into(), preconditioner.into())]);
            let call = Call { a: &a, other: None, operand: None, parameters: &parameters, task: &task };
            let needed = (solve.predict)(&call).unwrap();
            (needed.total(), solve.host_bytes(&call, needed).unwrap())
        };
        let (without, of_host) = needed("none");
        assert_eq!(of_host, 0);
        for preconditioner in ["jacobi", "ilu0", "ic0"] {
            let (with, of_host) = needed(preconditioner);
            assert!(of_host >= 2 * a.bytes() as u64 && with == without + of_host, "{preconditioner}");
        }
    }
}
