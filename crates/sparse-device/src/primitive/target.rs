//! Formats whose values a plan replaces.

use crate::buffer::RawBuffer;
use crate::{Buffer, Device};
use sparse_core::{
    Axis, BatchCompressed, Compressed, Coo, Ell, Host, Hyb, Index, Result, Scalar, Sell, SparseFormat,
};

/// A format whose values can be replaced.
pub trait Target: SparseFormat<Space = Device> + Sized {
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

/// The only array.
fn only<T>(arrays: Vec<RawBuffer>) -> Buffer<T> {
    arrays.into_iter().next().expect("a value array for each array of numbers").of()
}

impl<A: Axis, T: Scalar, I: Index, O: Index> Target for Compressed<A, T, Device, I, O> {
    fn with_arrays(&self, arrays: Vec<RawBuffer>) -> Result<Self> {
        self.with_values(only(arrays))
    }
}

impl<A: Axis, T: Scalar, I: Index, O: Index> Target for BatchCompressed<A, T, Device, I, O> {
    fn with_arrays(&self, arrays: Vec<RawBuffer>) -> Result<Self> {
        self.with_values(only(arrays))
    }
}

impl<A: Axis, T: Scalar, I: Index, O: Index> HostTarget for BatchCompressed<A, T, Device, I, O> {
    type OnHost = BatchCompressed<A, f64, Host, I, O>;

    fn upload(numbered: &Self::OnHost, backend: &Device) -> Result<Self> {
        numbered.with_values(vec![T::ZERO; numbered.nnz()])?.to_device(backend)
    }

    fn numbers(numbered: &Self::OnHost) -> Vec<&[f64]> {
        vec![numbered.values()]
    }
}

impl<T: Scalar, I: Index> Target for Coo<T, Device, I> {
    fn with_arrays(&self, arrays: Vec<RawBuffer>) -> Result<Self> {
        self.with_values(only(arrays))
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
