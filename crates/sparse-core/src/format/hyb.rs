//! HYB: ELL of a bounded width, and the overflow in COO.

use super::estimate::Sizes;
use super::{Coo, Ell, PatternId, SparseFormat, Transfer};
use crate::error::{Error, Result};
use crate::index::Index;
use crate::scalar::Scalar;
use crate::space::{ContextId, Host, Space};

/// The width of the ELL part of a HYB matrix.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum HybWidth {
    /// This number of entries per row.
    Width(usize),
    /// This fraction of the number of columns, rounded down.
    Fraction(f64),
    /// The width for which ELL and COO together take the fewest bytes.
    #[default]
    MinBytes,
}

impl HybWidth {
    /// The width for rows of these lengths; never above the longest row.
    ///
    /// ```
    /// # use sparse_core::{HybWidth, format::estimate::Sizes};
    /// let sizes = Sizes::of::<f64, i32, i32>();
    /// assert_eq!(HybWidth::Width(9).resolve(&[1, 3, 2], 5, sizes), 3);
    /// assert_eq!(HybWidth::MinBytes.resolve(&[1, 1, 1, 50], 99, sizes), 1);
    /// ```
    pub fn resolve(&self, row_lengths: &[usize], cols: usize, sizes: Sizes) -> usize {
        let longest = row_lengths.iter().copied().max().unwrap_or(0);
        match *self {
            Self::Width(width) => width.min(longest),
            Self::Fraction(fraction) => ((cols as f64 * fraction) as usize).min(longest),
            Self::MinBytes => min_bytes_width(row_lengths, longest, sizes),
        }
    }
}

/// One more element per row saves an overflow entry in each longer row: worth it while
/// `rows · element < longer_rows · overflow`.
fn min_bytes_width(row_lengths: &[usize], longest: usize, sizes: Sizes) -> usize {
    let mut rows_of = vec![0_usize; longest + 1];
    for &length in row_lengths {
        rows_of[length] += 1;
    }
    let slot = sizes.scalar + sizes.index;
    let overflow = slot + sizes.index;
    let mut rows_above = row_lengths.len();
    for (width, rows_of_width) in rows_of.iter().enumerate() {
        rows_above -= rows_of_width;
        if rows_above * overflow <= row_lengths.len() * slot {
            return width;
        }
    }
    longest
}

/// The hybrid format: `A = ell + coo`, the COO part sorted by rows.
#[derive(Debug)]
pub struct Hyb<T: Scalar, S: Space = Host, I: Index = i32> {
    id: PatternId,
    ell: Ell<T, S, I>,
    coo: Coo<T, S, I>,
}

impl<T: Scalar> Hyb<T> {
    /// A matrix without entries, on the host, with 32-bit indices.
    ///
    /// ```
    /// # use sparse_core::{Hyb, SparseFormat};
    /// assert_eq!(Hyb::<f64>::zeros(2, 3)?.nnz(), 0);
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::IndexOverflow`] from 2³¹ rows or columns on.
    pub fn zeros(rows: usize, cols: usize) -> Result<Self> {
        Self::new(Ell::zeros(rows, cols)?, Coo::zeros(rows, cols)?)
    }
}

impl<T: Scalar, S: Space, I: Index> Hyb<T, S, I> {
    /// A matrix of its two parts.
    ///
    /// ```
    /// # use sparse_core::{Coo, Ell, Hyb, SparseFormat};
    /// let ell = Ell::<f64>::new(2, 3, 1, vec![0, 1], vec![1.0, 3.0])?;
    /// let coo = Coo::<f64>::from_triplets(2, 3, [(0, 2, 2.0)])?;
    /// assert_eq!(Hyb::new(ell, coo)?.nnz(), 3);
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Format`] if the shapes differ or the rows of the COO part are not in order; [`Error::WrongContext`] if
    /// the parts live in different contexts.
    pub fn new(ell: Ell<T, S, I>, coo: Coo<T, S, I>) -> Result<Self> {
        if (ell.nrows(), ell.ncols()) != (coo.nrows(), coo.ncols()) {
            return Err(Error::format(
                "hyb",
                format_args!(
                    "the ell part is {} x {}, the coo part {} x {}",
                    ell.nrows(),
                    ell.ncols(),
                    coo.nrows(),
                    coo.ncols()
                ),
            ));
        }
        if coo.context() != ell.context() {
            return Err(Error::WrongContext {
                op: "hyb",
                operand: "the coo part",
                expected: ell.context().number(),
                found: coo.context().number(),
            });
        }
        if !coo.order().major_sorted {
            return Err(Error::format("hyb", "the rows of the coo part are not in order"));
        }
        Ok(Self { id: PatternId::unique(), ell, coo })
    }

    /// The ELL part.
    pub fn ell(&self) -> &Ell<T, S, I> {
        &self.ell
    }

    /// The overflow, in COO.
    pub fn coo(&self) -> &Coo<T, S, I> {
        &self.coo
    }

    /// The same pattern with other values, perhaps of another type. Plans stay valid.
    ///
    /// ```
    /// # use sparse_core::{Coo, Ell, Hyb};
    /// let ell = Ell::<f64>::new(2, 3, 1, vec![0, 1], vec![1.0, 3.0])?;
    /// let a = Hyb::new(ell, Coo::from_triplets(2, 3, [(0, 2, 2.0)])?)?;
    /// assert_eq!(a.with_values(vec![5.0_f32, 6.0], vec![7.0])?.coo().values(), &[7.0]);
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Format`] if a number of values is wrong, [`Error::WrongContext`] if they are in another context.
    pub fn with_values<U: Scalar>(&self, ell: S::Buffer<U>, coo: S::Buffer<U>) -> Result<Hyb<U, S, I>> {
        Ok(Hyb { id: self.id, ell: self.ell.with_values(ell)?, coo: self.coo.with_values(coo)? })
    }
}

impl<T: Scalar, S: Space, I: Index> Clone for Hyb<T, S, I>
where
    S::Buffer<T>: Clone,
{
    fn clone(&self) -> Self {
        Self { id: self.id, ell: self.ell.clone(), coo: self.coo.clone() }
    }
}

impl<T: Scalar, I: Index> PartialEq for Hyb<T, Host, I> {
    fn eq(&self, other: &Self) -> bool {
        self.ell == other.ell && self.coo == other.coo
    }
}

impl<T: Scalar, S: Space, I: Index> SparseFormat for Hyb<T, S, I> {
    type Scalar = T;
    type Space = S;
    type In<U: Space> = Hyb<T, U, I>;
    const FORMAT: &'static str = "hyb";

    fn nrows(&self) -> usize {
        self.ell.nrows()
    }

    fn ncols(&self) -> usize {
        self.ell.ncols()
    }

    fn nnz(&self) -> usize {
        self.ell.nnz() + self.coo.nnz()
    }

    fn pattern_id(&self) -> PatternId {
        self.id
    }

    fn context(&self) -> ContextId {
        self.ell.context()
    }

    fn transfer<U: Space>(&self, transfer: &impl Transfer<S, U>) -> Result<Self::In<U>> {
        Ok(Hyb {
            id: PatternId::unique(),
            ell: self.ell.transfer(transfer)?,
            coo: self.coo.transfer(transfer)?,
        })
    }
}
