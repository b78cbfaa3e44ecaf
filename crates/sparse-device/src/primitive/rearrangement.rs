//! Plans that compute a matrix from the values of another: the plan has the pattern, a run moves or merges the values.

use super::numbering::position;
use super::positions::Positions;
use super::runs::Merge;
use super::target::{HostTarget, Target};
use super::values::Values;
use crate::buffer::RawBuffer;
use crate::{Device, Kernel};
use sparse_core::format::IndexOrder;
use sparse_core::{Axis, Choice, Compressed, Coo, DType, Index, KernelPlan, Result, Scalar};
use std::fmt::Debug;

/// The source of the values of an array.
#[derive(Debug)]
pub(crate) enum Source {
    /// One position each; −1 is padding.
    Gather(Kernel, Positions),
    /// Runs of entries.
    Merge(Merge),
}

impl Source {
    /// A gather for each array of values: of those whose numbers it has.
    fn gathers(backend: &Device, dtype: DType, arrays: Vec<&[f64]>) -> Result<Vec<Self>> {
        let gather = |numbers: &[f64]| {
            let positions: Vec<_> = numbers.iter().map(|&number| position(number)).collect();
            Self::gather(backend, dtype, Positions::upload(backend, &positions)?)
        };
        arrays.into_iter().map(gather).collect()
    }

    /// A gather of the values at these positions.
    pub(crate) fn gather(backend: &Device, dtype: DType, positions: Positions) -> Result<Self> {
        Ok(Self::Gather(backend.gather_kernel(dtype.bytes(), &positions)?, positions))
    }

    fn run_all(sources: &[Self], backend: &Device, values: Values<'_>) -> Result<Vec<RawBuffer>> {
        sources.iter().map(|source| source.run(backend, values)).collect()
    }

    fn run(&self, backend: &Device, values: Values<'_>) -> Result<RawBuffer> {
        match self {
            Self::Gather(kernel, positions) => backend.gather(kernel, positions, values),
            Self::Merge(merge) => merge.run(backend, values.head),
        }
    }
}

/// A plan that computes a matrix from the values of another.
#[derive(Debug)]
pub struct Rearrangement<To> {
    choice: Choice,
    target: To,
    arrays: Vec<Source>,
}

/// Plans of CSR or CSC, and of COO.
pub(crate) type ToCompressed<A, T, I, O> = Rearrangement<Compressed<A, T, Device, I, O>>;
pub(crate) type ToCoo<T, I> = Rearrangement<Coo<T, Device, I>>;

impl<To: HostTarget> Rearrangement<To> {
    /// A plan that moves each value to the position of its number in `numbered`.
    pub(crate) fn gather(backend: &Device, choice: Choice, numbered: &To::OnHost) -> Result<Self> {
        let arrays = Source::gathers(backend, To::Scalar::DTYPE, To::numbers(numbered))?;
        Ok(Self { choice, target: To::upload(numbered, backend)?, arrays })
    }
}

impl<To: Target> Rearrangement<To> {
    /// A plan that replaces the values of `target`.
    pub(crate) fn new(choice: Choice, target: To, arrays: Vec<Source>) -> Self {
        Self { choice, target, arrays }
    }

    /// The matrix whose values are replaced.
    pub(crate) fn target(&self) -> &To {
        &self.target
    }

    /// The matrix with these values.
    pub(crate) fn run(&self, backend: &Device, values: Values<'_>) -> Result<To> {
        self.target.with_arrays(Source::run_all(&self.arrays, backend, values)?)
    }
}

/// The arrays of a compressed matrix, its extents, and the source of its values.
pub(crate) struct Arrays {
    /// (major, minor)
    pub(crate) extents: (usize, usize),
    pub(crate) offsets: RawBuffer,
    pub(crate) indices: RawBuffer,
    pub(crate) values: RawBuffer,
    pub(crate) order: IndexOrder,
    pub(crate) source: Source,
}

impl Arrays {
    /// The plan of the matrix.
    pub(crate) fn plan<A: Axis, T: Scalar, I: Index, O: Index>(
        self,
        choice: Choice,
    ) -> ToCompressed<A, T, I, O> {
        let Self { extents, offsets, indices, values, order, source } = self;
        let (rows, cols) = A::swap(extents.0, extents.1);
        let (offsets, indices, values) = (offsets.of(), indices.of(), values.of());
        // SAFETY: the kernels wrote offsets that ascend from 0 to the number of indices, which are below the extent,
        // and found this order or sorted by it. The values are replaced before they are read.
        let target = unsafe { Compressed::new_unchecked(rows, cols, offsets, indices, values, order) };
        Rearrangement::new(choice, target, vec![source])
    }
}

impl<To: Debug + Send> KernelPlan for Rearrangement<To> {
    fn choice(&self) -> &Choice {
        &self.choice
    }
}
