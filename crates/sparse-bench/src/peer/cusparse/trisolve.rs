//! `L·x = b` in CSR, with the library's analysis before.

use super::descriptor::{PLAIN, Scalars, SparseMatrix, Vector, made, start};
use super::library::{Cusparse, check};
use crate::product::{Product, available, planned};
use crate::value::Value;
use backend_cuda::Device;
use cudarc::cusparse::sys::{self, cusparseSpSVAlg_t::CUSPARSE_SPSV_ALG_DEFAULT as ALGORITHM};
use sparse_core::{Backend, Csr, Result, Space};
use sparse_device::{Buffer, View, ViewMut};

/// The solver; refusals of the library are printed.
pub(super) fn all<'a, T: Value>(
    library: &'a Cusparse,
    l: &'a Csr<T, Device>,
    b: View<'a, T>,
) -> Vec<Product<'a, T>> {
    let made = planned(&library.device, || Spsv::new(library, l, b));
    let product =
        |(plan, seconds): (Spsv<'a, T>, f64)| Product::new("cusparse", seconds, move |x| plan.run(x));
    available("cusparse", made).map(product).into_iter().collect()
}

/// The state of a solver between its calls.
struct State(sys::cusparseSpSVDescr_t);

impl Drop for State {
    fn drop(&mut self) {
        // SAFETY: the descriptor was made by `Spsv::new` and is not used after this.
        let _ = unsafe { sys::cusparseSpSV_destroyDescr(self.0) };
    }
}

/// An analysed solver.
struct Spsv<'a, T> {
    library: &'a Cusparse,
    scalars: Scalars<T>,
    l: SparseMatrix,
    b: Vector,
    x: Vector,
    state: State,
    /// The analysis, which the state names.
    _workspace: Buffer<u8>,
}

impl<'a, T: Value> Spsv<'a, T> {
    fn new(library: &'a Cusparse, l: &'a Csr<T, Device>, b: View<'a, T>) -> Result<Self> {
        let (device, handle, n) = (&library.device, library.handle, l.nrows());
        let arrays = (start(l.row_ptr()), start(l.col_idx()), start(l.values()));
        let matrix = SparseMatrix::csr::<T>((n, n), l.nnz(), arrays)?;
        let mut fill = sys::cusparseFillMode_t::CUSPARSE_FILL_MODE_LOWER;
        // SAFETY: the descriptor is alive; the attribute has the size of its type.
        let status = unsafe {
            sys::cusparseSpMatSetAttribute(
                matrix.0,
                sys::cusparseSpMatAttribute_t::CUSPARSE_SPMAT_FILL_MODE,
                (&raw mut fill).cast(),
                size_of_val(&fill),
            )
        };
        check("cusparseSpMatSetAttribute", status)?;
        let output: Buffer<T> = device.zeros(n)?;
        let (b, x) = (Vector::new(&b)?, Vector::new(&Device::view(&output))?);
        // SAFETY: the call writes the descriptor.
        let create = |made| unsafe { sys::cusparseSpSV_createDescr(made) };
        let state = made("cusparseSpSV_createDescr", create).map(State)?;
        let scalars = Scalars::<T>::new();
        let ((alpha, _, value), l) = (scalars.arguments()?, matrix);
        // SAFETY: handle and descriptors are alive; the vectors have the length of the matrix.
        let workspace = library.workspace("cusparseSpSV_bufferSize", |size| unsafe {
            sys::cusparseSpSV_bufferSize(handle, PLAIN, alpha, l.0, b.0, x.0, value, ALGORITHM, state.0, size)
        })?;
        let buffer = start(&workspace);
        // SAFETY: as above; the workspace has the size that was asked for, and x is freed after this work, in stream
        // order.
        let status = unsafe {
            sys::cusparseSpSV_analysis(handle, PLAIN, alpha, l.0, b.0, x.0, value, ALGORITHM, state.0, buffer)
        };
        check("cusparseSpSV_analysis", status)?;
        Ok(Self { library, scalars, l, b, x, state, _workspace: workspace })
    }

    fn run(&self, x: ViewMut<'_, T>) -> Result<()> {
        self.x.set(&Device::as_shared(&x))?;
        let Self { l, b, x, state, .. } = self;
        let ((alpha, _, value), handle) = (self.scalars.arguments()?, self.library.handle);
        // SAFETY: as in `new`; L and b are borrowed, and x has the length that was analysed.
        let status = unsafe {
            sys::cusparseSpSV_solve(handle, PLAIN, alpha, l.0, b.0, x.0, value, ALGORITHM, state.0)
        };
        check("cusparseSpSV_solve", status)
    }
}
