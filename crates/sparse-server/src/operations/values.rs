//! Operations on the values of a matrix whose pattern stays: taken out, replaced, scaled and mapped.

use super::check::check_rows;
use super::predict::{Needed, lines_bytes, own};
use super::run::reduced_lines;
use super::{Answer, Call, MemberSelection};
use crate::problem::Problem;
use crate::request::parameters::Needed as NeededText;
use nnz::{Each, Matrix, Scalar, Vector, c64};
use std::str::FromStr;

/// A function of real numbers that has 0 of 0, so that elements which are not stored have theirs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Function {
    Abs,
    Ceil,
    Expm1,
    Floor,
    Log1p,
    Rint,
    Sign,
    Sqrt,
    Square,
    Tanh,
}

impl Function {
    const ALL: [(&'static str, Self); 10] = [
        ("abs", Self::Abs),
        ("ceil", Self::Ceil),
        ("expm1", Self::Expm1),
        ("floor", Self::Floor),
        ("log1p", Self::Log1p),
        ("rint", Self::Rint),
        ("sign", Self::Sign),
        ("sqrt", Self::Sqrt),
        ("square", Self::Square),
        ("tanh", Self::Tanh),
    ];

    fn of(self, x: f64) -> f64 {
        match self {
            Self::Abs => x.abs(),
            Self::Ceil => x.ceil(),
            Self::Expm1 => x.exp_m1(),
            Self::Floor => x.floor(),
            Self::Log1p => x.ln_1p(),
            Self::Rint => x.round_ties_even(),
            // Zeros keep their signs, and NaN stays.
            Self::Sign if x == 0.0 => x,
            Self::Sign => x.signum(),
            Self::Sqrt => x.sqrt(),
            Self::Square => x * x,
            Self::Tanh => x.tanh(),
        }
    }
}

/// The error of a name that no function has.
#[derive(Debug)]
pub(super) struct UnknownFunction;

impl std::fmt::Display for UnknownFunction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "one of {}", Function::ALL.map(|(name, _)| name).join(", "))
    }
}

impl NeededText for UnknownFunction {}

impl FromStr for Function {
    type Err = UnknownFunction;

    fn from_str(name: &str) -> Result<Self, UnknownFunction> {
        let found = Self::ALL.into_iter().find(|(known, _)| *known == name);
        found.map(|(_, function)| function).ok_or(UnknownFunction)
    }
}

/// The values of one matrix, or of a batch: its members have unequal numbers of them.
pub(super) fn check_values(call: &Call<'_>) -> Result<(), Problem> {
    if MemberSelection::of(call.parameters)? == MemberSelection::All {
        let detail = "values: matrices of a batch have unequal numbers of them: without `member` all come in one array";
        return Err(Problem::unprocessable(detail));
    }
    Ok(())
}

/// As many values as the matrix has entries.
pub(super) fn check_new_values(call: &Call<'_>) -> Result<(), Problem> {
    check_rows(call, call.a.nnz())
}

/// A factor for each row or column.
pub(super) fn check_factors(call: &Call<'_>) -> Result<(), Problem> {
    let (rows, cols) = call.a.shape();
    let count = match reduced_lines(call)? {
        Each::Row => rows,
        Each::Column => cols,
    };
    check_rows(call, count)
}

/// A function of real values.
pub(super) fn check_function(call: &Call<'_>) -> Result<(), Problem> {
    call.parameters.required::<Function>("by")?;
    let dtype = call.a.dtype();
    if dtype.is_complex() {
        return Err(Problem::unprocessable(format!(
            "map: the functions are of real numbers, the matrix is {dtype}"
        )));
    }
    Ok(())
}

/// A number for each entry.
pub(super) fn predict_values(call: &Call<'_>) -> Result<Needed, Problem> {
    let bytes = (call.a.nnz() as u64).saturating_mul(call.a.dtype().bytes() as u64);
    Ok(Needed { result: bytes, workspace: 0 })
}

/// A copy of A, and its values twice on the way.
pub(super) fn predict_new_values(call: &Call<'_>) -> Result<Needed, Problem> {
    let values = predict_values(call)?.result;
    Ok(Needed { workspace: values.saturating_mul(2), ..own(call)? })
}

/// A copy of A, and two factors for each line.
pub(super) fn predict_factors(call: &Call<'_>) -> Result<Needed, Problem> {
    Ok(Needed { workspace: lines_bytes(call).saturating_mul(2), ..own(call)? })
}

pub(super) fn values(call: &Call<'_>) -> Result<Answer, Problem> {
    Ok(Answer::Vector(call.a.values()?))
}

pub(super) fn with_values(call: &Call<'_>) -> Result<Answer, Problem> {
    Ok(Answer::Matrix(call.a.with_values(&column(call)?)?))
}

pub(super) fn scale_lines(call: &Call<'_>) -> Result<Answer, Problem> {
    let factors = column(call)?;
    let (rows, columns) = match reduced_lines(call)? {
        Each::Row => (Some(&factors), None),
        Each::Column => (None, Some(&factors)),
    };
    Ok(Answer::Matrix(call.a.scaled_by(rows, columns)?))
}

/// The operand, which has one column.
fn column(call: &Call<'_>) -> Result<Vector, Problem> {
    Ok(call.operand()?.values.column(0)?)
}

pub(super) fn map(call: &Call<'_>) -> Result<Answer, Problem> {
    check_function(call)?;
    let function = call.parameters.required::<Function>("by")?;
    Ok(Answer::Matrix(mapped(call.a, function)?))
}

fn mapped(a: &Matrix, function: Function) -> nnz::Result<Matrix> {
    nnz::with_dtype!(a.dtype(), T => {
        a.map_values(|value: T| T::from_c64(c64::new(function.of(value.to_c64().re), 0.0)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_function_has_zero_of_zero_and_is_found_by_its_name() {
        for (name, function) in Function::ALL {
            assert_eq!(function.of(0.0), 0.0, "{name}");
            assert!(function.of(f64::NAN).is_nan(), "{name}");
            assert_eq!(name.parse::<Function>().ok(), Some(function));
        }
        let needed = "exp".parse::<Function>().unwrap_err().to_string();
        assert!(needed.starts_with("one of abs, ceil"), "{needed}");
        assert_eq!([-3.5, -0.5, 2.5].map(|x| Function::Rint.of(x)), [-4.0, 0.0, 2.0]);
        assert_eq!([-3.5, 2.5].map(|x| Function::Sign.of(x)), [-1.0, 1.0]);
    }
}
