//! Products of sparse matrices in CSR, from the last two factors on: by SpGEMM, which finds the pattern in every run,
//! and by SpGEMMreuse, which can keep it.

mod multiply;
mod reuse;

use super::descriptor::{SparseMatrix, made, start};
use super::library::{Cusparse, check};
use crate::conversion::{Arrays, Conversion, Convert};
use crate::value::Value;
use backend_cuda::Device;
use cudarc::cusparse::sys::{self, cusparseSpGEMMAlg_t as Algorithm, cusparseSpGEMMDescr_t as Descriptor};
use sparse_core::error::checked_product;
use sparse_core::{Csr, Element, Result, Scalar, space};
use sparse_device::Buffer;
use std::ffi::c_void;
use std::ptr;

/// The library's functions for a product whose pattern is unknown.
#[derive(Debug, Clone, Copy)]
enum Interface {
    SpGemm(Algorithm),
    SpGemmReuse(Algorithm),
}

/// The algorithms of SpGEMM.
const ALGORITHMS: [(&str, Algorithm); 3] = [
    ("cusparse:alg1", Algorithm::CUSPARSE_SPGEMM_ALG1),
    ("cusparse:alg2", Algorithm::CUSPARSE_SPGEMM_ALG2),
    ("cusparse:alg3", Algorithm::CUSPARSE_SPGEMM_ALG3),
];

/// The algorithms of SpGEMMreuse, the default first.
const REUSE_ALGORITHMS: [(&str, Algorithm); 2] = [
    ("cusparse:reuse", Algorithm::CUSPARSE_SPGEMM_DEFAULT),
    ("cusparse:reuse_deterministic", Algorithm::CUSPARSE_SPGEMM_CSR_ALG_DETERMINITIC),
];

impl Interface {
    fn multiply<T: Value>(
        self,
        library: &Cusparse,
        left: Factor<'_, T>,
        right: Factor<'_, T>,
    ) -> Result<Product<T>> {
        match self {
            Self::SpGemm(algorithm) => multiply::multiply(library, algorithm, left, right),
            Self::SpGemmReuse(algorithm) => reuse::Plan::new(library, algorithm, left, right)?.into_product(),
        }
    }
}

/// The product by each interface and algorithm, with all of its memory allocated in every run.
pub(super) fn first_calls<'a, T: Value>(
    library: &'a Cusparse,
    factors: &[&'a Csr<T, Device>],
) -> Vec<Conversion<'a, T>> {
    let conversion = |(name, interface)| {
        let factors = factors.to_vec();
        Conversion::new(name, move || Ok(FirstCall { library, factors, interface, made: None }))
    };
    let one_call = ALGORITHMS.map(|(name, algorithm)| (name, Interface::SpGemm(algorithm)));
    let reuse = REUSE_ALGORITHMS.map(|(name, algorithm)| (name, Interface::SpGemmReuse(algorithm)));
    one_call.into_iter().chain(reuse).map(conversion).collect()
}

/// The product whose patterns are known: every run computes its values.
pub(super) fn planned<'a, T: Value>(
    library: &'a Cusparse,
    factors: &[&'a Csr<T, Device>],
) -> Vec<Conversion<'a, T>> {
    let conversion = |(name, algorithm)| {
        let factors = factors.to_vec();
        let plan = move |left: Factor<'_, T>, right: Factor<'_, T>| {
            reuse::Plan::new(library, algorithm, left, right)
        };
        let plans = move || products(&factors, plan);
        Conversion::planned(name, &library.device, plans, |plans| KnownPatterns { library, plans })
    };
    REUSE_ALGORITHMS.into_iter().map(conversion).collect()
}

/// The products of the factors, from the last two on: each is the right factor of the next.
fn products<T: Value, P: AsRef<Product<T>>>(
    factors: &[&Csr<T, Device>],
    multiply: impl Fn(Factor<'_, T>, Factor<'_, T>) -> Result<P>,
) -> Result<Vec<P>> {
    let mut products: Vec<P> = vec![];
    let Some((last, others)) = factors.split_last() else { return Ok(products) };
    for left in others.iter().rev() {
        let right = products.last().map_or(Factor::of(last), |product| product.as_ref().as_factor());
        let product = multiply(Factor::of(left), right)?;
        products.push(product);
    }
    Ok(products)
}

/// A factor in CSR.
#[derive(Clone, Copy)]
struct Factor<'a, T: Scalar> {
    shape: (usize, usize),
    offsets: &'a Buffer<i32>,
    indices: &'a Buffer<i32>,
    values: &'a Buffer<T>,
}

impl<'a, T: Value> Factor<'a, T> {
    fn of(a: &'a Csr<T, Device>) -> Self {
        let shape = (a.nrows(), a.ncols());
        Self { shape, offsets: a.row_ptr(), indices: a.col_idx(), values: a.values() }
    }

    /// A descriptor, which must not be used after the arrays are dropped.
    fn describe(&self) -> Result<SparseMatrix> {
        let arrays = (start(self.offsets), start(self.indices), start(self.values));
        SparseMatrix::csr::<T>(self.shape, space::Buffer::len(self.indices), arrays)
    }
}

/// The arguments of every call: handle, algorithm, both factors, the product and the state.
type Handles = (
    sys::cusparseHandle_t,
    Algorithm,
    sys::cusparseSpMatDescr_t,
    sys::cusparseSpMatDescr_t,
    sys::cusparseSpMatDescr_t,
    Descriptor,
);

/// A product's matrices, and its state between calls.
struct Operation<'a> {
    library: &'a Cusparse,
    algorithm: Algorithm,
    left: SparseMatrix,
    right: SparseMatrix,
    product: SparseMatrix,
    state: State,
}

impl<'a> Operation<'a> {
    /// The product of the factors, whose arrays must outlive it, with its row offsets, which are not yet computed.
    fn new<T: Value>(
        library: &'a Cusparse,
        algorithm: Algorithm,
        left: Factor<'_, T>,
        right: Factor<'_, T>,
    ) -> Result<(Self, Offsets)> {
        let shape = (left.shape.0, right.shape.1);
        let offsets = Offsets { shape, buffer: uninitialized(&library.device, shape.0 + 1)? };
        let arrays = (start(&offsets.buffer), ptr::null_mut(), ptr::null_mut());
        let product = SparseMatrix::csr::<T>(shape, 0, arrays)?;
        let (left, right, state) = (left.describe()?, right.describe()?, State::new()?);
        Ok((Self { library, algorithm, left, right, product, state }, offsets))
    }
}

impl Operation<'_> {
    /// The arguments of every call.
    fn handles(&self) -> Handles {
        let Self { library, algorithm, left, right, product, state } = self;
        (library.handle, *algorithm, left.0, right.0, product.0, state.0)
    }
}

/// Row offsets of a product that is being computed.
struct Offsets {
    shape: (usize, usize),
    buffer: Buffer<i32>,
}

impl Offsets {
    /// The product with buffers for its entries, which the library has counted. `allocate` returns a buffer for the
    /// values.
    fn with_entries<T: Value>(
        self,
        Operation { library, product: descriptor, .. }: &Operation<'_>,
        allocate: impl FnOnce(usize) -> Result<Buffer<T>>,
    ) -> Result<Product<T>> {
        let Self { shape, buffer: offsets } = self;
        let (mut rows, mut cols, mut nnz) = (0, 0, 0);
        // SAFETY: the descriptor is alive, and the numbers are written by the call.
        let status =
            unsafe { sys::cusparseSpMatGetSize(descriptor.0, &raw mut rows, &raw mut cols, &raw mut nnz) };
        check("cusparseSpMatGetSize", status)?;
        let (indices, values) = (uninitialized(&library.device, nnz as usize)?, allocate(nnz as usize)?);
        // SAFETY: the descriptor is alive; the arrays have the sizes that it says.
        let status = unsafe {
            sys::cusparseCsrSetPointers(descriptor.0, start(&offsets), start(&indices), start(&values))
        };
        check("cusparseCsrSetPointers", status)?;
        Ok(Product { shape, offsets, indices, values })
    }
}

/// The arrays of a product.
struct Product<T: Scalar> {
    shape: (usize, usize),
    offsets: Buffer<i32>,
    indices: Buffer<i32>,
    values: Buffer<T>,
}

impl<T: Value> AsRef<Self> for Product<T> {
    fn as_ref(&self) -> &Self {
        self
    }
}

impl<T: Value> Product<T> {
    fn as_factor(&self) -> Factor<'_, T> {
        let Self { shape, offsets, indices, values } = self;
        Factor { shape: *shape, offsets, indices, values }
    }

    /// The arrays, with sorted rows, which the library does not promise.
    fn download(&self, device: &Device) -> Result<Arrays<T>> {
        Ok(Arrays::download(device, &self.offsets, &self.indices, &self.values)?.with_sorted_rows())
    }
}

/// The state of a product between its calls.
struct State(Descriptor);

impl State {
    fn new() -> Result<Self> {
        // SAFETY: the call writes the descriptor.
        let create = |made| unsafe { sys::cusparseSpGEMM_createDescr(made) };
        made("cusparseSpGEMM_createDescr", create).map(Self)
    }
}

impl Drop for State {
    fn drop(&mut self) {
        // SAFETY: the descriptor was made by `new` and is not used after this.
        let _ = unsafe { sys::cusparseSpGEMM_destroyDescr(self.0) };
    }
}

/// Makes a call twice: without a buffer, to get its size in bytes, and with a buffer of that size, which is returned.
fn with_workspace(
    device: &Device,
    mut call: impl FnMut(&mut usize, *mut c_void) -> Result<()>,
) -> Result<Buffer<u8>> {
    let mut bytes = 0;
    call(&mut bytes, ptr::null_mut())?;
    let workspace = uninitialized(device, bytes)?;
    call(&mut bytes, start(&workspace))?;
    Ok(workspace)
}

/// A buffer of arbitrary contents, as the library's users allocate it: the library writes it before it reads it. It is
/// allocated and freed in order with the work of the library.
fn uninitialized<T: Element>(device: &Device, len: usize) -> Result<Buffer<T>> {
    let bytes = checked_product("length x size of an element", len, size_of::<T>())?;
    let memory = device.driver().allocate(bytes)?;
    // SAFETY: the memory is the device's, in whole words of at least as many bytes, whose contents, whatever they are,
    // are elements.
    Ok(unsafe { device.adopt(memory, len) })
}

/// The product without anything known before.
struct FirstCall<'a, T: Value> {
    library: &'a Cusparse,
    factors: Vec<&'a Csr<T, Device>>,
    interface: Interface,
    /// The product of the last run.
    made: Option<Product<T>>,
}

impl<T: Value> Convert<T> for FirstCall<'_, T> {
    fn run(&mut self) -> Result<Option<f64>> {
        self.made = None;
        let multiply =
            |left: Factor<'_, T>, right: Factor<'_, T>| self.interface.multiply(self.library, left, right);
        self.made = products(&self.factors, multiply)?.pop();
        Ok(None)
    }

    fn arrays(&mut self) -> Result<Arrays<T>> {
        let download = |product: &Product<T>| product.download(&self.library.device);
        self.made.as_ref().map_or(Ok(Arrays::default()), download)
    }
}

/// The product with a plan for each multiplication.
struct KnownPatterns<'a, T: Value> {
    library: &'a Cusparse,
    plans: Vec<reuse::Plan<'a, T>>,
}

impl<T: Value> Convert<T> for KnownPatterns<'_, T> {
    fn run(&mut self) -> Result<Option<f64>> {
        self.plans.iter().try_for_each(reuse::Plan::compute)?;
        Ok(None)
    }

    fn arrays(&mut self) -> Result<Arrays<T>> {
        let download = |plan: &reuse::Plan<'_, T>| plan.as_ref().download(&self.library.device);
        self.plans.last().map_or(Ok(Arrays::default()), download)
    }
}
