//! Conversions between sparse formats: a plan finds the pattern and the position of each value, the device moves values
//! there, or adds those with one position.
//!
//! The device finds them itself, by a sort or, from sorted rows to ELL, HYB and SELL, by the lengths of the rows; from
//! unsorted rows to these three the host does.

mod by_sort;
mod expand;
mod formats;
mod host;
mod padded;

use crate::Device;
use crate::primitive::rearrangement::Rearrangement;
use crate::primitive::stored_values::StoredValues;
use by_sort::SortAlgorithm;
use expand::ExpandAlgorithm;
use formats::{CompressedOn, CooOn, CscOn, CsrOn, EllOn, HybOn, SellOn};
use padded::PaddedAlgorithm;
use sparse_core::op::{Conversion, ConvertKernel};
use sparse_core::{Algorithm, Axis, Index, PlanOptions, Result, Scalar};

/// A conversion: its algorithms and its planning.
macro_rules! conversion {
    ([$($generics:tt)*], $from:ty => $to:ty, $algorithms:ty, $plan:expr) => {
        impl<$($generics)*> ConvertKernel<$from, $to> for Device {
            type Plan = Rearrangement<$to>;

            fn convert_algorithms(&self) -> &'static [Algorithm] {
                self.offered::<$algorithms>()
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

conversion!([T: Scalar, I: Index, O: Index], CsrOn<T, I, O> => EllOn<T, I>, PaddedAlgorithm, padded::to_ell);
conversion!([T: Scalar, I: Index, O: Index], CsrOn<T, I, O> => HybOn<T, I>, PaddedAlgorithm, padded::to_hyb);
conversion!([T: Scalar, I: Index, O: Index], CsrOn<T, I, O> => SellOn<T, I, O>, PaddedAlgorithm, padded::to_sell);
conversion!([T: Scalar, I: Index, O: Index], EllOn<T, I> => CsrOn<T, I, O>, SortAlgorithm, by_sort::from_padded);
conversion!([T: Scalar, I: Index, O: Index], HybOn<T, I> => CsrOn<T, I, O>, SortAlgorithm, by_sort::from_padded);
conversion!([T: Scalar, I: Index, O: Index], SellOn<T, I, O> => CsrOn<T, I, O>, SortAlgorithm, by_sort::from_padded);
conversion!([T: Scalar, I: Index, O: Index], CsrOn<T, I, O> => CscOn<T, I, O>, SortAlgorithm, by_sort::transpose);
conversion!([T: Scalar, I: Index, O: Index], CscOn<T, I, O> => CsrOn<T, I, O>, SortAlgorithm, by_sort::transpose);
conversion!([A: Axis, T: Scalar, I: Index, O: Index], CooOn<T, I> => CompressedOn<A, T, I, O>, SortAlgorithm, by_sort::compress);
conversion!([A: Axis, T: Scalar, I: Index, O: Index], CompressedOn<A, T, I, O> => CooOn<T, I>, ExpandAlgorithm, expand::expand);
