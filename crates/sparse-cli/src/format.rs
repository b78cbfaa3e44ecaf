//! The sparse formats of `--as`.

use anyhow::Result;
use clap::ValueEnum;
use nnz::op::{FullBackend, Operations, SpmmKernel, SpmvKernel};
use nnz::{
    Accumulator, Coo, Csc, Csr, Ell, EllLayout, Hyb, HybWidth, Index, Sell, SellLayout, SpaceOf, SparseFormat,
};

/// A sparse format that products are computed in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Compressed rows
    Csr,
    /// Compressed columns
    Csc,
    /// Coordinates
    Coo,
    /// Rows padded to the longest
    Ell,
    /// ELL of the cheapest width, the overflow as COO
    Hyb,
    /// SELL-C-σ: slices of 32 rows, each padded to its own width
    Sell,
}

/// The formats of `--format`, in which a matrix is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum StoredFormat {
    /// Compressed rows
    Csr,
    /// Coordinates, which need no row offsets
    Coo,
}

impl Format {
    /// All formats.
    pub(crate) const ALL: [Self; 6] = [Self::Csr, Self::Csc, Self::Coo, Self::Ell, Self::Hyb, Self::Sell];

    /// The name, as in `--as`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Csr => "csr",
            Self::Csc => "csc",
            Self::Coo => "coo",
            Self::Ell => "ell",
            Self::Hyb => "hyb",
            Self::Sell => "sell",
        }
    }
}

/// A function of a matrix in any format.
pub(crate) trait WithFormat<T: Accumulator, B> {
    /// The result.
    type Out;

    /// Runs on the matrix.
    fn call<M>(self, a: &M) -> Result<Self::Out>
    where
        M: SparseFormat<Scalar = T, Space = SpaceOf<B>>,
        B: SpmvKernel<M> + SpmmKernel<M>;
}

/// Converts a matrix on a device to `format` and calls `visitor`.
pub(crate) fn in_format<T, I, O, B, V>(
    format: Format,
    a: &Csr<T, SpaceOf<B>, I, O>,
    backend: &B,
    visitor: V,
) -> Result<V::Out>
where
    T: Accumulator,
    I: Index,
    O: Index,
    B: FullBackend<T, I, O>,
    V: WithFormat<T, B>,
{
    match format {
        Format::Csr => visitor.call(a),
        Format::Csc => visitor.call(&Operations::convert::<_, Csc<T, SpaceOf<B>, I, O>>(backend, a, &())?),
        Format::Coo => visitor.call(&Operations::convert::<_, Coo<T, SpaceOf<B>, I>>(backend, a, &())?),
        Format::Ell => {
            visitor.call(&Operations::convert::<_, Ell<T, SpaceOf<B>, I>>(backend, a, &EllLayout::default())?)
        }
        Format::Hyb => {
            visitor.call(&Operations::convert::<_, Hyb<T, SpaceOf<B>, I>>(backend, a, &HybWidth::default())?)
        }
        Format::Sell => visitor.call(&Operations::convert::<_, Sell<T, SpaceOf<B>, I, O>>(
            backend,
            a,
            &SellLayout::default(),
        )?),
    }
}
