//! Conversions between sparse formats: a plan finds the pattern and the position of each value, the device moves values
//! there, or adds values with the same position.
//!
//! The device finds them itself, by a sort or, from sorted rows to ELL, HYB and SELL, by the lengths of the rows; from
//! unsorted rows to these three the host does.

mod batch;
mod by_sort;
mod expand;
mod formats;
mod padded;
mod reference_plan;

use super::entry_sort::SortAlgorithm;
use crate::Device;
use crate::primitive::rearrangement::Rearrangement;
use crate::primitive::stored_values::StoredValues;
use batch::MembersAlgorithm;
use expand::ExpandAlgorithm;
use formats::{BatchOn, CompressedOn, CooOn, CscOn, CsrOn, EllOn, HybOn, SellOn};
use padded::PaddedAlgorithm;
use sparse_core::op::{Conversion, ConvertKernel};
use sparse_core::{Algorithm, AlgorithmSet, Axis, Index, PlanOptions, Result, Scalar};

/// Implements a conversion: its algorithm table, and its plan by the only algorithm or by a sort.
macro_rules! conversion {
    ($generics:tt, $from:ty => $to:ty, by_sort, $plan:expr) => {
        conversion!(impl $generics, $from => $to, SortAlgorithm, |device: &Device, from: &$from, layout, options| {
            let shape = (from.nrows(), from.ncols());
            let name = <$from as Conversion<$to>>::NAME;
            $plan(device, from, layout, device.choose_sorter(name, options, shape, from.nnz())?)
        });
    };
    ($generics:tt, $from:ty => $to:ty, $algorithms:ty, $plan:expr) => {
        conversion!(impl $generics, $from => $to, $algorithms, |device: &Device, from, layout, options| {
            const { assert!(<$algorithms>::ALL.len() == 1) };
            let only = <$algorithms>::ALL[0];
            let (_, choice) = device.choose_only(<$from as Conversion<$to>>::NAME, options, only)?;
            $plan(device, from, layout, choice)
        });
    };
    (impl [$($generics:tt)*], $from:ty => $to:ty, $algorithms:ty, $plan:expr) => {
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

            unsafe fn run_convert(&self, plan: &mut Self::Plan, from: &$from) -> Result<$to> {
                plan.run(self, StoredValues::values(from))
            }
        }
    };
}

conversion!([T: Scalar, I: Index, O: Index], CsrOn<T, I, O> => EllOn<T, I>, PaddedAlgorithm, padded::to_ell);
conversion!([T: Scalar, I: Index, O: Index], CsrOn<T, I, O> => HybOn<T, I>, PaddedAlgorithm, padded::to_hyb);
conversion!([T: Scalar, I: Index, O: Index], CsrOn<T, I, O> => SellOn<T, I, O>, PaddedAlgorithm, padded::to_sell);
conversion!([T: Scalar, I: Index, O: Index], EllOn<T, I> => CsrOn<T, I, O>, by_sort, by_sort::from_padded);
conversion!([T: Scalar, I: Index, O: Index], HybOn<T, I> => CsrOn<T, I, O>, by_sort, by_sort::from_padded);
conversion!([T: Scalar, I: Index, O: Index], SellOn<T, I, O> => CsrOn<T, I, O>, by_sort, by_sort::from_padded);
conversion!([T: Scalar, I: Index, O: Index], CsrOn<T, I, O> => CscOn<T, I, O>, by_sort, by_sort::transpose);
conversion!([T: Scalar, I: Index, O: Index], CscOn<T, I, O> => CsrOn<T, I, O>, by_sort, by_sort::transpose);
conversion!([A: Axis, T: Scalar, I: Index, O: Index], BatchOn<A, T, I, O> => BatchOn<A::Other, T, I, O>, MembersAlgorithm, batch::to_other_axis);
conversion!([A: Axis, T: Scalar, I: Index, O: Index], CooOn<T, I> => CompressedOn<A, T, I, O>, by_sort, by_sort::compress);
conversion!([A: Axis, T: Scalar, I: Index, O: Index], CompressedOn<A, T, I, O> => CooOn<T, I>, ExpandAlgorithm, expand::expand);

#[cfg(test)]
mod tests {
    use super::*;
    use sparse_core::{Csc, Csr, Ell, SparseFormat};

    #[test]
    fn a_refusal_names_the_conversion_whatever_the_order_of_the_entries() {
        let device = Device::without_hardware("none", &[], 1).unwrap();
        let sorted = Csr::<f32>::new(1, 2, vec![0, 2], vec![0, 1], vec![1.0, 2.0]).unwrap();
        let unsorted = Csr::<f32>::new_unsorted(1, 2, vec![0, 2], vec![1, 0], vec![2.0, 1.0]).unwrap();
        let forced = PlanOptions::forced("magic");
        for csr in [sorted, unsorted] {
            let csr = csr.to_device(&device).unwrap();
            let to_ell = ConvertKernel::<_, Ell<f32, Device>>::plan_convert(
                &device,
                &csr,
                &Default::default(),
                &forced,
            );
            let error = to_ell.unwrap_err().to_string();
            assert_eq!(error, "csr_to_ell algorithm `magic` is not supported: this backend has gather");
            let to_csc = ConvertKernel::<_, Csc<f32, Device>>::plan_convert(&device, &csr, &(), &forced);
            let error = to_csc.unwrap_err().to_string();
            assert_eq!(error, "csr_to_csc algorithm `magic` is not supported: this backend has radix_sort");
        }
    }
}
