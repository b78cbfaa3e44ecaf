//! From one format to another: a plan finds the pattern and where each value goes, the device moves values there, or
//! adds those that go to one place.
//!
//! The device finds them itself, by a sort or, from rows in order to ELL, HYB and SELL, by the lengths of the rows; from
//! rows in another order to these three the host does.

use super::coordinates::{Coordinates, Merge, RADIX_SORT};
use super::numbered::{HostTarget, Numbered, Numerable, Target, Values, position};
use super::padded;
use super::positions::Positions;
use super::slots;
use crate::program::Defines;
use crate::{Buffer, Device, Driver};
use sparse_core::format::IndexOrder;
use sparse_core::format::estimate::Sizes;
use sparse_core::op::{Conversion, ConvertKernel, Duplicates, Operations};
use sparse_core::reference::{Convert, Entries, Reference};
use sparse_core::{
    Algorithm, Axis, Choice, Compressed, Coo, Csc, Csr, Element, Ell, EllLayout, Host, Hyb, HybWidth, Index,
    KernelPlan, Matrix, PlanOptions, Result, Row, Scalar, Sell, SellLayout,
};
use std::fmt::Debug;
use std::sync::Arc;

pub(super) const GATHER: &[Algorithm] = &[Algorithm::new("gather", "always").preprocessing(
    "the pattern of the result and the place of every value: of rows in order on the device, by their lengths, which the host reads; of others by the serial reference on the host",
)];
const EXPAND: &[Algorithm] =
    &[Algorithm::new("expand", "always").preprocessing("both indices of each entry, written by the device")];

/// A layout that means the same for every value type.
pub(super) trait Layout: Clone + Debug {
    /// The layout with its width chosen for rows of these lengths and types of these sizes.
    fn resolved(&self, _: &dyn Fn() -> Vec<usize>, _: usize, _: Sizes) -> Result<Self> {
        Ok(self.clone())
    }
}

impl Layout for () {}

impl Layout for SellLayout {}

impl Layout for EllLayout {
    fn resolved(&self, lengths: &dyn Fn() -> Vec<usize>, _: usize, sizes: Sizes) -> Result<Self> {
        let width = self.resolve(&lengths(), sizes)?;
        Ok(Self { width: Some(width), max_bytes: Some(u64::MAX) })
    }
}

impl Layout for HybWidth {
    fn resolved(&self, lengths: &dyn Fn() -> Vec<usize>, cols: usize, sizes: Sizes) -> Result<Self> {
        Ok(Self::Width(self.resolve(&lengths(), cols, sizes)))
    }
}

/// Where the values of a value array come from.
#[derive(Debug)]
pub(super) enum Source<D: Driver> {
    /// One position each; −1 is padding.
    Gather(Arc<D::Kernel>, Positions<D>),
    /// Runs of entries.
    Merge(Merge<D>),
}

impl<D: Driver> Source<D> {
    /// The values at these positions.
    pub(super) fn gather<T: Scalar>(backend: &Device<D>, positions: Positions<D>) -> Result<Self> {
        Ok(Self::Gather(backend.gather_kernel::<T>(&positions)?, positions))
    }

    fn run<T: Scalar>(&self, backend: &Device<D>, values: Values<'_, D, T>) -> Result<Buffer<D, T>> {
        match self {
            Self::Gather(kernel, positions) => backend.gather(kernel, positions, values),
            Self::Merge(merge) => merge.run(backend, values.head),
        }
    }
}

/// A plan that makes a matrix of the values of another.
#[derive(Debug)]
pub struct Rearrangement<D: Driver, To> {
    choice: Choice,
    target: To,
    arrays: Vec<Source<D>>,
}

impl<D: Driver, To: HostTarget<D>> Rearrangement<D, To> {
    /// A plan that moves values to where their numbers stand in `numbered`.
    fn gather(backend: &Device<D>, choice: Choice, numbered: &To::OnHost) -> Result<Self> {
        let gather = |numbers: &[f64]| {
            let positions: Vec<_> = numbers.iter().map(|&number| position(number)).collect();
            Source::gather::<To::Scalar>(backend, Positions::upload(backend, &positions)?)
        };
        let arrays = To::numbers(numbered).into_iter().map(gather).collect::<Result<_>>()?;
        Ok(Self { choice, target: To::upload(numbered, backend)?, arrays })
    }
}

impl<D: Driver, To: Target<D>> Rearrangement<D, To> {
    /// A plan that gives `target` other values.
    pub(super) fn new(choice: Choice, target: To, arrays: Vec<Source<D>>) -> Self {
        Self { choice, target, arrays }
    }

    /// The matrix of these values.
    pub(super) fn run(&self, backend: &Device<D>, values: Values<'_, D, To::Scalar>) -> Result<To> {
        let arrays = self.arrays.iter().map(|source| source.run(backend, values));
        self.target.with_arrays(arrays.collect::<Result<_>>()?)
    }
}

/// What kernels call an element of the size of `T`, which they do not look into.
fn word<T>() -> &'static str {
    match size_of::<T>() {
        2 => "ushort",
        4 => "uint",
        8 => "ulong",
        _ => "ulong2",
    }
}

impl<D: Driver> Device<D> {
    /// A kernel that moves values, or other elements of the size of `T`.
    pub(super) fn move_kernel<T>(&self, entry: &'static str) -> Result<Arc<D::Kernel>> {
        self.kernel("move", entry, Defines::default().set("WORD", word::<T>()))
    }

    /// The kernel that [`gather`](Self::gather) runs.
    pub(super) fn gather_kernel<T>(&self, positions: &Positions<D>) -> Result<Arc<D::Kernel>> {
        let defines = Defines::default().set("WORD", word::<T>()).set("POS", positions.type_name());
        self.kernel("gather", "gather_words", defines)
    }

    /// The elements at these positions.
    pub(super) fn gather<T: Element>(
        &self,
        kernel: &D::Kernel,
        positions: &Positions<D>,
        from: Values<'_, D, T>,
    ) -> Result<Buffer<D, T>> {
        let (n, to) = (positions.len(), self.allocate(positions.len())?);
        self.launch(kernel).size(n).positions(positions).values(from).buffer(&to).items(n)?;
        Ok(to)
    }

    /// The elements of one buffer at these positions.
    pub(super) fn gathered<T: Element>(
        &self,
        positions: &Positions<D>,
        from: &Buffer<D, T>,
    ) -> Result<Buffer<D, T>> {
        self.gather(&*self.gather_kernel::<T>(positions)?, positions, Values::one(from))
    }

    /// The elements at which a run begins, as `starts` say, of which there are `kept`.
    pub(super) fn compact<T: Element>(
        &self,
        starts: &Buffer<D, i64>,
        from: &Buffer<D, T>,
        kept: usize,
    ) -> Result<Buffer<D, T>> {
        let (kernel, to) = (self.move_kernel::<T>("move_compact")?, self.allocate(kept)?);
        let launch = self.launch(&kernel).size(from.len).buffer(starts);
        launch.buffer(from).buffer(&to).items(from.len)?;
        Ok(to)
    }

    /// A plan by what the reference makes of the numbered entries.
    pub(super) fn plan_gather<From, To>(
        &self,
        from: &From,
        layout: &From::Layout,
        sizes: Sizes,
        options: &PlanOptions,
    ) -> Result<Rearrangement<D, To>>
    where
        From: Numerable<D> + Conversion<To, Layout: Layout>,
        From::OnHost: Convert<To::OnHost, Layout = From::Layout>,
        To: HostTarget<D>,
    {
        let choice = options.choose(From::NAME, GATHER, "gather", "there is no other")?;
        let host = from.numbered(self)?;
        let layout = layout.resolved(&|| row_lengths(&host), from.cols(), sizes)?;
        Rearrangement::gather(self, choice, &Operations::convert(&Reference, &host, &layout)?)
    }
}

impl<D: Driver, To: Debug + Send> KernelPlan for Rearrangement<D, To> {
    fn choice(&self) -> &Choice {
        &self.choice
    }
}

/// The number of entries of each row.
fn row_lengths(a: &impl Entries) -> Vec<usize> {
    let mut lengths = vec![0; a.rows()];
    a.entries().for_each(|(i, _, _)| lengths[i] += 1);
    lengths
}

/// A conversion: its algorithms, and how its plan is made.
macro_rules! conversion {
    ([$($generics:tt)*], $from:ty => $to:ty, $table:expr, $plan:expr) => {
        impl<D: Driver, $($generics)*> ConvertKernel<$from, $to> for Device<D> {
            type Plan = Rearrangement<D, $to>;

            fn convert_algorithms(&self) -> &'static [Algorithm] {
                $table
            }

            fn plan_convert(
                &self,
                from: &$from,
                layout: &<$from as Conversion<$to>>::Layout,
                options: &PlanOptions,
            ) -> Result<Self::Plan> {
                $plan(self, from, layout, options)
            }

            unsafe fn convert(&self, plan: &mut Self::Plan, from: &$from) -> Result<$to> {
                plan.run(self, Numbered::values(from))
            }
        }
    };
}

/// The plans of CSR, CSC and coordinates from each other.
pub(super) type ToCompressed<D, A, T, I, O> = Rearrangement<D, Compressed<A, T, Device<D>, I, O>>;
pub(super) type RowsOf<D, M, O> = ToCompressed<D, Row, <M as Matrix>::Scalar, <M as Numbered<D>>::Index, O>;
pub(super) type ToCoo<D, T, I> = Rearrangement<D, Coo<T, Device<D>, I>>;

type CsrOn<D, T, I, O> = Csr<T, Device<D>, I, O>;
type CscOn<D, T, I, O> = Csc<T, Device<D>, I, O>;

conversion!([T: Scalar, I: Index, O: Index], CsrOn<D, T, I, O> => Ell<T, Device<D>, I>, GATHER, padded::to_ell);
conversion!([T: Scalar, I: Index, O: Index], CsrOn<D, T, I, O> => Hyb<T, Device<D>, I>, GATHER, padded::to_hyb);
conversion!([T: Scalar, I: Index, O: Index], CsrOn<D, T, I, O> => Sell<T, Device<D>, I, O>, GATHER, padded::to_sell);
conversion!([T: Scalar, I: Index, O: Index], Ell<T, Device<D>, I> => CsrOn<D, T, I, O>, RADIX_SORT, slots::to_csr);
conversion!([T: Scalar, I: Index, O: Index], Hyb<T, Device<D>, I> => CsrOn<D, T, I, O>, RADIX_SORT, slots::to_csr);
conversion!([T: Scalar, I: Index, O: Index], Sell<T, Device<D>, I, O> => CsrOn<D, T, I, O>, RADIX_SORT, slots::to_csr);
conversion!([T: Scalar, I: Index, O: Index], CsrOn<D, T, I, O> => CscOn<D, T, I, O>, RADIX_SORT, transpose);
conversion!([T: Scalar, I: Index, O: Index], CscOn<D, T, I, O> => CsrOn<D, T, I, O>, RADIX_SORT, transpose);
conversion!([A: Axis, T: Scalar, I: Index, O: Index], Coo<T, Device<D>, I> => Compressed<A, T, Device<D>, I, O>, RADIX_SORT, compress);
conversion!([A: Axis, T: Scalar, I: Index, O: Index], Compressed<A, T, Device<D>, I, O> => Coo<T, Device<D>, I>, EXPAND, expand);

/// CSR to CSC, and back.
fn transpose<D: Driver, A: Axis, T: Scalar, I: Index, O: Index>(
    backend: &Device<D>,
    from: &Compressed<A, T, Device<D>, I, O>,
    (): &(),
    options: &PlanOptions,
) -> Result<ToCompressed<D, A::Other, T, I, O>> {
    let choice = options.choose("convert", RADIX_SORT, RADIX_SORT[0].name, "there is no other")?;
    Coordinates::across(backend, from)?.compress(backend, choice, Duplicates::Keep)
}

/// Coordinates to CSR or CSC.
fn compress<D: Driver, A: Axis, T: Scalar, I: Index, O: Index>(
    backend: &Device<D>,
    from: &Coo<T, Device<D>, I>,
    duplicates: &Duplicates,
    options: &PlanOptions,
) -> Result<ToCompressed<D, A, T, I, O>> {
    let choice = options.choose("convert", RADIX_SORT, RADIX_SORT[0].name, "there is no other")?;
    let mut coordinates = Coordinates::of_coo::<A, T>(backend, from)?;
    if *duplicates == Duplicates::Error && !coordinates.are_unique(backend)? {
        let _: Compressed<A, T, Host, I, O> =
            Operations::convert(&Reference, &from.to_host(backend)?, duplicates)?;
    }
    coordinates.compress(backend, choice, *duplicates)
}

/// CSR or CSC to coordinates, as the entries stand.
fn expand<D: Driver, A: Axis, T: Scalar, I: Index, O: Index>(
    backend: &Device<D>,
    from: &Compressed<A, T, Device<D>, I, O>,
    (): &(),
    options: &PlanOptions,
) -> Result<ToCoo<D, T, I>> {
    let choice = options.choose("convert", EXPAND, EXPAND[0].name, "there is no other")?;
    let known = IndexOrder { major_sorted: true, ..from.order() };
    let unknown = IndexOrder { major_sorted: false, sorted: false, unique: false };
    let order = if A::IS_ROW { known } else { unknown };
    Coordinates::stored(backend, from)?.into_coo::<A, T>(backend, choice, order)
}
