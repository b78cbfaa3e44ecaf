//! Operations that differ from format to format: conversions, sorting, pruning, new values.

use super::backend::RuntimeBackend;
use super::{Format, IndexType, Layout, Matrix};
use crate::Device;
use crate::device::HostBackend;
use sparse_core::backend::{Backend, Buf, SpaceOf};
use sparse_core::op::{Duplicates, FullBackend, Keep, Operations, PrunePlan, RowStatistics, SortPlan};
use sparse_core::space::Buffer as _;
use sparse_core::{
    Axis, Col, Compressed, Coo, Csc, Csr, Element, Ell, EllLayout, Error, Host, HostCsr, Hyb, HybWidth,
    Index, PlanOptions, Result, Row, Scalar, Sell, SellLayout, Space, SparseFormat,
};

/// A device and its backend.
#[derive(Debug)]
pub(crate) struct On<'a, B> {
    pub(crate) backend: &'a B,
    pub(crate) device: &'a Device,
}

impl<B> Clone for On<'_, B> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<B> Copy for On<'_, B> {}

impl<B: RuntimeBackend> On<'_, B> {
    /// Hides the type of a matrix in the backend's memory.
    pub(crate) fn erase<M: SparseFormat>(self, matrix: M) -> Result<Matrix> {
        Matrix::wrap(self.device, matrix)
    }
}

/// New values for old ones.
pub(crate) type MapValues<'a, B, T, U> = dyn Fn(&Buf<B, T>) -> Result<Buf<B, U>> + 'a;

/// A format that [`Matrix`] holds.
pub(crate) trait RuntimeFormat<B: RuntimeBackend>: SparseFormat<Space = SpaceOf<B>> + Sized {
    /// The type of row and column indices.
    type Index: Index;
    /// The same format with other values.
    type With<U: Scalar>: SparseFormat;
    /// The format.
    const KIND: Format;

    /// The type of offsets, of formats that have any.
    fn offset_type() -> Option<IndexType>;

    /// Bytes of all arrays, padding included.
    fn bytes(&self) -> usize;

    /// The same pattern with values that `map` makes of those there are.
    fn map_values<U: Scalar>(&self, map: &MapValues<'_, B, Self::Scalar, U>) -> Result<Self::With<U>>;

    /// The matrix in another layout, which is of another format unless it is a padded one.
    fn to_layout(&self, on: On<'_, B>, layout: &Layout) -> Result<Matrix>;

    /// The transpose; see [`Matrix::transpose`].
    fn transposed(&self, on: On<'_, B>) -> Result<Matrix>;

    /// The statistics of the rows, of CSR.
    fn row_statistics(&self, backend: &B) -> Result<RowStatistics>;

    /// A copy with its entries in order.
    fn sorted(&self, backend: &B) -> Result<Self> {
        let _ = backend;
        Err(no_entry_list("sort", Self::KIND))
    }

    /// A copy with the entries that `keep` keeps.
    fn pruned(&self, backend: &B, keep: Keep<Self::Scalar>) -> Result<Self> {
        let _ = (backend, keep);
        Err(no_entry_list("prune", Self::KIND))
    }
}

fn no_entry_list(op: &str, format: Format) -> Error {
    Error::unsupported(
        format_args!("{op} of {format}"),
        "csr, csc and coo have it: a.to_format(Format::Csr)?",
    )
}

fn bytes_of<S: Space, T: Element>(buffer: &S::Buffer<T>) -> usize {
    buffer.len() * size_of::<T>()
}

fn copy_of<B: Backend, T: Scalar>(backend: &B, values: &Buf<B, T>) -> Result<Buf<B, T>> {
    let mut copy = backend.zeros(values.len())?;
    backend.copy::<T>(SpaceOf::<B>::view(values), SpaceOf::<B>::view_mut(&mut copy))?;
    Ok(copy)
}

/// A CSR matrix that nobody else needs in another layout.
pub(crate) fn into_layout<B, T, I, O>(
    on: On<'_, B>,
    csr: Csr<T, SpaceOf<B>, I, O>,
    layout: &Layout,
) -> Result<Matrix>
where
    B: RuntimeBackend + FullBackend<T, I, O>,
    T: Scalar,
    I: Index,
    O: Index,
{
    if *layout == Layout::Csr { on.erase(csr) } else { from_csr(on, &csr, layout) }
}

fn from_csr<B, T, I, O>(on: On<'_, B>, csr: &Csr<T, SpaceOf<B>, I, O>, layout: &Layout) -> Result<Matrix>
where
    B: RuntimeBackend + FullBackend<T, I, O>,
    T: Scalar,
    I: Index,
    O: Index,
{
    let backend = on.backend;
    match layout {
        Layout::Csr => on.erase(csr.with_values(copy_of::<B, T>(backend, csr.values())?)?),
        Layout::Csc => on.erase(Operations::convert::<_, Csc<T, SpaceOf<B>, I, O>>(backend, csr, &())?),
        Layout::Coo => on.erase(Operations::convert::<_, Coo<T, SpaceOf<B>, I>>(backend, csr, &())?),
        Layout::Ell(layout) => {
            on.erase(Operations::convert::<_, Ell<T, SpaceOf<B>, I>>(backend, csr, layout)?)
        }
        Layout::Hyb(layout) => {
            on.erase(Operations::convert::<_, Hyb<T, SpaceOf<B>, I>>(backend, csr, layout)?)
        }
        Layout::Sell(layout) => {
            on.erase(Operations::convert::<_, Sell<T, SpaceOf<B>, I, O>>(backend, csr, layout)?)
        }
    }
}

/// The transpose of a compressed matrix, along the other axis: only the values are copied.
fn transposed<B: RuntimeBackend, A: Axis, T: Scalar, I: Index, O: Index>(
    on: On<'_, B>,
    a: &Compressed<A, T, SpaceOf<B>, I, O>,
) -> Result<Matrix> {
    on.erase(a.with_values(copy_of::<B, T>(on.backend, a.values())?)?.into_transpose())
}

/// The members of [`RuntimeFormat`] that CSR and CSC share.
macro_rules! compressed_members {
    ($axis:ty) => {
        type Index = I;
        type With<U: Scalar> = Compressed<$axis, U, SpaceOf<B>, I, O>;

        fn offset_type() -> Option<IndexType> {
            Some(IndexType::of::<O>())
        }

        fn bytes(&self) -> usize {
            bytes_of::<SpaceOf<B>, O>(self.offsets())
                + bytes_of::<SpaceOf<B>, I>(self.indices())
                + bytes_of::<SpaceOf<B>, T>(self.values())
        }

        fn map_values<U: Scalar>(&self, map: &MapValues<'_, B, T, U>) -> Result<Self::With<U>> {
            self.with_values(map(self.values())?)
        }

        fn transposed(&self, on: On<'_, B>) -> Result<Matrix> {
            transposed::<B, $axis, T, I, O>(on, self)
        }

        fn sorted(&self, backend: &B) -> Result<Self> {
            SortPlan::new(backend, self, &PlanOptions::once())?.run(self)
        }

        fn pruned(&self, backend: &B, keep: Keep<T>) -> Result<Self> {
            PrunePlan::new(backend, self, &PlanOptions::once())?.run(self, keep)
        }
    };
}

impl<B, T, I, O> RuntimeFormat<B> for Compressed<Row, T, SpaceOf<B>, I, O>
where
    B: RuntimeBackend + FullBackend<T, I, O>,
    T: Scalar,
    I: Index,
    O: Index,
{
    const KIND: Format = Format::Csr;

    compressed_members!(Row);

    fn to_layout(&self, on: On<'_, B>, layout: &Layout) -> Result<Matrix> {
        from_csr(on, self, layout)
    }

    fn row_statistics(&self, backend: &B) -> Result<RowStatistics> {
        Operations::row_statistics(backend, self)
    }
}

/// CSR over borrowed arrays: what is no product is done with a copy that owns its arrays.
impl<T, I, O> RuntimeFormat<HostBackend> for HostCsr<T, I, O>
where
    HostBackend: FullBackend<T, I, O>,
    T: Scalar,
    I: Index,
    O: Index,
{
    type Index = I;
    type With<U: Scalar> = Csr<U, Host, I, O>;
    const KIND: Format = Format::Csr;

    fn offset_type() -> Option<IndexType> {
        Some(IndexType::of::<O>())
    }

    fn bytes(&self) -> usize {
        size_of_val(self.offsets()) + size_of_val(self.indices()) + size_of_val(self.values())
    }

    fn map_values<U: Scalar>(&self, map: &MapValues<'_, HostBackend, T, U>) -> Result<Csr<U, Host, I, O>> {
        let csr = self.to_csr();
        csr.with_values(map(csr.values())?)
    }

    fn to_layout(&self, on: On<'_, HostBackend>, layout: &Layout) -> Result<Matrix> {
        into_layout(on, self.to_csr(), layout)
    }

    fn transposed(&self, on: On<'_, HostBackend>) -> Result<Matrix> {
        on.erase(self.to_csr().into_transpose())
    }

    fn row_statistics(&self, backend: &HostBackend) -> Result<RowStatistics> {
        Operations::row_statistics(backend, &self.to_csr())
    }

    fn sorted(&self, backend: &HostBackend) -> Result<Self> {
        RuntimeFormat::<HostBackend>::sorted(&self.to_csr(), backend).map(Self::from)
    }

    fn pruned(&self, backend: &HostBackend, keep: Keep<T>) -> Result<Self> {
        RuntimeFormat::<HostBackend>::pruned(&self.to_csr(), backend, keep).map(Self::from)
    }
}

impl<B, T, I, O> RuntimeFormat<B> for Compressed<Col, T, SpaceOf<B>, I, O>
where
    B: RuntimeBackend + FullBackend<T, I, O>,
    T: Scalar,
    I: Index,
    O: Index,
{
    const KIND: Format = Format::Csc;

    compressed_members!(Col);

    fn to_layout(&self, on: On<'_, B>, layout: &Layout) -> Result<Matrix> {
        if *layout == Layout::Coo {
            return on.erase(Operations::convert::<_, Coo<T, SpaceOf<B>, I>>(on.backend, self, &())?);
        }
        let csr = Operations::convert::<_, Csr<T, SpaceOf<B>, I, O>>(on.backend, self, &())?;
        into_layout(on, csr, layout)
    }

    fn row_statistics(&self, backend: &B) -> Result<RowStatistics> {
        let csr = Operations::convert::<_, Csr<T, SpaceOf<B>, I, O>>(backend, self, &())?;
        Operations::row_statistics(backend, &csr)
    }
}

impl<B, T, I> RuntimeFormat<B> for Coo<T, SpaceOf<B>, I>
where
    B: RuntimeBackend + FullBackend<T, I, I>,
    T: Scalar,
    I: Index,
{
    type Index = I;
    type With<U: Scalar> = Coo<U, SpaceOf<B>, I>;
    const KIND: Format = Format::Coo;

    fn offset_type() -> Option<IndexType> {
        None
    }

    fn bytes(&self) -> usize {
        2 * bytes_of::<SpaceOf<B>, I>(self.row_idx()) + bytes_of::<SpaceOf<B>, T>(self.values())
    }

    fn map_values<U: Scalar>(&self, map: &MapValues<'_, B, T, U>) -> Result<Self::With<U>> {
        self.with_values(map(self.values())?)
    }

    fn to_layout(&self, on: On<'_, B>, layout: &Layout) -> Result<Matrix> {
        let sum = &Duplicates::Sum;
        if *layout == Layout::Csc {
            return on.erase(Operations::convert::<_, Csc<T, SpaceOf<B>, I, I>>(on.backend, self, sum)?);
        }
        into_layout(on, Operations::convert::<_, Csr<T, SpaceOf<B>, I, I>>(on.backend, self, sum)?, layout)
    }

    fn transposed(&self, on: On<'_, B>) -> Result<Matrix> {
        let keep = &Duplicates::Keep;
        let columns = Operations::convert::<_, Csc<T, SpaceOf<B>, I, I>>(on.backend, self, keep)?;
        let rows = columns.into_transpose();
        on.erase(Operations::convert::<_, Coo<T, SpaceOf<B>, I>>(on.backend, &rows, &())?)
    }

    fn row_statistics(&self, backend: &B) -> Result<RowStatistics> {
        let csr = Operations::convert::<_, Csr<T, SpaceOf<B>, I, I>>(backend, self, &Duplicates::Keep)?;
        Operations::row_statistics(backend, &csr)
    }

    fn sorted(&self, backend: &B) -> Result<Self> {
        SortPlan::new(backend, self, &PlanOptions::once())?.run(self)
    }

    fn pruned(&self, backend: &B, keep: Keep<T>) -> Result<Self> {
        PrunePlan::new(backend, self, &PlanOptions::once())?.run(self, keep)
    }
}

/// The members of [`RuntimeFormat`] that are the same for all formats that pad rows: all goes by way of CSR.
macro_rules! padded_members {
    ($offset:ty, $layout:expr) => {
        type Index = I;

        fn to_layout(&self, on: On<'_, B>, layout: &Layout) -> Result<Matrix> {
            let csr = Operations::convert::<_, Csr<T, SpaceOf<B>, I, $offset>>(on.backend, self, &())?;
            into_layout(on, csr, layout)
        }

        fn transposed(&self, on: On<'_, B>) -> Result<Matrix> {
            let csr = Operations::convert::<_, Csr<T, SpaceOf<B>, I, $offset>>(on.backend, self, &())?;
            let columns = csr.into_transpose();
            let csr = Operations::convert::<_, Csr<T, SpaceOf<B>, I, $offset>>(on.backend, &columns, &())?;
            into_layout(on, csr, &$layout)
        }

        fn row_statistics(&self, backend: &B) -> Result<RowStatistics> {
            let csr = Operations::convert::<_, Csr<T, SpaceOf<B>, I, $offset>>(backend, self, &())?;
            Operations::row_statistics(backend, &csr)
        }
    };
}

impl<B, T, I> RuntimeFormat<B> for Ell<T, SpaceOf<B>, I>
where
    B: RuntimeBackend + FullBackend<T, I, I>,
    T: Scalar,
    I: Index,
{
    type With<U: Scalar> = Ell<U, SpaceOf<B>, I>;
    const KIND: Format = Format::Ell;

    padded_members!(I, Layout::Ell(EllLayout::default()));

    fn offset_type() -> Option<IndexType> {
        None
    }

    fn bytes(&self) -> usize {
        bytes_of::<SpaceOf<B>, I>(self.col_idx()) + bytes_of::<SpaceOf<B>, T>(self.values())
    }

    fn map_values<U: Scalar>(&self, map: &MapValues<'_, B, T, U>) -> Result<Self::With<U>> {
        self.with_values(map(self.values())?)
    }
}

impl<B, T, I> RuntimeFormat<B> for Hyb<T, SpaceOf<B>, I>
where
    B: RuntimeBackend + FullBackend<T, I, I>,
    T: Scalar,
    I: Index,
{
    type With<U: Scalar> = Hyb<U, SpaceOf<B>, I>;
    const KIND: Format = Format::Hyb;

    padded_members!(I, Layout::Hyb(HybWidth::default()));

    fn offset_type() -> Option<IndexType> {
        None
    }

    fn bytes(&self) -> usize {
        RuntimeFormat::<B>::bytes(self.ell()) + RuntimeFormat::<B>::bytes(self.coo())
    }

    fn map_values<U: Scalar>(&self, map: &MapValues<'_, B, T, U>) -> Result<Self::With<U>> {
        self.with_values(map(self.ell().values())?, map(self.coo().values())?)
    }
}

impl<B, T, I, O> RuntimeFormat<B> for Sell<T, SpaceOf<B>, I, O>
where
    B: RuntimeBackend + FullBackend<T, I, O>,
    T: Scalar,
    I: Index,
    O: Index,
{
    type With<U: Scalar> = Sell<U, SpaceOf<B>, I, O>;
    const KIND: Format = Format::Sell;

    padded_members!(O, Layout::Sell(SellLayout::default()));

    fn offset_type() -> Option<IndexType> {
        Some(IndexType::of::<O>())
    }

    fn bytes(&self) -> usize {
        bytes_of::<SpaceOf<B>, O>(self.slice_ptr())
            + bytes_of::<SpaceOf<B>, I>(self.row_order())
            + bytes_of::<SpaceOf<B>, I>(self.col_idx())
            + bytes_of::<SpaceOf<B>, T>(self.values())
    }

    fn map_values<U: Scalar>(&self, map: &MapValues<'_, B, T, U>) -> Result<Self::With<U>> {
        self.with_values(map(self.values())?)
    }
}
