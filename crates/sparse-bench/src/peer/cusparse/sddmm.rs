//! `U·Vᵀ` at the entries of a matrix in CSR, whose values the library does not multiply by.

use super::descriptor::{DenseMatrix, PLAIN, Scalars, SparseMatrix, start};
use super::library::{Cusparse, check};
use crate::peer::cuda::pointer;
use crate::product::{Product, available, planned};
use crate::value::Value;
use backend_cuda::Device;
use cudarc::cusparse::sys::{self, cusparseSDDMMAlg_t::CUSPARSE_SDDMM_ALG_DEFAULT as ALGORITHM};
use sparse_core::{Backend, Csr, DenseView, Result, Space};
use sparse_device::{Buffer, ViewMut};

/// The product with and without preprocessing; refusals of the library are printed.
pub(super) fn all<'a, T: Value>(
    library: &'a Cusparse,
    p: &'a Csr<T, Device>,
    u: DenseView<'a, T, Device>,
    v: DenseView<'a, T, Device>,
) -> Vec<Product<'a, T>> {
    let product = |(name, preprocess): (&'static str, bool)| {
        let made = planned(&library.device, || Sddmm::new(library, p, (&u, &v), preprocess));
        let (plan, seconds) = available(name, made)?;
        Some(Product::new(name, seconds, move |c| plan.run(c)))
    };
    [("cusparse", true), ("cusparse:plain", false)].into_iter().filter_map(product).collect()
}

/// A prepared product.
struct Sddmm<'a, T> {
    library: &'a Cusparse,
    scalars: Scalars<T>,
    u: DenseMatrix,
    v: DenseMatrix,
    c: SparseMatrix,
    workspace: Buffer<u8>,
}

impl<'a, T: Value> Sddmm<'a, T> {
    fn new(
        library: &'a Cusparse,
        p: &'a Csr<T, Device>,
        (u, v): (&DenseView<'_, T, Device>, &DenseView<'_, T, Device>),
        preprocess: bool,
    ) -> Result<Self> {
        let device = &library.device;
        // V by rows is Vᵀ by columns.
        let (u, v) = (DenseMatrix::new(u)?, DenseMatrix::new(&v.transposed())?);
        let values: Buffer<T> = device.zeros(p.nnz())?;
        let arrays = (start(p.row_ptr()), start(p.col_idx()), start(&values));
        let c = SparseMatrix::csr::<T>((p.nrows(), p.ncols()), p.nnz(), arrays)?;
        let scalars = Scalars::<T>::new();
        let (alpha, beta, value) = scalars.arguments()?;
        let handle = library.handle;
        // SAFETY: handle and descriptors are alive; the operands are of one type, with shapes that fit.
        let workspace = library.workspace("cusparseSDDMM_bufferSize", |size| unsafe {
            sys::cusparseSDDMM_bufferSize(
                handle, PLAIN, PLAIN, alpha, u.0, v.0, beta, c.0, value, ALGORITHM, size,
            )
        })?;
        if preprocess {
            let buffer = start(&workspace);
            // SAFETY: as above; the workspace has the size that was asked for; the values are freed after this work, in
            // stream order.
            let status = unsafe {
                sys::cusparseSDDMM_preprocess(
                    handle, PLAIN, PLAIN, alpha, u.0, v.0, beta, c.0, value, ALGORITHM, buffer,
                )
            };
            check("cusparseSDDMM_preprocess", status)?;
        }
        Ok(Self { library, scalars, u, v, c, workspace })
    }

    fn run(&self, c: ViewMut<'_, T>) -> Result<()> {
        // SAFETY: the descriptor is alive.
        let status = unsafe { sys::cusparseSpMatSetValues(self.c.0, pointer(&Device::as_shared(&c))) };
        check("cusparseSpMatSetValues", status)?;
        let Self { u, v, c, .. } = self;
        let (alpha, beta, value) = self.scalars.arguments()?;
        let (handle, buffer) = (self.library.handle, start(&self.workspace));
        // SAFETY: as in `new`; U, V and the pattern are borrowed, C has an element for each entry.
        let status = unsafe {
            sys::cusparseSDDMM(handle, PLAIN, PLAIN, alpha, u.0, v.0, beta, c.0, value, ALGORITHM, buffer)
        };
        check("cusparseSDDMM", status)
    }
}
