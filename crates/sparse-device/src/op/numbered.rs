//! Planning on the host: a matrix whose values are the numbers of their own slots.
//!
//! What the reference makes of such a matrix says where each value goes. So a plan is made once with the serial
//! reference, and the device only moves or adds values.

use super::coordinates::Coordinates;
use super::grouped::RowGroups;
use super::spmv::along;
use super::to_dense::Places;
use crate::{Buffer, Device, Driver};
use sparse_core::format::estimate::Sizes;
use sparse_core::op::Op;
use sparse_core::reference::Entries;
use sparse_core::space::Buffer as _;
use sparse_core::{
    Axis, Backend, BatchCompressed, Col, Compressed, Coo, Element, Ell, Host, Hyb, Index, Matrix, Result,
    Row, Scalar, Sell,
};

/// The value arrays of a matrix: from position `split` on values stand in `tail`. Only HYB has two.
#[derive(Debug)]
pub struct Values<'a, D: Driver, T> {
    pub(super) head: &'a Buffer<D, T>,
    pub(super) tail: &'a Buffer<D, T>,
    pub(super) split: usize,
}

impl<D: Driver, T> Clone for Values<'_, D, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<D: Driver, T> Copy for Values<'_, D, T> {}

impl<'a, D: Driver, T: Element> Values<'a, D, T> {
    /// A single array.
    pub(super) fn one(values: &'a Buffer<D, T>) -> Self {
        Self { head: values, tail: values, split: values.len() }
    }
}

/// A format on a device whose entries the host can number.
pub trait Numbered<D: Driver>: Matrix<Space = Device<D>> {
    /// The type of its indices.
    type Index: Index;
    /// The same format on the host, with the numbers of the slots, from 1 on, as values. Padding has the number 0.
    type OnHost: Entries<Scalar = f64>;
    /// The sizes of the types.
    const SIZES: Sizes;

    /// Downloads the pattern and numbers its slots.
    fn numbered(&self, backend: &Device<D>) -> Result<Self::OnHost>;

    /// The stored values.
    fn values(&self) -> Values<'_, D, Self::Scalar>;

    /// The entries of op(A) by rows; the host sorts them where the device cannot.
    fn row_groups(&self, backend: &Device<D>, op: Op) -> Result<RowGroups<D, Self::Index>> {
        RowGroups::numbered(backend, &self.numbered(backend)?, op)
    }

    /// The entries by coordinates; the host sorts them where the device cannot.
    fn places(&self, backend: &Device<D>) -> Result<Places<D, Self::Index>> {
        Places::numbered(backend, &self.numbered(backend)?)
    }
}

/// A format that can be made from a numbered one.
pub trait Target<D: Driver>: Numbered<D> + Sized {
    /// Uploads the pattern; the values are zeros.
    fn upload(numbered: &Self::OnHost, backend: &Device<D>) -> Result<Self>;

    /// The numbers in each of the value arrays.
    fn numbers(numbered: &Self::OnHost) -> Vec<&[f64]>;

    /// The same pattern with other values, one array for each of [`numbers`](Self::numbers).
    fn with_arrays(&self, arrays: Vec<Buffer<D, Self::Scalar>>) -> Result<Self>;
}

/// Numbers for `n` slots, the first of which is `start + 1`.
fn numbers(start: usize, n: usize) -> Vec<f64> {
    (start + 1..=start + n).map(|number| number as f64).collect()
}

/// The position of a slot from its number; padding is at −1.
pub(super) fn position(number: f64) -> i64 {
    number as i64 - 1
}

/// The only array.
fn only<D: Driver, T>(arrays: Vec<Buffer<D, T>>) -> Buffer<D, T> {
    arrays.into_iter().next().expect("a value array for each array of numbers")
}

impl<D: Driver, A: Axis, T: Scalar, I: Index, O: Index> Numbered<D> for Compressed<A, T, Device<D>, I, O> {
    type Index = I;
    type OnHost = Compressed<A, f64, Host, I, O>;
    const SIZES: Sizes = Sizes { scalar: size_of::<T>(), index: size_of::<I>(), offset: size_of::<O>() };

    fn numbered(&self, backend: &Device<D>) -> Result<Self::OnHost> {
        let (offsets, indices) = (backend.download(self.offsets())?, backend.download(self.indices())?);
        Compressed::new_unsorted(self.rows(), self.cols(), offsets, indices, numbers(0, self.nnz()))
    }

    fn values(&self) -> Values<'_, D, T> {
        Values::one(self.values())
    }

    fn row_groups(&self, backend: &Device<D>, op: Op) -> Result<RowGroups<D, I>> {
        let sorted = if along::<A>(op) { Coordinates::stored } else { Coordinates::across };
        sorted(backend, self)?.into_row_groups(backend)
    }

    fn places(&self, backend: &Device<D>) -> Result<Places<D, I>> {
        let found = if self.order().unique { Coordinates::stored } else { Coordinates::along };
        Ok(found(backend, self)?.into_places::<A>())
    }
}

impl<D: Driver, A: Axis, T: Scalar, I: Index, O: Index> Target<D> for Compressed<A, T, Device<D>, I, O> {
    fn upload(numbered: &Self::OnHost, backend: &Device<D>) -> Result<Self> {
        numbered.with_values(vec![T::ZERO; numbered.nnz()])?.to_device(backend)
    }

    fn numbers(numbered: &Self::OnHost) -> Vec<&[f64]> {
        vec![numbered.values()]
    }

    fn with_arrays(&self, arrays: Vec<Buffer<D, T>>) -> Result<Self> {
        self.with_values(only(arrays))
    }
}

impl<D: Driver, T: Scalar, I: Index> Numbered<D> for Coo<T, Device<D>, I> {
    type Index = I;
    type OnHost = Coo<f64, Host, I>;
    const SIZES: Sizes = Sizes { scalar: size_of::<T>(), index: size_of::<I>(), offset: size_of::<I>() };

    fn numbered(&self, backend: &Device<D>) -> Result<Self::OnHost> {
        let (row_idx, col_idx) = (backend.download(self.row_idx())?, backend.download(self.col_idx())?);
        Coo::new(self.rows(), self.cols(), row_idx, col_idx, numbers(0, self.nnz()))
    }

    fn values(&self) -> Values<'_, D, T> {
        Values::one(self.values())
    }

    fn row_groups(&self, backend: &Device<D>, op: Op) -> Result<RowGroups<D, I>> {
        let sorted = match op.transposes() {
            true => Coordinates::of_coo_by_major::<Col, T>,
            false => Coordinates::of_coo_by_major::<Row, T>,
        };
        sorted(backend, self)?.into_row_groups(backend)
    }

    fn places(&self, backend: &Device<D>) -> Result<Places<D, I>> {
        Ok(Coordinates::of_coo::<Row, T>(backend, self)?.into_places::<Row>())
    }
}

impl<D: Driver, T: Scalar, I: Index> Target<D> for Coo<T, Device<D>, I> {
    fn upload(numbered: &Self::OnHost, backend: &Device<D>) -> Result<Self> {
        numbered.with_values(vec![T::ZERO; numbered.nnz()])?.to_device(backend)
    }

    fn numbers(numbered: &Self::OnHost) -> Vec<&[f64]> {
        vec![numbered.values()]
    }

    fn with_arrays(&self, arrays: Vec<Buffer<D, T>>) -> Result<Self> {
        self.with_values(only(arrays))
    }
}

/// An ELL matrix on the host whose first slot has the number `start + 1`.
fn numbered_ell<D: Driver, T: Scalar, I: Index>(
    ell: &Ell<T, Device<D>, I>,
    start: usize,
    backend: &Device<D>,
) -> Result<Ell<f64, Host, I>> {
    let col_idx = backend.download(ell.col_idx())?;
    let numbers = numbers(start, col_idx.len());
    Ell::new(ell.rows(), ell.cols(), ell.width(), col_idx, numbers)
}

impl<D: Driver, T: Scalar, I: Index> Numbered<D> for Ell<T, Device<D>, I> {
    type Index = I;
    type OnHost = Ell<f64, Host, I>;
    const SIZES: Sizes = Sizes { scalar: size_of::<T>(), index: size_of::<I>(), offset: size_of::<I>() };

    fn numbered(&self, backend: &Device<D>) -> Result<Self::OnHost> {
        numbered_ell(self, 0, backend)
    }

    fn values(&self) -> Values<'_, D, T> {
        Values::one(self.values())
    }
}

impl<D: Driver, T: Scalar, I: Index> Target<D> for Ell<T, Device<D>, I> {
    fn upload(numbered: &Self::OnHost, backend: &Device<D>) -> Result<Self> {
        numbered.with_values(vec![T::ZERO; numbered.values().len()])?.to_device(backend)
    }

    fn numbers(numbered: &Self::OnHost) -> Vec<&[f64]> {
        vec![numbered.values()]
    }

    fn with_arrays(&self, arrays: Vec<Buffer<D, T>>) -> Result<Self> {
        self.with_values(only(arrays))
    }
}

impl<D: Driver, T: Scalar, I: Index> Numbered<D> for Hyb<T, Device<D>, I> {
    type Index = I;
    type OnHost = Hyb<f64, Host, I>;
    const SIZES: Sizes = Sizes { scalar: size_of::<T>(), index: size_of::<I>(), offset: size_of::<I>() };

    fn numbered(&self, backend: &Device<D>) -> Result<Self::OnHost> {
        let coo = self.coo().numbered(backend)?;
        let start = self.ell().values().len();
        let coo = coo.with_values(numbers(start, coo.nnz()))?;
        Hyb::new(numbered_ell(self.ell(), 0, backend)?, coo)
    }

    fn values(&self) -> Values<'_, D, T> {
        let (head, tail) = (self.ell().values(), self.coo().values());
        Values { head, tail, split: head.len() }
    }
}

impl<D: Driver, T: Scalar, I: Index> Target<D> for Hyb<T, Device<D>, I> {
    fn upload(numbered: &Self::OnHost, backend: &Device<D>) -> Result<Self> {
        let (ell, coo) = (numbered.ell().values().len(), numbered.coo().nnz());
        numbered.with_values(vec![T::ZERO; ell], vec![T::ZERO; coo])?.to_device(backend)
    }

    fn numbers(numbered: &Self::OnHost) -> Vec<&[f64]> {
        vec![numbered.ell().values(), numbered.coo().values()]
    }

    fn with_arrays(&self, arrays: Vec<Buffer<D, T>>) -> Result<Self> {
        let mut arrays = arrays.into_iter();
        let mut next = || arrays.next().expect("a value array for each array of numbers");
        self.with_values(next(), next())
    }
}

impl<D: Driver, T: Scalar, I: Index, O: Index> Numbered<D> for Sell<T, Device<D>, I, O> {
    type Index = I;
    type OnHost = Sell<f64, Host, I, O>;
    const SIZES: Sizes = Sizes { scalar: size_of::<T>(), index: size_of::<I>(), offset: size_of::<O>() };

    fn numbered(&self, backend: &Device<D>) -> Result<Self::OnHost> {
        let (slice_ptr, row_order) =
            (backend.download(self.slice_ptr())?, backend.download(self.row_order())?);
        let col_idx = backend.download(self.col_idx())?;
        let numbers = numbers(0, col_idx.len());
        Sell::new((self.rows(), self.cols()), self.slice_height(), slice_ptr, row_order, col_idx, numbers)
    }

    fn values(&self) -> Values<'_, D, T> {
        Values::one(self.values())
    }
}

impl<D: Driver, T: Scalar, I: Index, O: Index> Target<D> for Sell<T, Device<D>, I, O> {
    fn upload(numbered: &Self::OnHost, backend: &Device<D>) -> Result<Self> {
        numbered.with_values(vec![T::ZERO; numbered.values().len()])?.to_device(backend)
    }

    fn numbers(numbered: &Self::OnHost) -> Vec<&[f64]> {
        vec![numbered.values()]
    }

    fn with_arrays(&self, arrays: Vec<Buffer<D, T>>) -> Result<Self> {
        self.with_values(only(arrays))
    }
}

impl<D: Driver, A: Axis, T: Scalar, I: Index, O: Index> Numbered<D>
    for BatchCompressed<A, T, Device<D>, I, O>
{
    type Index = I;
    type OnHost = BatchCompressed<A, f64, Host, I, O>;
    const SIZES: Sizes = Sizes { scalar: size_of::<T>(), index: size_of::<I>(), offset: size_of::<O>() };

    fn numbered(&self, backend: &Device<D>) -> Result<Self::OnHost> {
        let (offsets, indices) = (backend.download(self.offsets())?, backend.download(self.indices())?);
        let member_ptr = self.member_ptr().to_vec();
        BatchCompressed::new(self.member_shape(), member_ptr, offsets, indices, numbers(0, self.nnz()))
    }

    fn values(&self) -> Values<'_, D, T> {
        Values::one(self.values())
    }
}
