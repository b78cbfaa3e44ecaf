//! The interfaces of libraries to compare with.

use crate::arguments::PeerName;
use crate::conversion::Conversion;
use crate::product::Product;
use crate::value::Value;
use sparse_core::{Coo, Csr, DenseBatchView, DenseView, Result, Space};
use sparse_device::{Device, View};

/// A library that multiplies matrices in the memory of a space. Products that it lacks are left out.
pub(crate) trait Products<S: Space> {
    /// The name and version of the library.
    fn name(&self) -> String;

    /// `y = A·x` by each of its algorithms, its default first.
    ///
    /// # Errors
    /// If A cannot be read.
    fn spmv<'a, T: Value>(&'a self, _a: &'a Csr<T, S>, _x: S::View<'a, T>) -> Result<Vec<Product<'a, T, S>>> {
        Ok(vec![])
    }

    /// `C = A·B` by each of its algorithms, its default first; C is row-major without gaps.
    ///
    /// # Errors
    /// If A cannot be read.
    fn spmm<'a, T: Value>(
        &'a self,
        _a: &'a Csr<T, S>,
        _b: DenseView<'a, T, S>,
    ) -> Result<Vec<Product<'a, T, S>>> {
        Ok(vec![])
    }
}

/// A library on a device. Operations that it lacks are left out.
pub(crate) trait Peer: Products<Device> + Sized {
    /// The name of the library in the arguments.
    const ASKED_AS: Option<PeerName>;

    /// The library, ready to work in order with `device`.
    ///
    /// # Errors
    /// The reason why there is none.
    fn connect(device: &Device) -> Result<Self>;

    /// Dense to CSR; no member has more than `most` entries.
    fn dense_to_csr<'a, T: Value>(
        &'a self,
        _a: DenseBatchView<'a, T, Device>,
        _most: usize,
    ) -> Result<Vec<Conversion<'a, T>>> {
        Ok(vec![])
    }

    /// `iterations` of conjugate gradients from x = 0, for any old x, by each of its algorithms.
    fn cg<'a, T: Value>(
        &'a self,
        _a: &'a Csr<T, Device>,
        _b: View<'a, T>,
        _iterations: usize,
    ) -> Result<Vec<Product<'a, T>>> {
        Ok(vec![])
    }

    /// The product of the factors, from the last two on, by each of its algorithms, which find patterns in every run.
    fn spgemm<'a, T: Value>(&'a self, _factors: &[&'a Csr<T, Device>]) -> Result<Vec<Conversion<'a, T>>> {
        Ok(vec![])
    }

    /// The product of the factors, from the last two on, whose patterns are known.
    fn spgemm_planned<'a, T: Value>(
        &'a self,
        _factors: &[&'a Csr<T, Device>],
    ) -> Result<Vec<Conversion<'a, T>>> {
        Ok(vec![])
    }

    /// `U·Vᵀ` at the entries of P.
    fn sddmm<'a, T: Value>(
        &'a self,
        _p: &'a Csr<T, Device>,
        _u: DenseView<'a, T, Device>,
        _v: DenseView<'a, T, Device>,
    ) -> Result<Vec<Product<'a, T>>> {
        Ok(vec![])
    }

    /// `L·x = b` for a lower triangle.
    fn trisolve<'a, T: Value>(
        &'a self,
        _l: &'a Csr<T, Device>,
        _b: View<'a, T>,
    ) -> Result<Vec<Product<'a, T>>> {
        Ok(vec![])
    }

    /// A + B.
    fn add<'a, T: Value>(
        &'a self,
        _a: &'a Csr<T, Device>,
        _b: &'a Csr<T, Device>,
    ) -> Result<Vec<Conversion<'a, T>>> {
        Ok(vec![])
    }

    /// COO to CSR.
    fn coo_to_csr<'a, T: Value>(&'a self, _a: &'a Coo<T, Device>) -> Result<Vec<Conversion<'a, T>>> {
        Ok(vec![])
    }
}

/// No library to compare with.
#[cfg(feature = "sycl")]
pub(crate) struct Nobody;

#[cfg(feature = "sycl")]
impl Peer for Nobody {
    const ASKED_AS: Option<PeerName> = None;

    fn connect(_: &Device) -> Result<Self> {
        Ok(Self)
    }
}

#[cfg(feature = "sycl")]
impl Products<Device> for Nobody {
    fn name(&self) -> String {
        "no peer".into()
    }
}
