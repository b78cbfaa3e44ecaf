//! Formats that pad rows, as formats of the run-time layer.

use super::to_layout::into_layout;
use super::{DeviceBackend, MapValues, RuntimeFormat, bytes_of, one_matrix_members, spmm_members};
use crate::runtime::dispatch::backend::RuntimeBackend;
use crate::runtime::operation::plan::AnySpmmPlan;
use crate::runtime::{Format, IndexType, Layout, Matrix};
use sparse_core::backend::SpaceOf;
use sparse_core::op::{FullBackend, Op, Operations, RowStatistics, SpmmKernel, SpmmPlan};
use sparse_core::{
    Algorithm, Csr, DenseViewMut, Ell, EllLayout, Hyb, HybWidth, Index, PlanOptions, Result, Scalar, Sell,
    SellLayout,
};

/// Implements [`RuntimeFormat`] for a format that pads rows: operations that need more than its values convert to CSR
/// first.
///
/// A row has the format with its index types, the offset type of that CSR, the type of the format's own offsets, the
/// default layout, and its arrays: of offsets, of indices, and of values beside their columns.
macro_rules! padded_format {
    (
        $format:ident<$($index:ident),+>, $offset:ident, $offset_type:expr, $layout:expr,
        offsets [$($($offsets:ident).+),*],
        indices [$($($indices:ident).+),+],
        values [$($($values:ident).+ beside $($cols:ident).+),+]
    ) => {
        impl<B, T, $($index),+> RuntimeFormat<B> for $format<T, SpaceOf<B>, $($index),+>
        where
            B: RuntimeBackend + FullBackend<T, I, $offset>,
            T: Scalar,
            $($index: Index),+
        {
            const KIND: Format = Format::$format;

            one_matrix_members!(B);

            type With<U: Scalar> = $format<U, SpaceOf<B>, $($index),+>;

            fn offset_type() -> Option<IndexType> {
                $offset_type
            }

            fn bytes(&self) -> usize {
                0 $(+ bytes_of::<SpaceOf<B>, $offset>(self$(.$offsets())+))*
                    $(+ bytes_of::<SpaceOf<B>, I>(self$(.$indices())+))+
                    $(+ bytes_of::<SpaceOf<B>, T>(self$(.$values())+))+
            }

            fn map_values<U: Scalar>(&self, map: &MapValues<'_, B, I, T, U>) -> Result<Self::With<U>> {
                self.with_values($(map(self$(.$values())+, Some(self$(.$cols())+))?),+)
            }

            fn to_layout(&self, on: DeviceBackend<'_, B>, layout: &Layout) -> Result<Matrix> {
                let csr = Operations::convert::<_, Csr<T, SpaceOf<B>, I, $offset>>(on.backend, self, &())?;
                into_layout(on, csr, layout)
            }

            fn transposed(&self, on: DeviceBackend<'_, B>) -> Result<Matrix> {
                let csr = Operations::convert::<_, Csr<T, SpaceOf<B>, I, $offset>>(on.backend, self, &())?;
                let columns = csr.into_transpose();
                let csr =
                    Operations::convert::<_, Csr<T, SpaceOf<B>, I, $offset>>(on.backend, &columns, &())?;
                into_layout(on, csr, &$layout)
            }

            fn row_statistics(&self, backend: &B) -> Result<RowStatistics> {
                let csr = Operations::convert::<_, Csr<T, SpaceOf<B>, I, $offset>>(backend, self, &())?;
                Operations::row_statistics(backend, &csr)
            }
        }
    };
}

padded_format!(
    Ell<I>, I, None, Layout::Ell(EllLayout::default()),
    offsets [], indices [col_idx], values [values beside col_idx]
);
padded_format!(
    Hyb<I>, I, None, Layout::Hyb(HybWidth::default()),
    offsets [], indices [ell.col_idx, coo.row_idx, coo.col_idx],
    values [ell.values beside ell.col_idx, coo.values beside coo.col_idx]
);
padded_format!(
    Sell<I, O>, O, Some(IndexType::of::<O>()), Layout::Sell(SellLayout::default()),
    offsets [slice_ptr], indices [row_order, col_idx], values [values beside col_idx]
);
