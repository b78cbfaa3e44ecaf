//! Explicit conversions of the value type and of the index types, on the host.

use super::{Axis, Compressed, Coo};
use crate::error::{Error, Result, show_number};
use crate::index::Index;
use crate::scalar::Scalar;
use crate::space::Host;

/// The values as another type, each rounded to nearest; magnitudes that are too small become zero or subnormal.
///
/// ```
/// use sparse_core::cast_slice;
/// assert_eq!(cast_slice::<f64, f32>(&[0.5, 1e-60])?, [0.5, 0.0]);
/// let error = cast_slice::<f64, f32>(&[0.5, 1e60]).unwrap_err();
/// assert!(error.to_string().contains("1e60"), "{error}");
/// # Ok::<(), sparse_core::Error>(())
/// ```
///
/// # Errors
/// [`Error::Unsupported`] from a complex to a real type, even if all imaginary parts are zero;
/// [`Error::ValueOverflow`], with its position, for a finite value that would become infinite.
pub fn cast_slice<T: Scalar, U: Scalar>(values: &[T]) -> Result<Vec<U>> {
    if T::DTYPE.is_complex() && !U::DTYPE.is_complex() {
        return Err(Error::unsupported(
            format_args!("a change of values from {} to {}", T::DTYPE, U::DTYPE),
            "the imaginary parts would be lost",
        ));
    }
    values.iter().enumerate().map(|(position, &value)| cast(position, value)).collect()
}

fn cast<T: Scalar, U: Scalar>(position: usize, value: T) -> Result<U> {
    let rounded = U::from_c64(value.to_c64());
    if value.is_finite() && !rounded.is_finite() {
        let is_complex = T::DTYPE.is_complex();
        let value = if is_complex { show_number(value.to_c64()) } else { format!("{value:?}") };
        return Err(Error::ValueOverflow { position, value, target: U::DTYPE.name() });
    }
    Ok(rounded)
}

/// The indices as another type, or an error that names the first that does not fit.
fn try_cast_indices<I: Index, J: Index>(what: &str, indices: &[I]) -> Result<Vec<J>> {
    indices.iter().map(|index| J::try_new(what, index.as_usize())).collect()
}

impl<A: Axis, T: Scalar, I: Index, O: Index> Compressed<A, T, Host, I, O> {
    /// The same pattern with its values as another type, each rounded to nearest. Plans stay valid.
    ///
    /// ```
    /// # use sparse_core::Csr;
    /// assert_eq!(Csr::<f64>::identity(2)?.cast_values::<f32>()?, Csr::identity(2)?);
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`cast_slice`].
    pub fn cast_values<U: Scalar>(&self) -> Result<Compressed<A, U, Host, I, O>> {
        self.with_values(cast_slice(self.values())?)
    }

    /// A copy with other types of indices and offsets.
    ///
    /// ```
    /// # use sparse_core::Csr;
    /// let wide = Csr::<f64>::identity(2)?.try_cast_indices::<i64, i64>()?;
    /// assert_eq!(wide.try_cast_indices::<i32, i32>()?, Csr::identity(2)?);
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::IndexOverflow`], with the value, if an index, an offset or an extent does not fit.
    pub fn try_cast_indices<J: Index, P: Index>(&self) -> Result<Compressed<A, T, Host, J, P>> {
        let offsets = try_cast_indices("offset", self.offsets())?;
        let indices = try_cast_indices(A::MINOR, self.indices())?;
        Compressed::new_unsorted(self.nrows(), self.ncols(), offsets, indices, self.values().clone())
    }
}

impl<T: Scalar, I: Index> Coo<T, Host, I> {
    /// The same pattern with its values as another type, each rounded to nearest. Plans stay valid.
    ///
    /// ```
    /// # use sparse_core::Coo;
    /// let a = Coo::<f64>::from_triplets(2, 3, [(1, 2, 0.5)])?;
    /// assert!(a.cast_values::<f32>()?.triplets().eq([(1, 2, 0.5)]));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`cast_slice`].
    pub fn cast_values<U: Scalar>(&self) -> Result<Coo<U, Host, I>> {
        self.with_values(cast_slice(self.values())?)
    }

    /// A copy with another type of indices.
    ///
    /// ```
    /// # use sparse_core::Coo;
    /// let a = Coo::<f64>::from_triplets(2, 3, [(1, 2, 0.5)])?;
    /// assert_eq!(a.try_cast_indices::<i64>()?.col_idx(), &[2_i64]);
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::IndexOverflow`], with the value, if an index or an extent does not fit.
    pub fn try_cast_indices<J: Index>(&self) -> Result<Coo<T, Host, J>> {
        let row_idx = try_cast_indices("row", self.row_idx())?;
        let col_idx = try_cast_indices("column", self.col_idx())?;
        Coo::new(self.nrows(), self.ncols(), row_idx, col_idx, self.values().clone())
    }
}
