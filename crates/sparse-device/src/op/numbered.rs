//! Matrices whose values stand at positions, and planning on the host: a matrix whose values are the numbers of their own
//! slots.
//!
//! What the reference makes of such a matrix says where each value goes. So a plan is made once with the serial
//! reference, and the device only moves or adds values.

use super::coordinates::Coordinates;
use super::grouped::RowGroups;
use super::slots::Slots;
use super::spmv::along;
use super::to_dense::Places;
use crate::{Buffer, Device, Driver};
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

/// A format on a device whose values stand at positions.
pub trait Numbered<D: Driver>: Matrix<Space = Device<D>> {
    /// The type of its indices.
    type Index: Index;

    /// The stored values.
    fn values(&self) -> Values<'_, D, Self::Scalar>;

    /// The entries of op(A) by rows.
    fn row_groups(&self, backend: &Device<D>, op: Op) -> Result<RowGroups<D, Self::Index>>;

    /// The entries by coordinates.
    fn places(&self, backend: &Device<D>) -> Result<Places<D, Self::Index>>;
}

/// A format whose entries the host can number.
pub(super) trait Numerable<D: Driver>: Numbered<D> {
    /// The same format on the host, with the numbers of the entries, from 1 on, as values.
    type OnHost: Entries<Scalar = f64>;

    /// Downloads the pattern and numbers its entries.
    fn numbered(&self, backend: &Device<D>) -> Result<Self::OnHost>;
}

/// A format that can be given other values.
pub trait Target<D: Driver>: Numbered<D> + Sized {
    /// The same pattern with other values, one array for each that it has.
    fn with_arrays(&self, arrays: Vec<Buffer<D, Self::Scalar>>) -> Result<Self>;
}

/// A format that can be made from one that the host has numbered. Padding has the number 0.
pub trait HostTarget<D: Driver>: Target<D> {
    /// The same format on the host.
    type OnHost: Matrix<Space = Host>;

    /// Uploads the pattern; the values are zeros.
    fn upload(numbered: &Self::OnHost, backend: &Device<D>) -> Result<Self>;

    /// The numbers in each of the value arrays.
    fn numbers(numbered: &Self::OnHost) -> Vec<&[f64]>;
}

/// Numbers for `n` entries.
fn numbers(n: usize) -> Vec<f64> {
    (1..=n).map(|number| number as f64).collect()
}

/// The position of a slot from its number; padding is at −1.
pub(super) fn position(number: f64) -> i64 {
    number as i64 - 1
}

/// The only array.
fn only<D: Driver, T>(arrays: Vec<Buffer<D, T>>) -> Buffer<D, T> {
    arrays.into_iter().next().expect("a value array for each array of numbers")
}

impl<D: Driver, A: Axis, T: Scalar, I: Index, O: Index> Numerable<D> for Compressed<A, T, Device<D>, I, O> {
    type OnHost = Compressed<A, f64, Host, I, O>;

    fn numbered(&self, backend: &Device<D>) -> Result<Self::OnHost> {
        let (offsets, indices) = (backend.download(self.offsets())?, backend.download(self.indices())?);
        Compressed::new_unsorted(self.rows(), self.cols(), offsets, indices, numbers(self.nnz()))
    }
}

impl<D: Driver, A: Axis, T: Scalar, I: Index, O: Index> Numbered<D> for Compressed<A, T, Device<D>, I, O> {
    type Index = I;

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
    fn with_arrays(&self, arrays: Vec<Buffer<D, T>>) -> Result<Self> {
        self.with_values(only(arrays))
    }
}

impl<D: Driver, T: Scalar, I: Index> Numbered<D> for Coo<T, Device<D>, I> {
    type Index = I;

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
    fn with_arrays(&self, arrays: Vec<Buffer<D, T>>) -> Result<Self> {
        self.with_values(only(arrays))
    }
}

impl<D: Driver, T: Scalar, I: Index> Numbered<D> for Ell<T, Device<D>, I> {
    type Index = I;

    fn values(&self) -> Values<'_, D, T> {
        Values::one(self.values())
    }

    fn row_groups(&self, backend: &Device<D>, op: Op) -> Result<RowGroups<D, I>> {
        self.grouped(backend, op)
    }

    fn places(&self, backend: &Device<D>) -> Result<Places<D, I>> {
        self.sorted(backend)
    }
}

impl<D: Driver, T: Scalar, I: Index> Target<D> for Ell<T, Device<D>, I> {
    fn with_arrays(&self, arrays: Vec<Buffer<D, T>>) -> Result<Self> {
        self.with_values(only(arrays))
    }
}

impl<D: Driver, T: Scalar, I: Index> HostTarget<D> for Ell<T, Device<D>, I> {
    type OnHost = Ell<f64, Host, I>;

    fn upload(numbered: &Self::OnHost, backend: &Device<D>) -> Result<Self> {
        numbered.with_values(vec![T::ZERO; numbered.values().len()])?.to_device(backend)
    }

    fn numbers(numbered: &Self::OnHost) -> Vec<&[f64]> {
        vec![numbered.values()]
    }
}

impl<D: Driver, T: Scalar, I: Index> Numbered<D> for Hyb<T, Device<D>, I> {
    type Index = I;

    fn values(&self) -> Values<'_, D, T> {
        let (head, tail) = (self.ell().values(), self.coo().values());
        Values { head, tail, split: head.len() }
    }

    fn row_groups(&self, backend: &Device<D>, op: Op) -> Result<RowGroups<D, I>> {
        self.grouped(backend, op)
    }

    fn places(&self, backend: &Device<D>) -> Result<Places<D, I>> {
        self.sorted(backend)
    }
}

impl<D: Driver, T: Scalar, I: Index> Target<D> for Hyb<T, Device<D>, I> {
    fn with_arrays(&self, arrays: Vec<Buffer<D, T>>) -> Result<Self> {
        let mut arrays = arrays.into_iter();
        let mut next = || arrays.next().expect("a value array for each that the format has");
        self.with_values(next(), next())
    }
}

impl<D: Driver, T: Scalar, I: Index> HostTarget<D> for Hyb<T, Device<D>, I> {
    type OnHost = Hyb<f64, Host, I>;

    fn upload(numbered: &Self::OnHost, backend: &Device<D>) -> Result<Self> {
        let (ell, coo) = (numbered.ell().values().len(), numbered.coo().nnz());
        numbered.with_values(vec![T::ZERO; ell], vec![T::ZERO; coo])?.to_device(backend)
    }

    fn numbers(numbered: &Self::OnHost) -> Vec<&[f64]> {
        vec![numbered.ell().values(), numbered.coo().values()]
    }
}

impl<D: Driver, T: Scalar, I: Index, O: Index> Numbered<D> for Sell<T, Device<D>, I, O> {
    type Index = I;

    fn values(&self) -> Values<'_, D, T> {
        Values::one(self.values())
    }

    fn row_groups(&self, backend: &Device<D>, op: Op) -> Result<RowGroups<D, I>> {
        self.grouped(backend, op)
    }

    fn places(&self, backend: &Device<D>) -> Result<Places<D, I>> {
        self.sorted(backend)
    }
}

impl<D: Driver, T: Scalar, I: Index, O: Index> Target<D> for Sell<T, Device<D>, I, O> {
    fn with_arrays(&self, arrays: Vec<Buffer<D, T>>) -> Result<Self> {
        self.with_values(only(arrays))
    }
}

impl<D: Driver, T: Scalar, I: Index, O: Index> HostTarget<D> for Sell<T, Device<D>, I, O> {
    type OnHost = Sell<f64, Host, I, O>;

    fn upload(numbered: &Self::OnHost, backend: &Device<D>) -> Result<Self> {
        numbered.with_values(vec![T::ZERO; numbered.values().len()])?.to_device(backend)
    }

    fn numbers(numbered: &Self::OnHost) -> Vec<&[f64]> {
        vec![numbered.values()]
    }
}

impl<D: Driver, A: Axis, T: Scalar, I: Index, O: Index> Numerable<D>
    for BatchCompressed<A, T, Device<D>, I, O>
{
    type OnHost = BatchCompressed<A, f64, Host, I, O>;

    fn numbered(&self, backend: &Device<D>) -> Result<Self::OnHost> {
        let (offsets, indices) = (backend.download(self.offsets())?, backend.download(self.indices())?);
        let member_ptr = self.member_ptr().to_vec();
        BatchCompressed::new(self.member_shape(), member_ptr, offsets, indices, numbers(self.nnz()))
    }
}

impl<D: Driver, A: Axis, T: Scalar, I: Index, O: Index> Numbered<D>
    for BatchCompressed<A, T, Device<D>, I, O>
{
    type Index = I;

    fn values(&self) -> Values<'_, D, T> {
        Values::one(self.values())
    }

    fn row_groups(&self, backend: &Device<D>, op: Op) -> Result<RowGroups<D, I>> {
        RowGroups::numbered(backend, &self.numbered(backend)?, op)
    }

    fn places(&self, backend: &Device<D>) -> Result<Places<D, I>> {
        Places::numbered(backend, &self.numbered(backend)?)
    }
}
