//! The inverse of the diagonal.

use super::Preconditioner;
use super::inverse::InverseProduct;
use sparse_core::backend::{SpaceOf, ViewOf};
use sparse_core::error::check_square;
use sparse_core::op::{SpmvKernel, VectorKernel, quotient};
use sparse_core::{Accumulator, Csr, Error, Host, Index, Result, Scalar};

/// The Jacobi preconditioner: K = diag(A).
///
/// Costs one product with a diagonal matrix in CSR: for each row two indices and three values are moved.
#[derive(Debug)]
pub struct Jacobi<B, T>(InverseProduct<B, T>)
where
    B: SpmvKernel<Csr<T, SpaceOf<B>>>,
    T: Scalar;

impl<B, T> Jacobi<B, T>
where
    B: SpmvKernel<Csr<T, SpaceOf<B>>> + VectorKernel<T>,
    T: Accumulator,
{
    /// The preconditioner of `a`.
    ///
    /// ```
    /// use sparse_core::{Csr, reference::Reference};
    /// use sparse_solvers::{Jacobi, Preconditioner};
    ///
    /// let a = Csr::<f64>::from_triplets(2, 2, [(0, 0, 2.0), (0, 1, 1.0), (1, 1, 4.0)])?;
    /// let mut jacobi = Jacobi::new(&Reference, &a)?;
    /// assert_eq!(jacobi.apply(&[8.0, 8.0])?, [4.0, 2.0]);
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`inverse_diagonal`] and [`from_inverse_diagonal`](Self::from_inverse_diagonal).
    pub fn new<I: Index, O: Index>(backend: &B, a: &Csr<T, Host, I, O>) -> Result<Self> {
        Self::from_inverse_diagonal(backend, inverse_diagonal(a)?)
    }

    /// The preconditioner from the inverses 1 / a_ii of A's diagonal, not from the diagonal itself.
    ///
    /// [`inverse_diagonal`] computes them, and [`inverse_diagonal_of_block`] those of some rows.
    ///
    /// # Errors
    /// [`IndexOverflow`](Error::IndexOverflow) from 2³¹ rows on, and those of planning a product.
    pub fn from_inverse_diagonal(backend: &B, inverse_diagonal: Vec<T>) -> Result<Self> {
        let inverse = Csr::<T>::identity(inverse_diagonal.len())?.with_values(inverse_diagonal)?;
        Ok(Self(InverseProduct::new(backend, &inverse)?))
    }

    /// Takes other inverses 1 / a_ii, as of new values of A.
    ///
    /// ```
    /// use sparse_core::reference::Reference;
    /// use sparse_solvers::{Jacobi, Preconditioner};
    ///
    /// let mut jacobi = Jacobi::from_inverse_diagonal(&Reference, vec![0.5, 0.25])?;
    /// jacobi.update(&[1.0, 2.0])?;
    /// assert_eq!(jacobi.apply(&[8.0, 8.0])?, [8.0, 16.0]);
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Format`](Error::Format) if it has another length; an error of the device's runtime.
    pub fn update(&mut self, inverse_diagonal: &[T]) -> Result<()> {
        self.0.set_values(inverse_diagonal)
    }
}

impl<B, T> Preconditioner<B, T> for Jacobi<B, T>
where
    B: SpmvKernel<Csr<T, SpaceOf<B>>> + VectorKernel<T>,
    T: Accumulator,
{
    fn apply<'a>(&'a mut self, r: ViewOf<'a, B, T>) -> Result<ViewOf<'a, B, T>> {
        self.0.apply(r)
    }

    fn is_recordable(&self) -> bool {
        true
    }
}

/// 1 / a_ii for every row, for [`Jacobi::from_inverse_diagonal`]; duplicates are added.
///
/// ```
/// use sparse_core::Csr;
/// use sparse_solvers::inverse_diagonal;
///
/// assert_eq!(inverse_diagonal(&sparse_generate::stencil_5::<f64>(2, 1)?)?, [0.25, 0.25]);
/// let error = inverse_diagonal(&Csr::<f64>::zeros(2, 2)?).unwrap_err().to_string();
/// assert!(error.contains("row 0: a diagonal entry with a finite inverse is needed, none is stored"));
/// # Ok::<(), sparse_core::Error>(())
/// ```
///
/// # Errors
/// [`Shape`](Error::Shape) if A is not square; [`Singular`](Error::Singular) with the first row whose
/// diagonal is not stored, or has no finite inverse other than zero.
pub fn inverse_diagonal<T: Accumulator, I: Index, O: Index>(a: &Csr<T, Host, I, O>) -> Result<Vec<T>> {
    inverse_diagonal_of_block(a, 0)
}

/// As [`inverse_diagonal`], of a block on the diagonal of a larger matrix, from whose row `first` on it is: errors name
/// the rows of the larger matrix.
///
/// ```
/// use sparse_core::Csr;
/// use sparse_solvers::inverse_diagonal_of_block;
///
/// let error = inverse_diagonal_of_block(&Csr::<f64>::zeros(2, 2)?, 40).unwrap_err().to_string();
/// assert!(error.contains("row 40: a diagonal entry"));
/// # Ok::<(), sparse_core::Error>(())
/// ```
///
/// # Errors
/// As for [`inverse_diagonal`].
pub fn inverse_diagonal_of_block<T: Accumulator, I: Index, O: Index>(
    a: &Csr<T, Host, I, O>,
    first: usize,
) -> Result<Vec<T>> {
    check_square("jacobi", (a.nrows(), a.ncols()))?;
    (0..a.nrows()).map(|row| inverse_of_diagonal(a, row, first)).collect()
}

fn inverse_of_diagonal<T: Accumulator, I: Index, O: Index>(
    a: &Csr<T, Host, I, O>,
    row: usize,
    first: usize,
) -> Result<T> {
    let stored = a.major_entries(row).filter(|&(col, _)| col == row).map(|(_, value)| value);
    let found = match stored.reduce(|sum, value| sum + value) {
        None => "none is stored".to_string(),
        Some(diagonal) => {
            let inverse = quotient(T::one(), diagonal);
            if inverse.is_finite() && !inverse.is_zero() {
                return Ok(inverse);
            }
            format!("it is {diagonal}")
        }
    };
    let reason = format_args!("a diagonal entry with a finite inverse is needed, {found}");
    Err(Error::singular("jacobi", first + row, reason))
}
