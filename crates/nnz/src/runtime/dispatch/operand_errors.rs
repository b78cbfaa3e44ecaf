//! Errors of operands whose types or devices do not fit together.

use crate::{Device, Vector};
use sparse_core::error::show_number;
use sparse_core::op::{Keep, RealOf};
use sparse_core::{DType, Error, Result, Scalar, c64};

/// An operand as errors describe it: its name, its type and its device.
pub(crate) type Operand<'a> = (&'static str, DType, &'a Device);

/// The error of `op` for operands of which at least one differs from the first in type or memory. It names what would
/// fit: the others in the first one's type, or all in complex numbers, which real ones do not hold.
#[cold]
pub(crate) fn mismatch(op: &'static str, expected: Operand<'_>, others: &[Operand<'_>]) -> Error {
    let say = |(name, dtype, device): Operand<'_>| format!("{name} is {dtype} on {device}");
    let (_, dtype, device) = expected;
    let is_narrower = !dtype.is_complex() && others.iter().any(|other| other.1.is_complex());
    let fitting = match is_narrower {
        true => DType::common(others.iter().map(|other| other.1).chain([dtype])),
        false => dtype,
    };
    let cure = |(name, own, own_device): Operand<'_>| {
        let (casts, moves) = (own != fitting, own_device.context() != device.context());
        let of_type = if casts { format!(" as {fitting}") } else { String::new() };
        let on_device = if moves { format!(" on {device}") } else { String::new() };
        (casts || moves).then(|| format!("{name}{of_type}{on_device}"))
    };
    let differs = |other: &&Operand<'_>| other.1 != dtype || other.2.context() != device.context();
    let operands = || [&expected].into_iter().chain(others.iter().filter(differs)).copied();
    let found: Vec<_> = operands().map(say).collect();
    let cures: Vec<_> = operands().filter_map(cure).collect();
    Error::operands(op, format_args!("{}; {} would fit", found.join(", "), cures.join(" and ")))
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
        let value = show_number(value);
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

/// The error of a matrix whose products would be rounded twice.
#[cold]
pub(crate) fn half_precision(half: DType) -> Error {
    Error::unsupported(
        format_args!("a matrix of {half} values on several devices or ranks"),
        "f32, f64, c32 and c64 can be distributed",
    )
}

/// Fails unless vectors have the type of the matrix and are in the host's memory.
pub(crate) fn check_operands(
    op: &'static str,
    (dtype, host): (DType, &Device),
    operands: &[(&'static str, &Vector)],
) -> Result<()> {
    let fits = |x: &Vector| x.dtype() == dtype && matches!(x.device(), Device::Cpu(_));
    if operands.iter().all(|(_, x)| fits(x)) {
        return Ok(());
    }
    let others: Vec<_> = operands.iter().map(|(name, x)| x.as_operand(name)).collect();
    Err(mismatch(op, ("the matrix", dtype, host), &others))
}

/// Fails unless each operand, with its name, has the length that is needed.
pub(crate) fn check_lengths<const N: usize>(
    op: &'static str,
    operands: [(&str, usize, usize); N],
) -> Result<()> {
    match operands.into_iter().find(|(_, found, needed)| found != needed) {
        None => Ok(()),
        Some((name, found, needed)) => {
            Err(Error::shape(op, format_args!("the length of {name} is {found} where {needed} is needed")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_fit_keeps_imaginary_parts() {
        let host = Device::host_with_threads(1).unwrap();
        let refusal = |a, b| mismatch("add", ("A", a, &host), &[("B", b, &host)]).to_string();
        assert_eq!(
            refusal(DType::C64, DType::F64),
            "add: A is c64 on cpu, B is f64 on cpu; B as c64 would fit"
        );
        assert_eq!(
            refusal(DType::F64, DType::F32),
            "add: A is f64 on cpu, B is f32 on cpu; B as f64 would fit"
        );
        assert_eq!(
            refusal(DType::F64, DType::C64),
            "add: A is f64 on cpu, B is c64 on cpu; A as c64 would fit"
        );
        assert_eq!(
            refusal(DType::F64, DType::C32),
            "add: A is f64 on cpu, B is c32 on cpu; A as c64 and B as c64 would fit"
        );
    }
}
