//! Conversions between sparse formats: a plan finds the pattern and the position of each value, the device moves values
//! there, or adds those with one position.
//!
//! The device finds them itself, by a sort or, from sorted rows to ELL, HYB and SELL, by the lengths of the rows; from
//! unsorted rows to these three the host does.

pub(crate) mod padded;

use crate::buffer::RawBuffer;
use crate::primitive::coordinates::{Coordinates, Merge, RADIX_SORT};
use crate::primitive::padded_entries;
use crate::primitive::positions::Permutation;
use crate::primitive::stored_values::{HostTarget, Numerable, StoredValues, Target, Values, position};
use crate::program::Defines;
use crate::{Buffer, Device, Kernel};
use sparse_core::format::IndexOrder;
use sparse_core::format::estimate::Sizes;
use sparse_core::op::{Conversion, ConvertKernel, Duplicates, Operations};
use sparse_core::reference::{Convert, Entries, Reference};
use sparse_core::{
    Algorithm, Axis, Choice, Compressed, Coo, Csc, Csr, DType, Ell, EllLayout, Host, Hyb, HybWidth, Index,
    KernelPlan, PlanOptions, Result, Row, Scalar, Sell, SellLayout, SparseFormat,
};
use std::fmt::Debug;

pub(crate) const GATHER: &[Algorithm] = &[Algorithm::new("gather", "always").preprocessing(
    "the pattern of the result and the place of every value: of rows in order on the device, by their lengths, which the host reads; of others by the serial reference on the host",
)];
const EXPAND: &[Algorithm] =
    &[Algorithm::new("expand", "always").preprocessing("both indices of each entry, written by the device")];

/// A layout that does not depend on the value type.
pub(crate) trait Layout: Clone + Debug {
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

/// The source of the values of an array.
#[derive(Debug)]
pub(crate) enum Source {
    /// One position each; −1 is padding.
    Gather(Kernel, Permutation),
    /// Runs of entries.
    Merge(Merge),
}

impl Source {
    /// A gather of the values at these positions.
    pub(crate) fn gather(backend: &Device, dtype: DType, permutation: Permutation) -> Result<Self> {
        Ok(Self::Gather(backend.gather_kernel(dtype.bytes(), &permutation)?, permutation))
    }

    fn run(&self, backend: &Device, values: Values<'_>) -> Result<RawBuffer> {
        match self {
            Self::Gather(kernel, permutation) => backend.gather(kernel, permutation, values),
            Self::Merge(merge) => merge.run(backend, values.head),
        }
    }
}

/// A plan that makes a matrix of the values of another.
#[derive(Debug)]
pub struct Rearrangement<To> {
    choice: Choice,
    target: To,
    arrays: Vec<Source>,
}

impl<To: HostTarget> Rearrangement<To> {
    /// A plan that moves each value to the position of its number in `numbered`.
    fn gather(backend: &Device, choice: Choice, numbered: &To::OnHost) -> Result<Self> {
        let gather = |numbers: &[f64]| {
            let permutation: Vec<_> = numbers.iter().map(|&number| position(number)).collect();
            Source::gather(backend, To::Scalar::DTYPE, Permutation::upload(backend, &permutation)?)
        };
        let arrays = To::numbers(numbered).into_iter().map(gather).collect::<Result<_>>()?;
        Ok(Self { choice, target: To::upload(numbered, backend)?, arrays })
    }
}

impl<To: Target> Rearrangement<To> {
    /// A plan that replaces the values of `target`.
    pub(crate) fn new(choice: Choice, target: To, arrays: Vec<Source>) -> Self {
        Self { choice, target, arrays }
    }

    /// The matrix with these values.
    pub(crate) fn run(&self, backend: &Device, values: Values<'_>) -> Result<To> {
        let arrays = self.arrays.iter().map(|source| source.run(backend, values));
        self.target.with_arrays(arrays.collect::<Result<_>>()?)
    }
}

/// The kernels' name for an element of `bytes` bytes that is only moved.
fn word(bytes: usize) -> &'static str {
    match bytes {
        2 => "ushort",
        4 => "uint",
        8 => "ulong",
        _ => "ulong2",
    }
}

impl Device {
    /// A kernel that moves elements of `bytes` bytes.
    pub(crate) fn move_kernel(&self, bytes: usize, entry: &'static str) -> Result<Kernel> {
        self.kernel("move", entry, Defines::default().set("WORD", word(bytes)))
    }

    /// The kernel of [`gather`](Self::gather).
    fn gather_kernel(&self, bytes: usize, permutation: &Permutation) -> Result<Kernel> {
        let defines = Defines::default().set("WORD", word(bytes)).set("POS", permutation.type_name());
        self.kernel("gather", "gather_words", defines)
    }

    /// The elements at these positions.
    fn gather(&self, kernel: &Kernel, permutation: &Permutation, from: Values<'_>) -> Result<RawBuffer> {
        let (n, to) = (permutation.len(), self.allocate_raw(permutation.len(), from.head.element_bytes)?);
        self.launch(kernel).size(n).permutation(permutation).values(from).buffer(&to).items(n)?;
        Ok(to)
    }

    /// The elements of one buffer at these positions.
    pub(crate) fn gathered(&self, permutation: &Permutation, from: &RawBuffer) -> Result<RawBuffer> {
        self.gather(&self.gather_kernel(from.element_bytes, permutation)?, permutation, Values::one(from))
    }

    /// The first element of each run, as marked by `starts`; there are `runs` of them.
    pub(crate) fn compact(&self, starts: &Buffer<i64>, from: &RawBuffer, runs: usize) -> Result<RawBuffer> {
        let kernel = self.move_kernel(from.element_bytes, "move_compact")?;
        let to = self.allocate_raw(runs, from.element_bytes)?;
        let launch = self.launch(&kernel).size(from.len).buffer(starts);
        launch.buffer(from).buffer(&to).items(from.len)?;
        Ok(to)
    }

    /// A plan from the reference's conversion of the numbered entries.
    pub(crate) fn plan_gather<From, To>(
        &self,
        from: &From,
        layout: &From::Layout,
        sizes: Sizes,
        options: &PlanOptions,
    ) -> Result<Rearrangement<To>>
    where
        From: Numerable + Conversion<To, Layout: Layout>,
        From::OnHost: Convert<To::OnHost, Layout = From::Layout>,
        To: HostTarget,
    {
        let choice = options.choose(From::NAME, GATHER, "gather", "there is no other")?;
        let host = from.numbered(self)?;
        let layout = layout.resolved(&|| row_lengths(&host), from.cols(), sizes)?;
        Rearrangement::gather(self, choice, &Operations::convert(&Reference, &host, &layout)?)
    }
}

impl<To: Debug + Send> KernelPlan for Rearrangement<To> {
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

/// A conversion: its algorithms and its planning.
macro_rules! conversion {
    ([$($generics:tt)*], $from:ty => $to:ty, $table:expr, $plan:expr) => {
        impl<$($generics)*> ConvertKernel<$from, $to> for Device {
            type Plan = Rearrangement<$to>;

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
                plan.run(self, StoredValues::values(from))
            }
        }
    };
}

/// The plans of CSR, CSC and coordinates from each other.
pub(crate) type ToCompressed<A, T, I, O> = Rearrangement<Compressed<A, T, Device, I, O>>;
pub(crate) type RowsOf<M, O> = ToCompressed<Row, <M as SparseFormat>::Scalar, <M as StoredValues>::Index, O>;
pub(crate) type ToCoo<T, I> = Rearrangement<Coo<T, Device, I>>;

type CsrOn<T, I, O> = Csr<T, Device, I, O>;
type CscOn<T, I, O> = Csc<T, Device, I, O>;

conversion!([T: Scalar, I: Index, O: Index], CsrOn<T, I, O> => Ell<T, Device, I>, GATHER, padded::to_ell);
conversion!([T: Scalar, I: Index, O: Index], CsrOn<T, I, O> => Hyb<T, Device, I>, GATHER, padded::to_hyb);
conversion!([T: Scalar, I: Index, O: Index], CsrOn<T, I, O> => Sell<T, Device, I, O>, GATHER, padded::to_sell);
conversion!([T: Scalar, I: Index, O: Index], Ell<T, Device, I> => CsrOn<T, I, O>, RADIX_SORT, padded_entries::to_csr);
conversion!([T: Scalar, I: Index, O: Index], Hyb<T, Device, I> => CsrOn<T, I, O>, RADIX_SORT, padded_entries::to_csr);
conversion!([T: Scalar, I: Index, O: Index], Sell<T, Device, I, O> => CsrOn<T, I, O>, RADIX_SORT, padded_entries::to_csr);
conversion!([T: Scalar, I: Index, O: Index], CsrOn<T, I, O> => CscOn<T, I, O>, RADIX_SORT, transpose);
conversion!([T: Scalar, I: Index, O: Index], CscOn<T, I, O> => CsrOn<T, I, O>, RADIX_SORT, transpose);
conversion!([A: Axis, T: Scalar, I: Index, O: Index], Coo<T, Device, I> => Compressed<A, T, Device, I, O>, RADIX_SORT, compress);
conversion!([A: Axis, T: Scalar, I: Index, O: Index], Compressed<A, T, Device, I, O> => Coo<T, Device, I>, EXPAND, expand);

/// CSR to CSC, and back.
fn transpose<A: Axis, T: Scalar, I: Index, O: Index>(
    backend: &Device,
    from: &Compressed<A, T, Device, I, O>,
    (): &(),
    options: &PlanOptions,
) -> Result<ToCompressed<A::Other, T, I, O>> {
    let choice = options.choose("convert", RADIX_SORT, RADIX_SORT[0].name, "there is no other")?;
    Coordinates::across(backend, from.into())?.compress(backend, choice, Duplicates::Keep)
}

/// Coordinates to CSR or CSC.
fn compress<A: Axis, T: Scalar, I: Index, O: Index>(
    backend: &Device,
    from: &Coo<T, Device, I>,
    duplicates: &Duplicates,
    options: &PlanOptions,
) -> Result<ToCompressed<A, T, I, O>> {
    let choice = options.choose("convert", RADIX_SORT, RADIX_SORT[0].name, "there is no other")?;
    let mut coordinates = Coordinates::of_coo(backend, from.into(), A::IS_ROW)?;
    if *duplicates == Duplicates::Error && !coordinates.are_unique(backend)? {
        let _: Compressed<A, T, Host, I, O> =
            Operations::convert(&Reference, &from.to_host(backend)?, duplicates)?;
    }
    coordinates.compress(backend, choice, *duplicates)
}

/// CSR or CSC to coordinates, as the entries stand.
fn expand<A: Axis, T: Scalar, I: Index, O: Index>(
    backend: &Device,
    from: &Compressed<A, T, Device, I, O>,
    (): &(),
    options: &PlanOptions,
) -> Result<ToCoo<T, I>> {
    let choice = options.choose("convert", EXPAND, EXPAND[0].name, "there is no other")?;
    let known = IndexOrder { major_sorted: true, ..from.order() };
    let unknown = IndexOrder { major_sorted: false, sorted: false, unique: false };
    let order = if A::IS_ROW { known } else { unknown };
    Coordinates::stored(backend, from.into())?.into_coo(backend, choice, A::IS_ROW, order)
}
