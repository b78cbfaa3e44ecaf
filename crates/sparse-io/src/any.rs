//! Arrays whose type is known only at run time.

use crate::stream::{Reserve, grow};
use sparse_core::error::show_number;
use sparse_core::{DType, Error, Index, Result, Scalar, c32, c64, with_dtype};
use std::any::Any;

/// Values of the types that files contain.
#[derive(Debug, Clone, PartialEq)]
pub enum AnyValues {
    /// `f4` of NumPy, and `f2`, which it holds exactly.
    F32(Vec<f32>),
    /// `f8` of NumPy.
    F64(Vec<f64>),
    /// `c8` of NumPy.
    C32(Vec<c32>),
    /// `c16` of NumPy.
    C64(Vec<c64>),
    /// Signed integers of NumPy, unsigned ones of up to 32 bits, and `bool`.
    I64(Vec<i64>),
    /// `u8` of NumPy.
    U64(Vec<u64>),
}

impl AnyValues {
    /// The type of the values; that of integers is `f64`.
    ///
    /// ```
    /// use sparse_core::DType;
    /// use sparse_io::any::AnyValues;
    ///
    /// assert_eq!(AnyValues::F32(vec![1.0]).dtype(), DType::F32);
    /// assert_eq!(AnyValues::I64(vec![1]).dtype(), DType::F64);
    /// ```
    pub fn dtype(&self) -> DType {
        match self {
            Self::F32(_) => DType::F32,
            Self::F64(_) | Self::I64(_) | Self::U64(_) => DType::F64,
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
            Self::I64(values) => values.len(),
            Self::U64(values) => values.len(),
        }
    }

    /// True if there are no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The values as `T`, rounded to nearest.
    ///
    /// ```
    /// use sparse_core::c64;
    /// use sparse_io::any::AnyValues;
    ///
    /// assert_eq!(AnyValues::F64(vec![0.1]).into_typed::<f32>()?, [0.1_f32]);
    /// assert!(AnyValues::C64(vec![c64::new(1.0, 0.0)]).into_typed::<f64>().is_err());
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
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
            Self::I64(values) => Ok(values.into_iter().map(|value| nearest(value as f64)).collect()),
            Self::U64(values) => Ok(values.into_iter().map(|value| nearest(value as f64)).collect()),
        }
    }

    /// The integers that `T` does not represent, and which [`into_typed`](Self::into_typed) rounds; none if there are
    /// none.
    ///
    /// ```
    /// use sparse_io::any::AnyValues;
    ///
    /// let rounded = AnyValues::I64(vec![1, (1 << 53) + 1]).rounded_integers::<f64>().unwrap();
    /// assert_eq!((rounded.count, rounded.first.as_str()), (1, "9007199254740993"));
    /// ```
    pub fn rounded_integers<T: Scalar>(&self) -> Option<RoundedIntegers> {
        self.integers_rounded_by(T::DTYPE)
    }

    pub(crate) fn integers_rounded_by(&self, dtype: DType) -> Option<RoundedIntegers> {
        match self {
            Self::F32(_) | Self::F64(_) | Self::C32(_) | Self::C64(_) => None,
            Self::I64(values) => rounded(values.iter().map(|&value| (value as f64, value.into())), dtype),
            Self::U64(values) => rounded(values.iter().map(|&value| (value as f64, value.into())), dtype),
        }
    }
}

/// Values that are extended as they are decoded.
impl AnyValues {
    /// Reserves capacity for `more` values; there will be at most `most`.
    pub(crate) fn grow(&mut self, more: usize, most: usize, reserve: &mut Reserve<'_>) -> Result<()> {
        match self {
            Self::F32(values) => grow(values, more, most, reserve),
            Self::F64(values) => grow(values, more, most, reserve),
            Self::C32(values) => grow(values, more, most, reserve),
            Self::C64(values) => grow(values, more, most, reserve),
            Self::I64(values) => grow(values, more, most, reserve),
            Self::U64(values) => grow(values, more, most, reserve),
        }
    }

    /// The capacity, in values.
    pub(crate) fn capacity(&self) -> usize {
        match self {
            Self::F32(values) => values.capacity(),
            Self::F64(values) => values.capacity(),
            Self::C32(values) => values.capacity(),
            Self::C64(values) => values.capacity(),
            Self::I64(values) => values.capacity(),
            Self::U64(values) => values.capacity(),
        }
    }

    /// Appends values of the same type; values of another type replace those present.
    pub(crate) fn append(&mut self, more: Self) {
        match (self, more) {
            (Self::F32(values), Self::F32(more)) => values.extend(more),
            (Self::F64(values), Self::F64(more)) => values.extend(more),
            (Self::C32(values), Self::C32(more)) => values.extend(more),
            (Self::C64(values), Self::C64(more)) => values.extend(more),
            (Self::I64(values), Self::I64(more)) => values.extend(more),
            (Self::U64(values), Self::U64(more)) => values.extend(more),
            (values, other) => *values = other,
        }
    }

    /// The values that are not zero, of either sign; `each` is called with their positions.
    pub(crate) fn nonzeros(self, mut each: impl FnMut(usize)) -> Self {
        self.filter(|position, is_zero| {
            if !is_zero {
                each(position);
            }
            !is_zero
        })
    }

    /// The values for which `keep`, called with the position and whether the value is zero, is true.
    pub(crate) fn filter(self, keep: impl FnMut(usize, bool) -> bool) -> Self {
        match self {
            Self::F32(values) => Self::F32(filtered(values, 0.0, keep)),
            Self::F64(values) => Self::F64(filtered(values, 0.0, keep)),
            Self::C32(values) => Self::C32(filtered(values, c32::ZERO, keep)),
            Self::C64(values) => Self::C64(filtered(values, c64::ZERO, keep)),
            Self::I64(values) => Self::I64(filtered(values, 0, keep)),
            Self::U64(values) => Self::U64(filtered(values, 0, keep)),
        }
    }
}

/// The elements for which `keep`, called with the position and equality to `zero`, is true.
fn filtered<T: PartialEq>(values: Vec<T>, zero: T, mut keep: impl FnMut(usize, bool) -> bool) -> Vec<T> {
    let elements = values.into_iter().enumerate();
    elements.filter(|(position, value)| keep(*position, *value == zero)).map(|(_, value)| value).collect()
}

/// Integers that a type of values does not represent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoundedIntegers {
    /// Number of such integers.
    pub count: usize,
    /// The first one.
    pub first: String,
    /// The position of the first one, from 0, among the values of an array.
    pub position: Option<usize>,
    /// The line of the first one, from 1, in a text.
    pub line: Option<u64>,
}

/// Compares integers, given as `f64` and exactly, with their values as `dtype`.
fn rounded(integers: impl Iterator<Item = (f64, i128)>, dtype: DType) -> Option<RoundedIntegers> {
    let is_rounded =
        |&(_, (value, exact)): &(usize, (f64, i128))| nearest_real(dtype, value) as i128 != exact;
    let mut rounded = integers.enumerate().filter(is_rounded);
    let (position, (_, first)) = rounded.next()?;
    Some(RoundedIntegers {
        count: 1 + rounded.count(),
        first: first.to_string(),
        position: Some(position),
        line: None,
    })
}

/// A real number rounded to `dtype`.
pub(crate) fn nearest_real(dtype: DType, value: f64) -> f64 {
    with_dtype!(dtype, T => nearest::<T>(value).to_c64().re)
}

/// A real number rounded to `T`.
fn nearest<T: Scalar>(value: f64) -> T {
    T::from_c64(value.into())
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

/// The vector itself, if it has the requested type.
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
        let (value, target) = (show_number(value.to_c64()), T::DTYPE.name());
        return Err(Error::ValueOverflow { position, value, target });
    }
    Ok(rounded)
}

/// Indices or offsets of the types that files contain.
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

    /// True if there are no indices.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Reserves capacity for `more` indices; there will be at most `most`.
    pub(crate) fn grow(&mut self, more: usize, most: usize, reserve: &mut Reserve<'_>) -> Result<()> {
        match self {
            Self::I32(indices) => grow(indices, more, most, reserve),
            Self::I64(indices) => grow(indices, more, most, reserve),
        }
    }

    /// The capacity, in indices.
    pub(crate) fn capacity(&self) -> usize {
        match self {
            Self::I32(indices) => indices.capacity(),
            Self::I64(indices) => indices.capacity(),
        }
    }

    /// Appends indices of the same type; indices of another type replace those present.
    pub(crate) fn append(&mut self, more: Self) {
        match (self, more) {
            (Self::I32(indices), Self::I32(more)) => indices.extend(more),
            (Self::I64(indices), Self::I64(more)) => indices.extend(more),
            (indices, other) => *indices = other,
        }
    }

    /// The indices as `I`; errors name the array by `what`.
    ///
    /// ```
    /// use sparse_io::any::AnyIndices;
    ///
    /// assert_eq!(AnyIndices::I64(vec![7]).into_typed::<i32>("column")?, [7]);
    /// let error = AnyIndices::I64(vec![1 << 40]).into_typed::<i32>("column").unwrap_err();
    /// assert_eq!(error.to_string(), "column = 1099511627776 does not fit i32");
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
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
    fn integers_that_are_rounded_are_counted() {
        let odd = (1 << 53) + 1;
        let values = AnyValues::I64(vec![1 << 24, -(1 << 24) - 1, odd - 1, -odd]);
        let found = |rounded: Option<RoundedIntegers>| rounded.map(|r| (r.count, r.position, r.first));
        assert_eq!(found(values.rounded_integers::<f64>()), Some((1, Some(3), (-odd).to_string())));
        assert_eq!(found(values.rounded_integers::<c32>()), Some((2, Some(1), "-16777217".into())));
        assert_eq!(found(AnyValues::U64(vec![u64::MAX, 1 << 63]).rounded_integers::<f64>()).unwrap().0, 1);
        assert_eq!(AnyValues::F64(vec![1e300]).rounded_integers::<f32>(), None);
        assert_eq!(values.into_typed::<f64>().unwrap()[3], -(odd as f64));
    }

    #[test]
    fn indices_narrow_only_where_they_fit() {
        assert_eq!(AnyIndices::I64(vec![7]).into_typed::<i32>("row").unwrap(), [7_i32]);
        let error = AnyIndices::I64(vec![1 << 40]).into_typed::<i32>("row").unwrap_err();
        assert!(matches!(error, Error::IndexOverflow { target: "i32", .. }), "{error}");
        assert!(AnyIndices::I64(vec![-1]).into_typed::<i32>("row").is_err());
    }
}
