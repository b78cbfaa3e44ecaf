//! Matrices with value arrays, and planning on the host by a matrix whose values are the numbers of their own
//! positions.
//!
//! The reference's result for such a matrix gives the new position of each value. So a plan is made once with the
//! serial reference, and the device only moves or adds values.

use crate::buffer::RawBuffer;
use crate::op::spmv::along;
use crate::op::to_dense::Places;
use crate::primitive::coordinates::Coordinates;
use crate::primitive::padded_entries::PaddedEntries;
use crate::primitive::row_groups::RowGroups;
use crate::program::IndexType;
use crate::{Buffer, Device};
use sparse_core::op::Op;
use sparse_core::reference::Entries;
use sparse_core::{
    Axis, Backend, BatchCompressed, Compressed, Coo, Ell, Host, Hyb, Index, Result, Scalar, Sell,
    SparseFormat,
};

/// The value arrays of a matrix: values from position `split` on are in `tail`. Only HYB has two.
#[derive(Debug, Clone, Copy)]
pub struct Values<'a> {
    pub(crate) head: &'a RawBuffer,
    pub(crate) tail: &'a RawBuffer,
    pub(crate) split: usize,
}

impl<'a> Values<'a> {
    /// A single array.
    pub(crate) fn one(values: &'a RawBuffer) -> Self {
        Self { head: values, tail: values, split: values.len }
    }
}

/// A format on a device with value arrays.
pub trait StoredValues: SparseFormat<Space = Device> {
    /// The type of its indices.
    type Index: Index;

    /// The stored values.
    fn values(&self) -> Values<'_>;

    /// The entries of op(A) by rows.
    fn row_groups(&self, backend: &Device, op: Op) -> Result<RowGroups>;

    /// The entries by coordinates.
    fn places(&self, backend: &Device) -> Result<Places>;
}

/// A format whose entries the host can number.
pub(crate) trait Numerable: StoredValues {
    /// The same format on the host, with the numbers of the entries, from 1 on, as values.
    type OnHost: Entries<Scalar = f64>;

    /// Downloads the pattern and numbers its entries.
    fn numbered(&self, backend: &Device) -> Result<Self::OnHost>;
}

/// A format whose values can be replaced.
pub trait Target: StoredValues + Sized {
    /// The same pattern with other values, one array for each of its value arrays.
    fn with_arrays(&self, arrays: Vec<RawBuffer>) -> Result<Self>;
}

/// A format that can be uploaded from a numbered matrix of the host. Padding has the number 0.
pub trait HostTarget: Target {
    /// The same format on the host.
    type OnHost: SparseFormat<Space = Host>;

    /// Uploads the pattern; the values are zeros.
    fn upload(numbered: &Self::OnHost, backend: &Device) -> Result<Self>;

    /// The numbers in each of the value arrays.
    fn numbers(numbered: &Self::OnHost) -> Vec<&[f64]>;
}

/// Numbers for `n` entries.
fn numbers(n: usize) -> Vec<f64> {
    (1..=n).map(|number| number as f64).collect()
}

/// The position of a number; −1 for padding.
pub(crate) fn position(number: f64) -> i64 {
    number as i64 - 1
}

/// The only array.
fn only<T>(arrays: Vec<RawBuffer>) -> Buffer<T> {
    arrays.into_iter().next().expect("a value array for each array of numbers").of()
}

impl<A: Axis, T: Scalar, I: Index, O: Index> Numerable for Compressed<A, T, Device, I, O> {
    type OnHost = Compressed<A, f64, Host, I, O>;

    fn numbered(&self, backend: &Device) -> Result<Self::OnHost> {
        let (offsets, indices) = (backend.download(self.offsets())?, backend.download(self.indices())?);
        Compressed::new_unsorted(self.rows(), self.cols(), offsets, indices, numbers(self.nnz()))
    }
}

impl<A: Axis, T: Scalar, I: Index, O: Index> StoredValues for Compressed<A, T, Device, I, O> {
    type Index = I;

    fn values(&self) -> Values<'_> {
        Values::one(self.values())
    }

    fn row_groups(&self, backend: &Device, op: Op) -> Result<RowGroups> {
        let sorted = if along::<A>(op) { Coordinates::stored } else { Coordinates::across };
        sorted(backend, self.into())?.into_row_groups(backend)
    }

    fn places(&self, backend: &Device) -> Result<Places> {
        let found = if self.order().unique { Coordinates::stored } else { Coordinates::along };
        Ok(found(backend, self.into())?.into_places(A::IS_ROW))
    }
}

impl<A: Axis, T: Scalar, I: Index, O: Index> Target for Compressed<A, T, Device, I, O> {
    fn with_arrays(&self, arrays: Vec<RawBuffer>) -> Result<Self> {
        self.with_values(only(arrays))
    }
}

impl<T: Scalar, I: Index> StoredValues for Coo<T, Device, I> {
    type Index = I;

    fn values(&self) -> Values<'_> {
        Values::one(self.values())
    }

    fn row_groups(&self, backend: &Device, op: Op) -> Result<RowGroups> {
        let by_rows = !op.transposes();
        Coordinates::of_coo_by_major(backend, self.into(), by_rows)?.into_row_groups(backend)
    }

    fn places(&self, backend: &Device) -> Result<Places> {
        Ok(Coordinates::of_coo(backend, self.into(), true)?.into_places(true))
    }
}

impl<T: Scalar, I: Index> Target for Coo<T, Device, I> {
    fn with_arrays(&self, arrays: Vec<RawBuffer>) -> Result<Self> {
        self.with_values(only(arrays))
    }
}

impl<T: Scalar, I: Index> StoredValues for Ell<T, Device, I> {
    type Index = I;

    fn values(&self) -> Values<'_> {
        Values::one(self.values())
    }

    fn row_groups(&self, backend: &Device, op: Op) -> Result<RowGroups> {
        self.grouped(backend, op)
    }

    fn places(&self, backend: &Device) -> Result<Places> {
        self.sorted(backend)
    }
}

impl<T: Scalar, I: Index> Target for Ell<T, Device, I> {
    fn with_arrays(&self, arrays: Vec<RawBuffer>) -> Result<Self> {
        self.with_values(only(arrays))
    }
}

impl<T: Scalar, I: Index> HostTarget for Ell<T, Device, I> {
    type OnHost = Ell<f64, Host, I>;

    fn upload(numbered: &Self::OnHost, backend: &Device) -> Result<Self> {
        numbered.with_values(vec![T::ZERO; numbered.values().len()])?.to_device(backend)
    }

    fn numbers(numbered: &Self::OnHost) -> Vec<&[f64]> {
        vec![numbered.values()]
    }
}

impl<T: Scalar, I: Index> StoredValues for Hyb<T, Device, I> {
    type Index = I;

    fn values(&self) -> Values<'_> {
        let (head, tail) = (self.ell().values(), self.coo().values());
        Values { head, tail, split: head.len }
    }

    fn row_groups(&self, backend: &Device, op: Op) -> Result<RowGroups> {
        self.grouped(backend, op)
    }

    fn places(&self, backend: &Device) -> Result<Places> {
        self.sorted(backend)
    }
}

impl<T: Scalar, I: Index> Target for Hyb<T, Device, I> {
    fn with_arrays(&self, arrays: Vec<RawBuffer>) -> Result<Self> {
        let mut arrays = arrays.into_iter();
        let mut next = || arrays.next().expect("a value array for each that the format has");
        self.with_values(next().of(), next().of())
    }
}

impl<T: Scalar, I: Index> HostTarget for Hyb<T, Device, I> {
    type OnHost = Hyb<f64, Host, I>;

    fn upload(numbered: &Self::OnHost, backend: &Device) -> Result<Self> {
        let (ell, coo) = (numbered.ell().values().len(), numbered.coo().nnz());
        numbered.with_values(vec![T::ZERO; ell], vec![T::ZERO; coo])?.to_device(backend)
    }

    fn numbers(numbered: &Self::OnHost) -> Vec<&[f64]> {
        vec![numbered.ell().values(), numbered.coo().values()]
    }
}

impl<T: Scalar, I: Index, O: Index> StoredValues for Sell<T, Device, I, O> {
    type Index = I;

    fn values(&self) -> Values<'_> {
        Values::one(self.values())
    }

    fn row_groups(&self, backend: &Device, op: Op) -> Result<RowGroups> {
        self.grouped(backend, op)
    }

    fn places(&self, backend: &Device) -> Result<Places> {
        self.sorted(backend)
    }
}

impl<T: Scalar, I: Index, O: Index> Target for Sell<T, Device, I, O> {
    fn with_arrays(&self, arrays: Vec<RawBuffer>) -> Result<Self> {
        self.with_values(only(arrays))
    }
}

impl<T: Scalar, I: Index, O: Index> HostTarget for Sell<T, Device, I, O> {
    type OnHost = Sell<f64, Host, I, O>;

    fn upload(numbered: &Self::OnHost, backend: &Device) -> Result<Self> {
        numbered.with_values(vec![T::ZERO; numbered.values().len()])?.to_device(backend)
    }

    fn numbers(numbered: &Self::OnHost) -> Vec<&[f64]> {
        vec![numbered.values()]
    }
}

impl<A: Axis, T: Scalar, I: Index, O: Index> Numerable for BatchCompressed<A, T, Device, I, O> {
    type OnHost = BatchCompressed<A, f64, Host, I, O>;

    fn numbered(&self, backend: &Device) -> Result<Self::OnHost> {
        let (offsets, indices) = (backend.download(self.offsets())?, backend.download(self.indices())?);
        let member_ptr = self.member_ptr().to_vec();
        BatchCompressed::new(self.member_shape(), member_ptr, offsets, indices, numbers(self.nnz()))
    }
}

impl<A: Axis, T: Scalar, I: Index, O: Index> StoredValues for BatchCompressed<A, T, Device, I, O> {
    type Index = I;

    fn values(&self) -> Values<'_> {
        Values::one(self.values())
    }

    fn row_groups(&self, backend: &Device, op: Op) -> Result<RowGroups> {
        RowGroups::numbered(backend, &self.numbered(backend)?, op, IndexType::of::<I>())
    }

    fn places(&self, backend: &Device) -> Result<Places> {
        Places::numbered(backend, &self.numbered(backend)?, IndexType::of::<I>())
    }
}
