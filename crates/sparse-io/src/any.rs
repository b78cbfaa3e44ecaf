//! Arrays whose type is known only at run time.

use sparse_core::{DType, Error, Index, Result, Scalar, c32, c64};
use std::any::Any;

/// Values of the types that files hold.
#[derive(Debug, Clone, PartialEq)]
pub enum AnyValues {
    /// `f4` of NumPy.
    F32(Vec<f32>),
    /// `f8` of NumPy.
    F64(Vec<f64>),
    /// `c8` of NumPy.
    C32(Vec<c32>),
    /// `c16` of NumPy.
    C64(Vec<c64>),
}

impl AnyValues {
    /// The type of the values.
    pub fn dtype(&self) -> DType {
        match self {
            Self::F32(_) => DType::F32,
            Self::F64(_) => DType::F64,
            Self::C32(_) => DType::C32,
            Self::C64(_) => DType::C64,
        }
    }

    /// The number of values.
    pub fn len(&self) -> usize {
        match self {
            Self::F32(values) => values.len(),
            Self::F64(values) => values.len(),
            Self::C32(values) => values.len(),
            Self::C64(values) => values.len(),
        }
    }

    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The values as `T`, rounded to nearest (rule T2).
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the values are complex and `T` is not; [`Error::ValueOverflow`] if a finite value
    /// becomes infinite.
    pub fn into_typed<T: Scalar>(self) -> Result<Vec<T>> {
        match self {
            Self::F32(values) => convert(values),
            Self::F64(values) => convert(values),
            Self::C32(values) => convert(values),
            Self::C64(values) => convert(values),
        }
    }
}

fn convert<A: Scalar, T: Scalar>(values: Vec<A>) -> Result<Vec<T>> {
    if A::DTYPE.is_complex() && !T::DTYPE.is_complex() {
        return Err(Error::unsupported(
            format_args!("reading {} values as {}", A::DTYPE, T::DTYPE),
            "they are complex; ask for c32 or c64",
        ));
    }
    let values = match as_is(values) {
        Ok(same_type) => return Ok(same_type),
        Err(values) => values,
    };
    values.into_iter().enumerate().map(|(position, value)| round(position, value)).collect()
}

/// The vector itself, if it has the type that is wanted.
fn as_is<A: 'static, B: 'static>(values: Vec<A>) -> Result<Vec<B>, Vec<A>> {
    let mut values = Some(values);
    match (&mut values as &mut dyn Any).downcast_mut::<Option<Vec<B>>>().and_then(Option::take) {
        Some(same_type) => Ok(same_type),
        None => Err(values.unwrap_or_default()),
    }
}

fn round<A: Scalar, T: Scalar>(position: usize, value: A) -> Result<T> {
    let rounded = T::from_c64(value.to_c64());
    if value.is_finite() && !rounded.is_finite() {
        let (value, target) = (value.to_string(), T::DTYPE.name());
        return Err(Error::ValueOverflow { position, value, target });
    }
    Ok(rounded)
}

/// Indices or offsets of the types that files hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnyIndices {
    /// `i4` of NumPy.
    I32(Vec<i32>),
    /// `i8` of NumPy.
    I64(Vec<i64>),
}

impl AnyIndices {
    /// The number of indices.
    pub fn len(&self) -> usize {
        match self {
            Self::I32(indices) => indices.len(),
            Self::I64(indices) => indices.len(),
        }
    }

    /// Whether there are no indices.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The indices as `I`; errors name the array by `what`.
    ///
    /// # Errors
    /// [`Error::IndexOverflow`] if one does not fit; [`Error::Format`] if one is negative.
    pub fn into_typed<I: Index>(self, what: &'static str) -> Result<Vec<I>> {
        match self {
            Self::I32(indices) => narrow(indices, what),
            Self::I64(indices) => narrow(indices, what),
        }
    }
}

fn narrow<A: Index, I: Index>(indices: Vec<A>, what: &'static str) -> Result<Vec<I>> {
    let indices = match as_is(indices) {
        Ok(same_type) => return Ok(same_type),
        Err(indices) => indices,
    };
    let convert = |index: A| match usize::try_from(index.as_i64()) {
        Ok(value) => I::try_new(what, value),
        Err(_) => Err(Error::format(what, format_args!("{index} is negative"))),
    };
    indices.into_iter().map(convert).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_round_to_nearest_and_overflow_is_an_error() {
        let values = AnyValues::F64(vec![0.1, 1e-300, f64::INFINITY]);
        assert_eq!(values.into_typed::<f32>().unwrap(), [0.1_f32, 0.0, f32::INFINITY]);
        let error = AnyValues::F64(vec![1.0, 1e300]).into_typed::<f32>().unwrap_err();
        assert!(matches!(error, Error::ValueOverflow { position: 1, target: "f32", .. }), "{error}");
    }

    #[test]
    fn complex_values_do_not_become_real() {
        assert!(AnyValues::C32(vec![c32::new(1.0, 0.0)]).into_typed::<f64>().is_err());
        assert_eq!(AnyValues::F32(vec![2.0]).into_typed::<c64>().unwrap(), [c64::new(2.0, 0.0)]);
    }

    #[test]
    fn indices_narrow_only_where_they_fit() {
        assert_eq!(AnyIndices::I64(vec![7]).into_typed::<i32>("row").unwrap(), [7_i32]);
        let error = AnyIndices::I64(vec![1 << 40]).into_typed::<i32>("row").unwrap_err();
        assert!(matches!(error, Error::IndexOverflow { target: "i32", .. }), "{error}");
        assert!(AnyIndices::I64(vec![-1]).into_typed::<i32>("row").is_err());
    }
}
