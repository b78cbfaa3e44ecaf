//! `L·x = b` in CSR, with the library's analysis before.

use super::descriptor::{SparseMatrix, Vector, data_type, start};
use super::library::{Cusparse, check};
use crate::product::{Product, available, planned};
use backend_cuda::Device;
use cudarc::cusparse::sys::{self, cusparseSpSVAlg_t::CUSPARSE_SPSV_ALG_DEFAULT as ALGORITHM};
use sparse_core::{Backend, Csr, Result, Space};
use sparse_device::{Buffer, View, ViewMut};
use std::ptr;

const PLAIN: sys::cusparseOperation_t = sys::cusparseOperation_t::CUSPARSE_OPERATION_NON_TRANSPOSE;

/// The solver; what the library refuses is printed.
pub(super) fn all<'a>(
    library: &'a Cusparse,
    l: &'a Csr<f32, Device>,
    b: View<'a, f32>,
) -> Vec<Product<'a, f32>> {
    let made = planned(&library.device, || Spsv::new(library, l, b));
    let product = |(plan, seconds): (Spsv<'a>, f64)| Product::new("cusparse", seconds, move |x| plan.run(x));
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
struct Spsv<'a> {
    library: &'a Cusparse,
    l: SparseMatrix,
    b: Vector,
    x: Vector,
    state: State,
    /// The analysis, which the state names.
    _workspace: Buffer<u8>,
}

impl<'a> Spsv<'a> {
    fn new(library: &'a Cusparse, l: &'a Csr<f32, Device>, b: View<'a, f32>) -> Result<Self> {
        let (device, handle, n) = (&library.device, library.handle, l.nrows());
        let arrays = (start(l.row_ptr()), start(l.col_idx()), start(l.values()));
        let matrix = SparseMatrix::csr::<f32>((n, n), l.nnz(), arrays)?;
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
        let output: Buffer<f32> = device.zeros(n)?;
        let (b, x) = (Vector::new(&b)?, Vector::new(&Device::view(&output))?);
        let mut descriptor = ptr::null_mut();
        // SAFETY: the call writes the descriptor.
        check("cusparseSpSV_createDescr", unsafe { sys::cusparseSpSV_createDescr(&raw mut descriptor) })?;
        let (state, one, value) = (State(descriptor), 1.0_f32, data_type::<f32>()?);
        let (alpha, mut bytes) = ((&raw const one).cast(), 0);
        // SAFETY: handle and descriptors are alive; the vectors have the length of the matrix.
        let status = unsafe {
            sys::cusparseSpSV_bufferSize(
                handle,
                PLAIN,
                alpha,
                matrix.0,
                b.0,
                x.0,
                value,
                ALGORITHM,
                state.0,
                &raw mut bytes,
            )
        };
        check("cusparseSpSV_bufferSize", status)?;
        let workspace = device.zeros(bytes)?;
        // SAFETY: as above; the workspace has the size that was asked for, and x is freed behind this work.
        let status = unsafe {
            sys::cusparseSpSV_analysis(
                handle,
                PLAIN,
                alpha,
                matrix.0,
                b.0,
                x.0,
                value,
                ALGORITHM,
                state.0,
                start(&workspace),
            )
        };
        check("cusparseSpSV_analysis", status)?;
        Ok(Self { library, l: matrix, b, x, state, _workspace: workspace })
    }

    fn run(&self, x: ViewMut<'_, f32>) -> Result<()> {
        self.x.set(&Device::as_shared(&x))?;
        let one = 1.0_f32;
        // SAFETY: as in `new`; L and b are borrowed, and x has the length that was analysed.
        let status = unsafe {
            sys::cusparseSpSV_solve(
                self.library.handle,
                PLAIN,
                (&raw const one).cast(),
                self.l.0,
                self.b.0,
                self.x.0,
                data_type::<f32>()?,
                ALGORITHM,
                self.state.0,
            )
        };
        check("cusparseSpSV_solve", status)
    }
}
