//! Errors of operands whose types or devices do not fit together.

use crate::Device;
use sparse_core::op::{Keep, RealOf};
use sparse_core::{DType, Error, Result, Scalar, c64};

/// An operand as errors describe it: its name, its type and its device.
pub(crate) type Operand<'a> = (&'static str, DType, &'a Device);

/// The error of `op` for operands of which at least one differs from the first in type or memory.
#[cold]
pub(crate) fn mismatch(op: &'static str, expected: Operand<'_>, others: &[Operand<'_>]) -> Error {
    let say = |(name, dtype, device): Operand<'_>| format!("{name} is {dtype} on {device}");
    let (_, dtype, device) = expected;
    let mut cures = vec![];
    let mut operands = say(expected);
    for &other in others {
        let (name, other_dtype, other_device) = other;
        let (casts, moves) = (other_dtype != dtype, other_device.context() != device.context());
        if casts || moves {
            let of_type = if casts { format!(" as {dtype}") } else { String::new() };
            let on_device = if moves { format!(" on {device}") } else { String::new() };
            cures.push(format!("{name}{of_type}{on_device}"));
            operands = format!("{operands}, {}", say(other));
        }
    }
    Error::operands(op, format_args!("{operands}; {} would fit", cures.join(" and ")))
}

/// A factor of the host as the accumulator `A`.
///
/// # Errors
/// [`Error::Operands`] for a complex factor of real values, and for a finite one that would become infinite.
pub(crate) fn factor<A: Scalar>(op: &'static str, name: &str, value: c64) -> Result<A> {
    let rounded = A::from_c64(value);
    if value.im != 0.0 && !A::DTYPE.is_complex() {
        return Err(complex_factor(op, name, value, A::DTYPE));
    }
    if !rounded.is_finite() && value.is_finite() {
        return Err(Error::operands(op, format_args!("{name} = {value} does not fit {}", A::DTYPE)));
    }
    Ok(rounded)
}

/// The elements to keep: those above `tolerance` in magnitude, or all but zeros.
///
/// # Errors
/// [`Error::Operands`] for a tolerance that is negative or not a number, and for a finite one that would become
/// infinite.
pub(crate) fn keep<T: Scalar>(op: &'static str, tolerance: Option<f64>) -> Result<Keep<T>> {
    match tolerance {
        None => Ok(Keep::NonZero),
        Some(tolerance) if tolerance >= 0.0 => {
            Ok(Keep::Above(factor::<RealOf<T>>(op, "the tolerance", tolerance.into())?))
        }
        Some(tolerance) => {
            Err(Error::operands(op, format_args!("the tolerance is {tolerance}; it must be at least 0")))
        }
    }
}

#[cold]
fn complex_factor(op: &'static str, name: &str, value: c64, dtype: DType) -> Error {
    let complex = if dtype == DType::F64 { DType::C64 } else { DType::C32 };
    let reason =
        format_args!("{name} = {value} is complex, the operands are real; values of {complex} would fit");
    Error::operands(op, reason)
}
