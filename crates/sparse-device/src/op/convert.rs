//! From one format to another: a plan finds on the host where each value goes, the device moves them there, or adds
//! those that go to one place.

use super::grouped::Sums;
use super::numbered::{Numbered, Target, Values, position};
use crate::program::Defines;
use crate::{Buffer, Device, Driver};
use sparse_core::format::estimate::Sizes;
use sparse_core::op::{Conversion, ConvertKernel, Duplicates, Operations};
use sparse_core::reference::{Convert, Entries, Reference};
use sparse_core::{
    Algorithm, Backend, Choice, DenseViewMut, EllLayout, HybWidth, KernelPlan, Matrix, Order, PlanOptions,
    Result, Scalar, SellLayout, Space,
};
use std::fmt::Debug;
use std::sync::Arc;

const GATHER: &[Algorithm] = &[Algorithm::new("gather", "always").preprocessing(
    "the pattern of the result and the place of every value, by the serial reference on the host",
)];

/// A layout that means the same for every value type.
pub trait Layout: Clone + Debug {
    /// The layout with its width chosen for rows of these lengths and types of these sizes.
    fn resolved(&self, _: &dyn Fn() -> Vec<usize>, _: usize, _: Sizes) -> Result<Self> {
        Ok(self.clone())
    }

    /// If entries with one coordinate are added: the layouts that keep all of them, and one of them.
    fn sums(&self) -> Option<(Self, Self)> {
        None
    }
}

impl Layout for () {}

impl Layout for SellLayout {}

impl Layout for Duplicates {
    fn sums(&self) -> Option<(Self, Self)> {
        (*self == Self::Sum).then_some((Self::Keep, Self::Last))
    }
}

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
enum Source<D: Driver> {
    /// One position each.
    Gather(Arc<D::Kernel>, Buffer<D, i64>),
    /// Sums of several.
    Sum(Sums<D>),
}

/// A plan that makes a matrix of the values of another.
#[derive(Debug)]
pub struct Rearrangement<D: Driver, To> {
    choice: Choice,
    target: To,
    arrays: Vec<Source<D>>,
}

impl<D: Driver, To: Target<D>> Rearrangement<D, To> {
    /// A plan that moves values to where their numbers stand in `numbered`.
    pub(super) fn gather(backend: &Device<D>, choice: Choice, numbered: &To::OnHost) -> Result<Self> {
        let kernel = backend.move_kernel::<To::Scalar>("move_gather")?;
        let gather = |numbers: &[f64]| {
            let positions: Vec<_> = numbers.iter().map(|&number| position(number)).collect();
            Ok(Source::Gather(kernel.clone(), backend.upload(&positions)?))
        };
        let arrays = To::numbers(numbered).into_iter().map(gather).collect::<Result<_>>()?;
        Ok(Self { choice, target: To::upload(numbered, backend)?, arrays })
    }

    /// The matrix of these values.
    pub(super) fn run(&self, backend: &Device<D>, values: Values<'_, D, To::Scalar>) -> Result<To> {
        let arrays = self.arrays.iter().map(|source| source.run(backend, values));
        self.target.with_arrays(arrays.collect::<Result<_>>()?)
    }
}

impl<D: Driver> Source<D> {
    fn run<T: Scalar>(&self, backend: &Device<D>, values: Values<'_, D, T>) -> Result<Buffer<D, T>> {
        match self {
            Self::Gather(kernel, positions) => {
                let to = backend.allocate(positions.len)?;
                let launch = backend.launch(kernel).size(positions.len).buffer(positions);
                launch.values(values).buffer(&to).items(positions.len)?;
                Ok(to)
            }
            Self::Sum(sums) => {
                let mut to = backend.allocate(sums.count())?;
                let view =
                    DenseViewMut::new(Device::<D>::view_mut(&mut to), sums.count(), 1, 1, Order::RowMajor)?;
                sums.run(backend, values, view)?;
                Ok(to)
            }
        }
    }
}

impl<D: Driver> Device<D> {
    /// A kernel that moves values, or other elements of the size of `T`, without looking into them.
    pub(super) fn move_kernel<T>(&self, entry: &'static str) -> Result<Arc<D::Kernel>> {
        let word = match size_of::<T>() {
            2 => "ushort",
            4 => "uint",
            8 => "ulong",
            _ => "ulong2",
        };
        self.kernel("move", entry, Defines::default().set("WORD", word))
    }
}

impl<D: Driver, To: Debug + Send> KernelPlan for Rearrangement<D, To> {
    fn choice(&self) -> &Choice {
        &self.choice
    }
}

impl<D: Driver, From, To> ConvertKernel<From, To> for Device<D>
where
    From: Numbered<D> + Conversion<To>,
    From::Layout: Layout,
    From::OnHost: Convert<To::OnHost, Layout = From::Layout>,
    To: Target<D> + Matrix<Scalar = From::Scalar>,
{
    type Plan = Rearrangement<D, To>;

    fn convert_algorithms(&self) -> &'static [Algorithm] {
        GATHER
    }

    fn plan_convert(&self, from: &From, layout: &From::Layout, options: &PlanOptions) -> Result<Self::Plan> {
        let choice = options.choose(From::NAME, GATHER, "gather", "there is no other")?;
        let host = from.numbered(self)?;
        let layout = layout.resolved(&|| row_lengths(&host), from.cols(), From::SIZES)?;
        let Some((all, one)) = layout.sums() else {
            return Rearrangement::gather(self, choice, &Operations::convert(&Reference, &host, &layout)?);
        };
        let kept: To::OnHost = Operations::convert(&Reference, &host, &all)?;
        let merged: To::OnHost = Operations::convert(&Reference, &host, &one)?;
        if kept.nnz() == merged.nnz() {
            return Rearrangement::gather(self, choice, &merged);
        }
        let entries: Vec<_> = kept.entries().collect();
        let sums = Sums::new::<To::Scalar>(self, &entries, |k, _| (k, 0))?;
        Ok(Rearrangement { choice, target: To::upload(&merged, self)?, arrays: vec![Source::Sum(sums)] })
    }

    unsafe fn convert(&self, plan: &mut Self::Plan, from: &From) -> Result<To> {
        plan.run(self, from.values())
    }
}

/// The number of entries of each row.
fn row_lengths(a: &impl Entries) -> Vec<usize> {
    let mut lengths = vec![0; a.rows()];
    a.entries().for_each(|(i, _, _)| lengths[i] += 1);
    lengths
}
