//! Operations: one file each, with the trait that a backend implements and the plan that a user runs.
//!
//! Shapes, contexts and pattern identity are checked once, in the plan; the kernel trait's method is `unsafe`, because
//! it is public and checks nothing again. A backend that lacks an operation does not implement its trait.

mod bound_pattern;
mod coefficient;
pub mod convert;
pub mod dense_to_csr;
pub mod elementwise;
mod full_backend;
pub mod galerkin;
mod levels;
mod operations;
pub mod prune;
pub mod reduce;
pub mod row_statistics;
pub mod scan;
pub mod sddmm;
pub mod select;
pub mod semiring;
pub mod semiring_spgemm;
pub mod softmax;
pub mod sort;
pub mod spgemm;
pub mod spmm;
pub mod spmm_reduce;
pub mod spmv;
pub mod to_dense;
pub mod trisolve;
pub mod unpack;
pub mod vector;

pub use coefficient::{Coefficient, CoefficientOf};
pub use convert::{Conversion, ConvertKernel, ConvertPlan, Duplicates};
pub use dense_to_csr::{CAPACITY_SLACK, CompressedArrays, DenseToCompressedPlan, DenseToCsrKernel, Keep};
pub use elementwise::{Elementwise, ElementwiseKernel, ElementwisePlan};
pub use full_backend::{AllTypes, ElementOperations, FullBackend, WithBackend};
pub use galerkin::GalerkinPlan;
pub use levels::Levels;
pub use operations::Operations;
pub use prune::{PruneKernel, PrunePlan};
pub use reduce::{ReduceKernel, ReducePlan, Reduction, StoredLines};
pub use row_statistics::{RowStatistics, RowStatisticsKernel, RowStatisticsPlan};
pub use scan::{ScanElement, ScanKernel, ScanKind, ScanOrder, ScanPlan};
pub use sddmm::{Sampling, SddmmKernel, SddmmPlan};
pub use select::{SelectKernel, SelectPlan};
pub use semiring::{MinPlus, OrAnd, Semiring, SemiringProduct, SemiringProducts};
pub use semiring_spgemm::{PatternElements, PatternValues, ProductRows, SemiringSpgemm};
pub use softmax::{SoftmaxKernel, SoftmaxPlan};
pub use sort::{SortKernel, SortPlan};
pub use spgemm::{SpgemmBound, SpgemmKernel, SpgemmPlan, mask_pattern, row_factors};
pub use spmm::{SpmmKernel, SpmmPlan};
pub use spmm_reduce::{Aggregation, SpmmReduceKernel, SpmmReducePlan};
pub use spmv::{SpmvKernel, SpmvPlan};
pub use to_dense::{ToDenseKernel, ToDensePlan};
pub use trisolve::{Diagonal, Triangle, Triangular, TrisolveKernel, TrisolvePlan, quotient};
pub use unpack::{PackedPattern, UnpackKernel};
pub use vector::{GradientAdvance, GradientStep, GradientTurn, VectorKernel, VectorPlan};

use crate::error::Error;
use crate::format::SparseFormat;
use crate::scalar::{Accumulator, Scalar};
use std::fmt::Display;
use std::str::FromStr;

/// The accumulator of a matrix: the type of `alpha` and `beta`.
pub type AccOf<M> = <<M as SparseFormat>::Scalar as Scalar>::Acc;
/// The type of the magnitudes of a scalar type.
pub type RealOf<T> = <<T as Scalar>::Acc as Accumulator>::Real;

/// The operation applied to a matrix before it is multiplied.
///
/// ```
/// use sparse_core::op::Op;
///
/// assert_eq!("t".parse::<Op>()?, Op::Transpose);
/// assert_eq!(Op::default().to_string(), "n");
/// # Ok::<(), sparse_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Op {
    /// A itself.
    #[default]
    None,
    /// The transpose Aᵀ.
    Transpose,
    /// The conjugate transpose Aᴴ.
    ConjugateTranspose,
}

impl Op {
    /// All operations.
    pub const ALL: [Self; 3] = [Self::None, Self::Transpose, Self::ConjugateTranspose];

    /// True if rows and columns are exchanged.
    ///
    /// ```
    /// use sparse_core::op::Op;
    ///
    /// assert!(Op::ConjugateTranspose.transposes() && !Op::None.transposes());
    /// ```
    pub fn transposes(self) -> bool {
        self != Self::None
    }

    /// The value under this operation: its conjugate for Aᴴ.
    ///
    /// ```
    /// use sparse_core::{c64, op::Op};
    ///
    /// let value = c64::new(1.0, 2.0);
    /// assert_eq!(Op::Transpose.apply(value), value);
    /// assert_eq!(Op::ConjugateTranspose.apply(value), c64::new(1.0, -2.0));
    /// ```
    #[inline(always)]
    pub fn apply<T: Scalar>(self, value: T) -> T {
        if self == Self::ConjugateTranspose { value.conj() } else { value }
    }

    /// (rows, columns) of op(A).
    ///
    /// ```
    /// use sparse_core::{Csr, op::Op};
    ///
    /// let a = Csr::<f64>::zeros(2, 3)?;
    /// assert_eq!(Op::Transpose.shape(&a), (3, 2));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    pub fn shape(self, a: &impl SparseFormat) -> (usize, usize) {
        self.orient(a.nrows(), a.ncols())
    }

    /// Swaps the two for a transpose: from what belongs to the rows and columns of A to what belongs to those of op(A).
    ///
    /// ```
    /// use sparse_core::op::Op;
    ///
    /// assert_eq!(Op::None.orient("rows", "columns"), ("rows", "columns"));
    /// assert_eq!(Op::ConjugateTranspose.orient("rows", "columns"), ("columns", "rows"));
    /// ```
    pub fn orient<X>(self, rows: X, cols: X) -> (X, X) {
        if self.transposes() { (cols, rows) } else { (rows, cols) }
    }
}

impl Display for Op {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::None => "n",
            Self::Transpose => "t",
            Self::ConjugateTranspose => "c",
        })
    }
}

impl FromStr for Op {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        let unknown = || Error::unknown_name("operation", name, &["n", "t", "c"]);
        Self::ALL.into_iter().find(|op| op.to_string() == name).ok_or_else(unknown)
    }
}
