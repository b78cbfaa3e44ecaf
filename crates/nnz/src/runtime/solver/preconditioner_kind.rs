//! Preconditioners that are chosen at run time.

use crate::Device;
use crate::runtime::dispatch::backend::RuntimeBackend;
use crate::runtime::{Format, Matrix};
use sparse_core::backend::{Backend, SpaceOf};
use sparse_core::op::{SpmvKernel, TrisolveKernel, VectorKernel};
use sparse_core::{Accumulator, Csr, Error, Host, Index, IndexOrder, Result, Scalar};
use sparse_solvers::{BlockJacobi, Ic0, Ilu0, Jacobi, Preconditioner, inverse_diagonal};
use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

/// A preconditioner of [`Matrix::solve`].
///
/// ```
/// use nnz::PreconditionerKind;
///
/// assert_eq!("block-jacobi:4".parse::<PreconditionerKind>()?, PreconditionerKind::BlockJacobi(4));
/// # Ok::<(), nnz::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum PreconditionerKind {
    /// No preconditioner.
    #[default]
    None,
    /// [`Jacobi`]: the diagonal of A.
    Jacobi,
    /// [`BlockJacobi`]: diagonal blocks of A with this number of rows.
    BlockJacobi(usize),
    /// [`Ilu0`]: an incomplete LU factorization of A, made on the host.
    Ilu0,
    /// [`Ic0`]: an incomplete Cholesky factorization of a Hermitian positive definite A, made on the host.
    Ic0,
}

/// `none`, `jacobi`, `block-jacobi:8`, `ilu0`, `ic0`.
impl Display for PreconditionerKind {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.pad("none"),
            Self::Jacobi => f.pad("jacobi"),
            Self::BlockJacobi(size) => write!(f, "block-jacobi:{size}"),
            Self::Ilu0 => f.pad("ilu0"),
            Self::Ic0 => f.pad("ic0"),
        }
    }
}

/// Rows of a block of `block-jacobi` where the name has no number.
const DEFAULT_BLOCK_ROWS: usize = 8;

/// Parses the names that are written by `Display`, in any case; `block-jacobi` has blocks of 8 rows.
///
/// ```
/// # use nnz::PreconditionerKind;
/// assert_eq!("block-jacobi:4".parse::<PreconditionerKind>()?, PreconditionerKind::BlockJacobi(4));
/// assert_eq!("block-jacobi".parse::<PreconditionerKind>()?, PreconditionerKind::BlockJacobi(8));
/// assert!("block-jacobi:0".parse::<PreconditionerKind>().is_err());
/// # Ok::<(), nnz::Error>(())
/// ```
impl FromStr for PreconditionerKind {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let lower_case = name.to_ascii_lowercase();
        match lower_case.split_once(':').unwrap_or((&lower_case, "")) {
            ("none", "") => Ok(Self::None),
            ("jacobi", "") => Ok(Self::Jacobi),
            ("block-jacobi", "") => Ok(Self::BlockJacobi(DEFAULT_BLOCK_ROWS)),
            ("ilu0", "") => Ok(Self::Ilu0),
            ("ic0", "") => Ok(Self::Ic0),
            ("block-jacobi", rows) => match rows.parse() {
                Ok(rows) if rows > 0 => Ok(Self::BlockJacobi(rows)),
                _ => Err(Error::unsupported(name, "block-jacobi:N needs a number of rows of at least 1")),
            },
            _ => {
                let known = ["none", "jacobi", "block-jacobi", "block-jacobi:N", "ilu0", "ic0"];
                Err(Error::unknown_name("preconditioner", name, &known))
            }
        }
    }
}

/// A preconditioner with its type hidden, so that solvers are compiled once for all.
pub(in crate::runtime) type AnyPreconditioner<B, T> = Box<dyn Updatable<B, T> + Send>;

/// A preconditioner that takes other values of its matrix.
pub(in crate::runtime) trait Updatable<B: Backend, T: Scalar>:
    Preconditioner<B, T>
{
    /// Takes the values of `a`, whose pattern is the same. After an error the preconditioner is as before, unless the
    /// device's runtime failed.
    fn update_from(&mut self, a: &Matrix) -> Result<()>;
}

/// A backend that preconditions by factorizations.
pub(in crate::runtime) trait Factorizes<T: Scalar>: Backend {
    /// The incomplete factorization of `a`.
    fn factorize(&self, a: &Matrix, by: Factorization) -> Result<AnyPreconditioner<Self, T>>;
}

/// A backend with what its preconditioners are declared for.
pub(in crate::runtime) trait PreconditionerKernels<T: Scalar>:
    RuntimeBackend + Factorizes<T> + VectorKernel<T> + SpmvKernel<Csr<T, SpaceOf<Self>>>
{
}

impl<B, T> PreconditionerKernels<T> for B
where
    B: RuntimeBackend + Factorizes<T> + VectorKernel<T> + SpmvKernel<Csr<T, SpaceOf<B>>>,
    T: Scalar,
{
}

/// An incomplete factorization.
#[derive(Debug, Clone, Copy)]
pub(in crate::runtime) enum Factorization {
    Ilu0,
    Ic0,
}

/// Runs `$run` and returns its result, with `$a` as a matrix of the host in the format `$M`.
macro_rules! return_of_compressed {
    ($M:ident, $matrix:expr, $T:ty, $what:expr, $a:ident => $run:expr) => {{
        let matrix = $matrix;
        let host = matrix.on_host()?;
        if let Some($a) = host.typed().downcast_ref::<$M<$T, sparse_core::Host, i32, i32>>() {
            return $run;
        }
        if let Some($a) = host.typed().downcast_ref::<$M<$T, sparse_core::Host, i32, i64>>() {
            return $run;
        }
        if let Some($a) = host.typed().downcast_ref::<$M<$T, sparse_core::Host, i64, i64>>() {
            return $run;
        }
        Err(matrix.unknown_types($what))
    }};
}
#[cfg(feature = "direct")]
pub(in crate::runtime) use return_of_compressed;

/// [`return_of_compressed`] for a preconditioner, which takes CSR.
macro_rules! return_of_csr {
    ($matrix:expr, $T:ty, $a:ident => $run:expr) => {
        return_of_compressed!(Csr, $matrix, $T, "a preconditioner", $a => $run)
    };
}

impl PreconditionerKind {
    /// The preconditioner of `a`.
    pub(in crate::runtime) fn of<B, T>(
        self,
        backend: &B,
        a: &Matrix,
    ) -> Result<Option<AnyPreconditioner<B, T>>>
    where
        B: PreconditionerKernels<T>,
        T: Accumulator,
    {
        Ok(Some(match self {
            Self::None => return Ok(None),
            Self::Jacobi => Box::new(Jacobi::from_inverse_diagonal(backend, inverse_diagonal_of::<T>(a)?)?),
            Self::BlockJacobi(size) => Box::new(block_jacobi(backend, a, size)?),
            Self::Ilu0 => backend.factorize(a, Factorization::Ilu0)?,
            Self::Ic0 => backend.factorize(a, Factorization::Ic0)?,
        }))
    }
}

impl<B: PreconditionerKernels<T>, T: Accumulator> Updatable<B, T> for Jacobi<B, T> {
    fn update_from(&mut self, a: &Matrix) -> Result<()> {
        self.update(&inverse_diagonal_of::<T>(a)?)
    }
}

impl<B: PreconditionerKernels<T>, T: Accumulator> Updatable<B, T> for BlockJacobi<B, T> {
    fn update_from(&mut self, a: &Matrix) -> Result<()> {
        return_of_csr!(a.to_format(Format::Csr)?, T, a => self.update(a))
    }
}

/// [`Updatable`] for incomplete factors.
macro_rules! updatable_factors {
    ($($Factors:ident)*) => {
        $(
            impl<B, T, I, O> Updatable<B, T> for $Factors<B, T, I, O>
            where
                B: TrisolveKernel<Csr<T, SpaceOf<B>, I, O>>,
                T: Accumulator,
                I: Index,
                O: Index,
            {
                fn update_from(&mut self, a: &Matrix) -> Result<()> {
                    let rows = canonical_rows::<T>(a)?;
                    let host = rows.on_host()?;
                    let typed = host.typed().downcast_ref::<Csr<T, Host, I, O>>();
                    self.update(typed.ok_or_else(|| rows.unknown_types("a preconditioner"))?)
                }
            }
        )*
    };
}

updatable_factors!(Ilu0 Ic0);

/// The inverse of the diagonal, on the host.
fn inverse_diagonal_of<T: Accumulator>(a: &Matrix) -> Result<Vec<T>> {
    return_of_csr!(a.to_format(Format::Csr)?, T, a => inverse_diagonal(a))
}

fn block_jacobi<B, T>(backend: &B, a: &Matrix, size: usize) -> Result<BlockJacobi<B, T>>
where
    B: SpmvKernel<Csr<T, SpaceOf<B>>> + VectorKernel<T>,
    T: Accumulator,
{
    return_of_csr!(a.to_format(Format::Csr)?, T, a => BlockJacobi::new(backend, a, size))
}

impl<B, T> Factorizes<T> for B
where
    B: TrisolveKernel<Csr<T, SpaceOf<B>, i32, i32>>
        + TrisolveKernel<Csr<T, SpaceOf<B>, i32, i64>>
        + TrisolveKernel<Csr<T, SpaceOf<B>, i64, i64>>,
    T: Accumulator,
{
    fn factorize(&self, a: &Matrix, by: Factorization) -> Result<AnyPreconditioner<Self, T>> {
        return_of_csr!(canonical_rows::<T>(a)?, T, a => Ok(match by {
            Factorization::Ilu0 => Box::new(Ilu0::new(self, a)?),
            Factorization::Ic0 => Box::new(Ic0::new(self, a)?),
        }))
    }
}

/// `a` as CSR on the host, in order and with duplicates added, which making it of COO does.
fn canonical_rows<T: Accumulator>(a: &Matrix) -> Result<Matrix> {
    let rows = a.to_device(&Device::host()?)?.to_format(Format::Csr)?;
    match is_canonical::<T>(&rows)? {
        true => Ok(rows),
        false => rows.to_format(Format::Coo)?.to_format(Format::Csr),
    }
}

fn is_canonical<T: Accumulator>(rows: &Matrix) -> Result<bool> {
    return_of_csr!(rows, T, a => Ok(a.order() == IndexOrder::CANONICAL))
}
