//! Numbers and `op` in options: parsing, and the check that a factor fits the type of the values.

use crate::failure::usage;
use anyhow::Result;
use nnz::op::Op;
use nnz::{DType, Scalar, c64, with_dtype};

pub(crate) fn parse_factor(text: &str) -> Result<c64, String> {
    let real = text.parse::<f64>().map(|re| c64::new(re, 0.0));
    let value = real.or_else(|_| text.parse::<c64>());
    let value = value.map_err(|_| "neither a number nor a complex number as in 1+2i")?;
    check_infinities(text, [value.re, value.im])?;
    Ok(value)
}

/// Parses a number of at least 0, which may be infinite.
pub(crate) fn parse_not_negative(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number >= 0.0 => check_infinities(text, [number]).map(|()| number),
        _ => Err("a number that is not negative is needed".into()),
    }
}

/// Fails if a number parsed from `text` is infinite or NaN unless the text says so.
fn check_infinities<const N: usize>(text: &str, values: [f64; N]) -> Result<(), String> {
    let text = text.to_ascii_lowercase();
    let found = |is: fn(f64) -> bool| values.iter().filter(|&&value| is(value)).count();
    if found(f64::is_infinite) > text.matches("inf").count()
        || found(f64::is_nan) > text.matches("nan").count()
    {
        return Err("the number does not fit f64".into());
    }
    Ok(())
}

pub(crate) fn parse_op(name: &str) -> Result<Op, nnz::Error> {
    name.to_ascii_lowercase().parse()
}

/// Fails unless a factor, rounded to nearest, fits `dtype`.
pub(crate) fn check_factor(option: &str, value: c64, dtype: DType) -> Result<()> {
    if value.im != 0.0 && !dtype.is_complex() {
        return Err(usage(format_args!("{option} {value} is complex, the values are {dtype}")));
    }
    let rounded = with_dtype!(dtype, T => T::from_c64(value).to_c64());
    if value.is_finite() && !rounded.is_finite() {
        let (re, im) = (value.re, value.im);
        let value = if im == 0.0 { format!("{re:?}") } else { format!("{re:?}{im:+?}i") };
        return Err(usage(format_args!("{option} {value} does not fit {dtype}")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_are_real_or_complex() {
        assert_eq!(parse_factor("-2.5e1"), Ok(c64::new(-25.0, 0.0)));
        assert_eq!(parse_factor("1-2i"), Ok(c64::new(1.0, -2.0)));
        assert!(parse_factor("one").is_err());
        assert_eq!(parse_factor("-inf"), Ok(c64::new(f64::NEG_INFINITY, 0.0)));
        assert!(parse_factor("nan").unwrap().re.is_nan());
        for text in ["1e400", "-1e400", "1e400+2i", "2-1e400i", "inf+1e400i"] {
            assert_eq!(parse_factor(text), Err("the number does not fit f64".into()), "{text}");
        }
    }

    #[test]
    fn a_factor_must_fit_the_type() {
        let fits = |value, dtype| check_factor("--alpha", value, dtype).is_ok();
        assert!(fits(c64::new(0.5, 0.0), DType::F32) && fits(c64::new(0.0, 1.0), DType::C32));
        assert!(!fits(c64::new(1e300, 0.0), DType::F32) && !fits(c64::new(0.0, 1.0), DType::F64));
    }
}
