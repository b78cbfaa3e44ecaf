//! SpMV and SpMM by each algorithm for each format: in CSR with and without preprocessing, in COO, in BSR where the
//! matrix has dense blocks and, SpMV alone, in sliced ELL where little of it is padding.

use super::descriptor::{DenseMatrix, PLAIN, Scalars, SparseMatrix, Vector, start};
use super::library::{Cusparse, check};
use super::stored::{Format, Stored};
use crate::peer::cuda::pointer;
use crate::product::{Product, available, planned};
use backend_cuda::Device;
use cudarc::cusparse::sys::{self, cusparseSpMMAlg_t as SpmmAlgorithm, cusparseSpMVAlg_t as SpmvAlgorithm};
use sparse_core::{Backend, Csr, DenseView, Order, Result, Scalar, Space};
use sparse_device::{Buffer, View, ViewMut};
use std::rc::Rc;

/// An algorithm as a contender.
#[derive(Debug, Clone, Copy)]
pub(super) struct Variant<A> {
    pub(super) name: &'static str,
    algorithm: A,
    /// True if the matrix is preprocessed.
    preprocess: bool,
}

impl<A> Variant<A> {
    const fn preprocessed(name: &'static str, algorithm: A) -> Self {
        Self { name, algorithm, preprocess: true }
    }

    const fn plain(name: &'static str, algorithm: A) -> Self {
        Self { name, algorithm, preprocess: false }
    }
}

/// An algorithm of SpMV.
pub(super) type SpmvVariant = Variant<SpmvAlgorithm>;

/// The algorithms for CSR, preprocessed.
pub(super) const CSR_SPMV: [SpmvVariant; 2] = [
    Variant::preprocessed("cusparse:csr_alg1", SpmvAlgorithm::CUSPARSE_SPMV_CSR_ALG1),
    Variant::preprocessed("cusparse:csr_alg2", SpmvAlgorithm::CUSPARSE_SPMV_CSR_ALG2),
];

const SPMV: [(Format, &[SpmvVariant]); 5] = [
    (Format::Csr, &CSR_SPMV),
    (
        Format::Csr,
        &[
            Variant::plain("cusparse:csr_alg1_plain", SpmvAlgorithm::CUSPARSE_SPMV_CSR_ALG1),
            Variant::plain("cusparse:csr_alg2_plain", SpmvAlgorithm::CUSPARSE_SPMV_CSR_ALG2),
        ],
    ),
    (
        Format::Coo,
        &[
            Variant::plain("cusparse:coo_alg1", SpmvAlgorithm::CUSPARSE_SPMV_COO_ALG1),
            Variant::plain("cusparse:coo_alg2", SpmvAlgorithm::CUSPARSE_SPMV_COO_ALG2),
        ],
    ),
    (Format::SlicedEll, &[Variant::plain("cusparse:sell_alg1", SpmvAlgorithm::CUSPARSE_SPMV_SELL_ALG1)]),
    (Format::Blocks, &[Variant::plain("cusparse:bsr", SpmvAlgorithm::CUSPARSE_SPMV_ALG_DEFAULT)]),
];

const SPMM: [(Format, &[Variant<SpmmAlgorithm>]); 3] = [
    (
        Format::Csr,
        &[
            Variant::preprocessed("cusparse:default", SpmmAlgorithm::CUSPARSE_SPMM_ALG_DEFAULT),
            Variant::preprocessed("cusparse:csr_alg1", SpmmAlgorithm::CUSPARSE_SPMM_CSR_ALG1),
            Variant::preprocessed("cusparse:csr_alg2", SpmmAlgorithm::CUSPARSE_SPMM_CSR_ALG2),
            Variant::preprocessed("cusparse:csr_alg3", SpmmAlgorithm::CUSPARSE_SPMM_CSR_ALG3),
        ],
    ),
    (
        Format::Coo,
        &[
            Variant::plain("cusparse:coo_alg1", SpmmAlgorithm::CUSPARSE_SPMM_COO_ALG1),
            Variant::plain("cusparse:coo_alg2", SpmmAlgorithm::CUSPARSE_SPMM_COO_ALG2),
            Variant::plain("cusparse:coo_alg3", SpmmAlgorithm::CUSPARSE_SPMM_COO_ALG3),
            Variant::plain("cusparse:coo_alg4", SpmmAlgorithm::CUSPARSE_SPMM_COO_ALG4),
        ],
    ),
    (Format::Blocks, &[Variant::plain("cusparse:bsr", SpmmAlgorithm::CUSPARSE_SPMM_ALG_DEFAULT)]),
];

pub(super) fn spmv<'a, T: Scalar>(
    library: &'a Cusparse,
    a: &'a Csr<T, Device>,
    x: View<'a, T>,
) -> Vec<Product<'a, T>> {
    products(library, a, &SPMV, |stored, variant| {
        let (plan, seconds) = planned(&library.device, || Spmv::new(library, stored, variant))?;
        Ok(Product::new(variant.name, seconds, move |y| plan.run(x, y)))
    })
}

pub(super) fn spmm<'a, T: Scalar>(
    library: &'a Cusparse,
    a: &'a Csr<T, Device>,
    b: DenseView<'a, T, Device>,
) -> Vec<Product<'a, T>> {
    products(library, a, &SPMM, |stored, variant| {
        let (plan, seconds) = planned(&library.device, || Spmm::new(library, stored, &b, variant))?;
        Ok(Product::new(variant.name, seconds, move |c| plan.run(c)))
    })
}

/// A product by each algorithm for each format that fits the matrix; refusals of the library are printed.
fn products<'a, T: Scalar, A: Copy>(
    library: &'a Cusparse,
    a: &'a Csr<T, Device>,
    formats: &[(Format, &[Variant<A>])],
    product: impl Fn(&Rc<Stored<'a, T>>, Variant<A>) -> Result<Product<'a, T>>,
) -> Vec<Product<'a, T>> {
    let mut products = vec![];
    for &(format, variants) in formats {
        let stored = available(format.name(), Stored::new(library, a, format)).flatten();
        let Some(stored) = stored.map(Rc::new) else { continue };
        let made = variants.iter().map(|&variant| (variant.name, product(&stored, variant)));
        products.extend(made.filter_map(|(name, made)| available(name, made)));
    }
    products
}

/// `y = A·x`.
pub(super) struct Spmv<'a, T: Scalar> {
    library: &'a Cusparse,
    scalars: Scalars<T>,
    /// The memory that the descriptor names.
    _stored: Rc<Stored<'a, T>>,
    a: SparseMatrix,
    x: Vector,
    y: Vector,
    algorithm: SpmvAlgorithm,
    workspace: Buffer<u8>,
}

impl<'a, T: Scalar> Spmv<'a, T> {
    /// A prepared product; the vectors of the preparation are freed.
    pub(super) fn new(
        library: &'a Cusparse,
        stored: &Rc<Stored<'a, T>>,
        Variant { algorithm, preprocess, .. }: SpmvVariant,
    ) -> Result<Self> {
        let (device, matrix) = (&library.device, stored.csr());
        let (input, output) = (device.zeros::<T>(matrix.ncols())?, device.zeros::<T>(matrix.nrows())?);
        let (x, y) = (Vector::new(&Device::view(&input))?, Vector::new(&Device::view(&output))?);
        let (a, _stored) = (stored.describe()?, stored.clone());
        let scalars = Scalars::<T>::new();
        let (alpha, beta, value) = scalars.arguments()?;
        let handle = library.handle;
        // SAFETY: handle and descriptors are alive; the operands are of one type, with lengths that fit.
        let workspace = library.workspace("cusparseSpMV_bufferSize", |size| unsafe {
            sys::cusparseSpMV_bufferSize(handle, PLAIN, alpha, a.0, x.0, beta, y.0, value, algorithm, size)
        })?;
        if preprocess {
            let buffer = start(&workspace);
            // SAFETY: as above; the workspace has the size that was asked for; the vectors are freed after this work,
            // in stream order.
            let status = unsafe {
                sys::cusparseSpMV_preprocess(
                    handle, PLAIN, alpha, a.0, x.0, beta, y.0, value, algorithm, buffer,
                )
            };
            check("cusparseSpMV_preprocess", status)?;
        }
        Ok(Self { library, scalars, _stored, a, x, y, algorithm, workspace })
    }

    /// Multiplies: `x` has an element for each column, `y` for each row.
    pub(super) fn run(&self, x: View<'_, T>, y: ViewMut<'_, T>) -> Result<()> {
        self.x.set(&x)?;
        self.y.set(&Device::as_shared(&y))?;
        let Self { a, x, y, algorithm, .. } = self;
        let (alpha, beta, value) = self.scalars.arguments()?;
        let (handle, buffer) = (self.library.handle, start(&self.workspace));
        // SAFETY: as in `new`; the matrix is borrowed, and the vectors have the lengths that were prepared for.
        let status = unsafe {
            sys::cusparseSpMV(handle, PLAIN, alpha, a.0, x.0, beta, y.0, value, *algorithm, buffer)
        };
        check("cusparseSpMV", status)
    }
}

/// `C = A·B`, both by rows.
struct Spmm<'a, T: Scalar> {
    library: &'a Cusparse,
    scalars: Scalars<T>,
    /// The memory that the descriptor names.
    _stored: Rc<Stored<'a, T>>,
    a: SparseMatrix,
    b: DenseMatrix,
    c: DenseMatrix,
    algorithm: SpmmAlgorithm,
    workspace: Buffer<u8>,
}

impl<'a, T: Scalar> Spmm<'a, T> {
    fn new(
        library: &'a Cusparse,
        stored: &Rc<Stored<'a, T>>,
        b: &DenseView<'a, T, Device>,
        Variant { algorithm, preprocess, .. }: Variant<SpmmAlgorithm>,
    ) -> Result<Self> {
        let (device, rows, columns) = (&library.device, stored.csr().nrows(), b.ncols());
        let output = device.zeros::<T>(rows * columns)?;
        let output = DenseView::new(Device::view(&output), rows, columns, columns, Order::RowMajor)?;
        let (a, b, c) = (stored.describe()?, DenseMatrix::new(b)?, DenseMatrix::new(&output)?);
        let _stored = stored.clone();
        let scalars = Scalars::<T>::new();
        let (alpha, beta, value) = scalars.arguments()?;
        let handle = library.handle;
        // SAFETY: handle and descriptors are alive; the operands are of one type, with shapes that fit.
        let workspace = library.workspace("cusparseSpMM_bufferSize", |size| unsafe {
            sys::cusparseSpMM_bufferSize(
                handle, PLAIN, PLAIN, alpha, a.0, b.0, beta, c.0, value, algorithm, size,
            )
        })?;
        if preprocess {
            let buffer = start(&workspace);
            // SAFETY: as above; the workspace has the size that was asked for; the output is freed after this work, in
            // stream order.
            let status = unsafe {
                sys::cusparseSpMM_preprocess(
                    handle, PLAIN, PLAIN, alpha, a.0, b.0, beta, c.0, value, algorithm, buffer,
                )
            };
            check("cusparseSpMM_preprocess", status)?;
        }
        Ok(Self { library, scalars, _stored, a, b, c, algorithm, workspace })
    }

    fn run(&self, c: ViewMut<'_, T>) -> Result<()> {
        // SAFETY: the descriptor is alive.
        let status = unsafe { sys::cusparseDnMatSetValues(self.c.0, pointer(&Device::as_shared(&c))) };
        check("cusparseDnMatSetValues", status)?;
        let Self { a, b, c, algorithm, .. } = self;
        let (alpha, beta, value) = self.scalars.arguments()?;
        let (handle, buffer) = (self.library.handle, start(&self.workspace));
        // SAFETY: as in `new`; A and B are borrowed, C has the shape of the output there.
        let status = unsafe {
            sys::cusparseSpMM(handle, PLAIN, PLAIN, alpha, a.0, b.0, beta, c.0, value, *algorithm, buffer)
        };
        check("cusparseSpMM", status)
    }
}
