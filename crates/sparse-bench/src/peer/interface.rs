//! The interface of a library that runs on the same device.

use super::conversion::Conversion;
use super::product::Product;
use crate::arguments::PeerName;
use sparse_core::{Coo, Csr, DenseBatchView, DenseView, Result, Scalar};
use sparse_device::{Device, View};

/// A library on a device. Operations that it lacks are left out.
pub(crate) trait Peer: Sized {
    /// Its name in the arguments.
    const ASKED_AS: Option<PeerName>;

    /// The library, ready to work in order with `device`.
    ///
    /// # Errors
    /// The reason why there is none.
    fn connect(device: &Device) -> Result<Self>;

    /// Its name and version.
    fn name(&self) -> String;

    /// `y = A·x` by each of its algorithms.
    fn spmv<'a, T: Scalar>(&'a self, _a: &'a Csr<T, Device>, _x: View<'a, T>) -> Result<Vec<Product<'a, T>>> {
        Ok(vec![])
    }

    /// `C = A·B` by each of its algorithms.
    fn spmm<'a, T: Scalar>(
        &'a self,
        _a: &'a Csr<T, Device>,
        _b: DenseView<'a, T, Device>,
    ) -> Result<Vec<Product<'a, T>>> {
        Ok(vec![])
    }

    /// Dense to CSR; no member has more than `most` entries.
    fn dense_to_csr<'a>(
        &'a self,
        _a: DenseBatchView<'a, f32, Device>,
        _most: usize,
    ) -> Result<Vec<Conversion<'a>>> {
        Ok(vec![])
    }

    /// `iterations` of conjugate gradients from x = 0, for any old x, by each of its algorithms.
    fn cg<'a>(
        &'a self,
        _a: &'a Csr<f32, Device>,
        _b: View<'a, f32>,
        _iterations: usize,
    ) -> Result<Vec<Product<'a, f32>>> {
        Ok(vec![])
    }

    /// COO to CSR.
    fn coo_to_csr<'a>(&'a self, _a: &'a Coo<f32, Device>) -> Result<Vec<Conversion<'a>>> {
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

    fn name(&self) -> String {
        "no peer".into()
    }
}
