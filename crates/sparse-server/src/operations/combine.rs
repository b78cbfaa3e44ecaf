//! Matrices made of two: below or beside each other, along a diagonal, and the Kronecker product.

use super::check::check_other;
use super::predict::{Needed, copied_entry_bytes, lines_bytes};
use super::{Answer, Call};
use crate::problem::Problem;
use nnz::{Matrix, c64};

/// B below A.
pub(super) fn check_below(call: &Call<'_>) -> Result<(), Problem> {
    check_extents(call, "columns", Matrix::ncols)
}

/// B beside A.
pub(super) fn check_beside(call: &Call<'_>) -> Result<(), Problem> {
    check_extents(call, "rows", Matrix::nrows)
}

fn check_extents(call: &Call<'_>, what: &str, extent: fn(&Matrix) -> usize) -> Result<(), Problem> {
    let (found, needed) = (extent(check_other(call)?), extent(call.a));
    if found == needed {
        return Ok(());
    }
    Err(Problem::unprocessable(format!("A has {needed} {what} and `other` {found}: as many are needed")))
}

/// A and B of any shapes.
pub(super) fn check_diagonal(call: &Call<'_>) -> Result<(), Problem> {
    check_other(call).map(drop)
}

/// A and B with a product of their numbers of rows, columns and entries that can be counted.
pub(super) fn check_kronecker(call: &Call<'_>) -> Result<(), Problem> {
    let (a, b) = (call.a, check_other(call)?);
    let counts =
        [("rows", a.nrows(), b.nrows()), ("columns", a.ncols(), b.ncols()), ("entries", a.nnz(), b.nnz())];
    for (what, of_a, of_b) in counts {
        if of_a.checked_mul(of_b).is_none_or(|count| i64::try_from(count).is_err()) {
            let detail =
                format!("kron: A has {of_a} {what} and `other` {of_b}: the result would have too many");
            return Err(Problem::unprocessable(detail));
        }
    }
    Ok(())
}

/// The entries of both, and their numbers of lines.
pub(super) fn predict_sum(call: &Call<'_>) -> Result<Needed, Problem> {
    let other = Call { a: call.other()?, ..*call };
    let entries = copied_entry_bytes(call).saturating_add(copied_entry_bytes(&other));
    let lines = lines_bytes(call).saturating_add(lines_bytes(&other));
    Ok(needed(entries, lines, call, &other))
}

/// An entry for each pair of entries, and the products of their numbers of lines.
pub(super) fn predict_product(call: &Call<'_>) -> Result<Needed, Problem> {
    let (a, b) = (call.a, call.other()?);
    let product = |of_a: usize, of_b: usize| (of_a as u64).saturating_mul(of_b as u64);
    let entries = copied_entry_bytes(call).saturating_mul(b.nnz() as u64);
    let lines = product(a.nrows(), b.nrows()).saturating_add(product(a.ncols(), b.ncols()));
    Ok(needed(entries, lines.saturating_mul(size_of::<c64>() as u64), call, &Call { a: b, ..*call }))
}

/// The bytes of a result, and those of both matrices in its format and with wider indices.
fn needed(entries: u64, lines: u64, a: &Call<'_>, b: &Call<'_>) -> Needed {
    let copies = [a, b].map(|call| copied_entry_bytes(call).saturating_add(lines_bytes(call)));
    let copied = copies.iter().fold(0, |sum: u64, &bytes| sum.saturating_add(bytes));
    Needed { result: entries.saturating_add(lines), workspace: copied.saturating_mul(2) }
}

pub(super) fn below(call: &Call<'_>) -> Result<Answer, Problem> {
    Ok(Answer::Matrix(Matrix::vstack(&[call.a, call.other()?])?))
}

pub(super) fn beside(call: &Call<'_>) -> Result<Answer, Problem> {
    Ok(Answer::Matrix(Matrix::hstack(&[call.a, call.other()?])?))
}

pub(super) fn diagonal(call: &Call<'_>) -> Result<Answer, Problem> {
    Ok(Answer::Matrix(Matrix::block_diag(&[call.a, call.other()?])?))
}

pub(super) fn kronecker(call: &Call<'_>) -> Result<Answer, Problem> {
    Ok(Answer::Matrix(call.a.kron_with(call.other()?, || call.task.check())?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::execution::task::Task;
    use crate::request::parameters::Parameters;
    use axum::http::StatusCode;
    use nnz::{Csr, Device};
    use std::time::Duration;

    #[test]
    fn a_product_that_takes_long_ends_with_its_task() {
        let row = Csr::<f64>::from_triplets(1, 300, (0..300).map(|col| (0, col, 1.0))).unwrap();
        let a = Matrix::from_typed(&Device::host().unwrap(), row).unwrap();
        let (task, parameters) = (Task::new(Duration::from_secs(60)), Parameters::default());
        let call = Call { a: &a, other: Some(&a), operand: None, parameters: &parameters, task: &task };
        assert!(kronecker(&call).is_ok());
        task.stop();
        assert_eq!(kronecker(&call).unwrap_err().status, StatusCode::CONFLICT);
        let late = Task::new(Duration::ZERO);
        let call = Call { task: &late, ..call };
        assert_eq!(kronecker(&call).unwrap_err().status, StatusCode::GATEWAY_TIMEOUT);
    }
}
