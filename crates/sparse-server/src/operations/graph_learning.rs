//! Operations of graph learning: softmax over the entries of lines, and products with a sum, mean, least or largest.

use super::check::{check_rows, check_single};
use super::predict::{Needed, copied_entry_bytes, lines_bytes, product};
use super::run::{empty_columns, has_no_rows, reduced_lines};
use super::{Answer, Call};
use crate::problem::Problem;
use nnz::Aggregation;

/// The softmax of real rows or columns.
pub(super) fn check_softmax(call: &Call<'_>) -> Result<(), Problem> {
    reduced_lines(call)?;
    check_single(call.a)?;
    check_real(call, "softmax")
}

/// The least and the largest of real products, or sums and means.
pub(super) fn check_aggregation(call: &Call<'_>) -> Result<(), Problem> {
    check_single(call.a)?;
    if aggregation(call)?.has_argument() {
        check_real(call, "spmm_reduce")?;
    }
    check_rows(call, call.a.ncols())
}

fn check_real(call: &Call<'_>, operation: &str) -> Result<(), Problem> {
    let dtype = call.a.dtype();
    if dtype.is_complex() {
        return Err(Problem::unprocessable(format!(
            "{operation}: complex numbers have no order, the matrix is {dtype}"
        )));
    }
    Ok(())
}

fn aggregation(call: &Call<'_>) -> Result<Aggregation, Problem> {
    call.parameters.get_or("by", Aggregation::Sum)
}

/// A with its rows or columns one after the other, twice.
pub(super) fn predict_softmax(call: &Call<'_>) -> Result<Needed, Problem> {
    let compressed = copied_entry_bytes(call).saturating_add(lines_bytes(call));
    Ok(Needed { result: compressed, workspace: compressed })
}

/// A product, and A in CSR.
pub(super) fn predict_aggregation(call: &Call<'_>) -> Result<Needed, Problem> {
    let (Needed { result, workspace }, in_csr) = (product(call)?, predict_softmax(call)?.total());
    Ok(Needed { result, workspace: workspace.saturating_add(in_csr) })
}

pub(super) fn softmax(call: &Call<'_>) -> Result<Answer, Problem> {
    Ok(Answer::Matrix(call.a.softmax(reduced_lines(call)?)?))
}

pub(super) fn aggregated_product(call: &Call<'_>) -> Result<Answer, Problem> {
    check_aggregation(call)?;
    let b = call.operand()?;
    if call.a.nrows() == 0 && has_no_rows(b) {
        return empty_columns(call, b);
    }
    Ok(Answer::Dense(call.a.matmul_reduce(aggregation(call)?, &b.values)?))
}
