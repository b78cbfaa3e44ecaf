//! Suites: the subjects of a backend, and its known failures.

use crate::build::{Build, On};
use crate::check::convert::{ConvertTo, Layout};
use crate::check::dense_to_csr::DenseSubject;
use crate::check::gradient_step::GradientSubject;
use crate::check::prune::Prune;
use crate::check::row_statistics::RowStatistics;
use crate::check::rule::RuleSubject;
use crate::check::scan::ScanSubject;
use crate::check::sort::Sort;
use crate::check::spmm::Spmm;
use crate::check::spmv::Spmv;
use crate::check::to_dense::ToDense;
use crate::check::vector::{VectorOp, VectorSubject};
use crate::guarded_operand::Cell;
use crate::matrix_subject::MatrixSubject;
use crate::subject::{Key, Subject};
use sparse_core::op::{
    AllTypes, Conversion, ConvertKernel, DenseToCsrKernel, FullBackend, PruneKernel, RowStatisticsKernel,
    ScanElement, ScanKernel, SortKernel, SpmmKernel, SpmvKernel, ToDenseKernel, VectorKernel,
};
use sparse_core::reference::Reference;
use sparse_core::{
    Backend, BatchCsc, BatchCsr, Caps, Col, Coo, Csc, Csr, Ell, Host, Hyb, Index, Row, Scalar, Sell, SpaceOf,
    bf16, c32, c64, f16,
};
use std::collections::BTreeSet;

/// The operations of one backend, ready to be tested.
///
/// A backend that has everything is [`full`](Self::full); another starts with [`new`](Self::new) and adds its
/// operations.
pub struct Suite {
    caps: Caps,
    subjects: Vec<Box<dyn Subject>>,
    expectations: Vec<Expectation>,
}

/// A known failure.
#[derive(Debug, Clone)]
struct Expectation {
    pattern: String,
    types: String,
    reason: String,
}

impl Suite {
    /// A backend without operations.
    pub fn new(backend: &impl Backend) -> Self {
        let mut suite = Self { caps: backend.caps().clone(), subjects: vec![], expectations: vec![] };
        suite.add(RuleSubject::new(backend.clone()));
        suite
    }

    /// A backend with every operation for every type.
    pub fn full<B: AllTypes>(backend: &B) -> Self {
        let mut suite = Self::new(backend);
        macro_rules! register {
            ($(($t:ty, $i:ty, $o:ty)),*) => {
                $(suite.all_operations::<B, $t, $i, $o>(backend);)*
            };
        }
        register!(
            (f64, i32, i32),
            (f64, i32, i64),
            (f64, i64, i64),
            (f32, i32, i32),
            (f32, i32, i64),
            (f32, i64, i64),
            (c64, i32, i32),
            (c64, i32, i64),
            (c64, i64, i64),
            (c32, i32, i32),
            (c32, i32, i64),
            (c32, i64, i64),
            (f16, i32, i32),
            (bf16, i32, i32)
        );
        suite.scan::<B, i32>(backend).scan::<B, i64>(backend);
        suite
    }

    /// The serial reference.
    pub fn reference() -> Self {
        Self::full(&Reference)
    }

    /// Every operation on values `T` with indices `I` and offsets `O`, in every format.
    pub fn all_operations<B, T, I, O>(&mut self, backend: &B) -> &mut Self
    where
        B: FullBackend<T, I, O>,
        T: Scalar + Cell,
        I: Index,
        O: Index,
    {
        self.products::<B, Csr<T, Host, I, O>>(backend)
            .products::<B, Csc<T, Host, I, O>>(backend)
            .products::<B, Sell<T, Host, I, O>>(backend)
            .spmv::<B, BatchCsr<T, Host, I, O>>(backend)
            .spmv::<B, BatchCsc<T, Host, I, O>>(backend)
            .convert::<B, Coo<T, Host, I>, Csr<T, Host, I, O>>(backend)
            .convert::<B, Coo<T, Host, I>, Csc<T, Host, I, O>>(backend)
            .convert::<B, Csr<T, Host, I, O>, Coo<T, Host, I>>(backend)
            .convert::<B, Csc<T, Host, I, O>, Coo<T, Host, I>>(backend)
            .convert::<B, Csr<T, Host, I, O>, Csc<T, Host, I, O>>(backend)
            .convert::<B, Csc<T, Host, I, O>, Csr<T, Host, I, O>>(backend)
            .convert::<B, Csr<T, Host, I, O>, Ell<T, Host, I>>(backend)
            .convert::<B, Csr<T, Host, I, O>, Hyb<T, Host, I>>(backend)
            .convert::<B, Csr<T, Host, I, O>, Sell<T, Host, I, O>>(backend)
            .convert::<B, Ell<T, Host, I>, Csr<T, Host, I, O>>(backend)
            .convert::<B, Hyb<T, Host, I>, Csr<T, Host, I, O>>(backend)
            .convert::<B, Sell<T, Host, I, O>, Csr<T, Host, I, O>>(backend)
            .rearrangements::<B, Csr<T, Host, I, O>>(backend)
            .rearrangements::<B, Csc<T, Host, I, O>>(backend)
            .row_statistics::<B, Csr<T, Host, I, O>>(backend)
            .dense_to_csr::<B, T, I, O>(backend);
        if I::NAME == O::NAME {
            self.operations_without_offsets::<B, T, I, O>(backend);
        }
        self
    }

    /// Registers the operations of formats without offsets, whose subjects are the same for every type of offset.
    fn operations_without_offsets<B, T, I, O>(&mut self, backend: &B)
    where
        B: FullBackend<T, I, O>,
        T: Scalar + Cell,
        I: Index,
        O: Index,
    {
        self.products::<B, Coo<T, Host, I>>(backend)
            .products::<B, Ell<T, Host, I>>(backend)
            .products::<B, Hyb<T, Host, I>>(backend)
            .rearrangements::<B, Coo<T, Host, I>>(backend);
        if I::NAME == i32::NAME {
            self.vector::<B, T>(backend);
        }
    }

    /// SpMV, SpMM and expansion in format `H`.
    fn products<B, H>(&mut self, backend: &B) -> &mut Self
    where
        B: SpmvKernel<On<B, H>> + SpmmKernel<On<B, H>> + ToDenseKernel<On<B, H>> + VectorKernel<H::Scalar>,
        H: Build<Scalar: Cell>,
    {
        self.spmv::<B, H>(backend).spmm::<B, H>(backend).to_dense::<B, H>(backend)
    }

    /// Sorting and pruning in format `H`.
    fn rearrangements<B, H>(&mut self, backend: &B) -> &mut Self
    where
        B: SortKernel<On<B, H>> + PruneKernel<On<B, H>>,
        H: Build,
    {
        self.sort::<B, H>(backend).prune::<B, H>(backend)
    }

    /// SpMV in format `H`.
    pub fn spmv<B, H>(&mut self, backend: &B) -> &mut Self
    where
        B: SpmvKernel<On<B, H>> + VectorKernel<H::Scalar>,
        H: Build<Scalar: Cell>,
    {
        self.add(MatrixSubject::<B, H>::new(backend, Key::of::<H>("spmv"), &Spmv))
    }

    /// SpMM in format `H`.
    pub fn spmm<B, H>(&mut self, backend: &B) -> &mut Self
    where
        B: SpmmKernel<On<B, H>> + VectorKernel<H::Scalar>,
        H: Build<Scalar: Cell>,
    {
        self.add(MatrixSubject::<B, H>::new(backend, Key::of::<H>("spmm"), &Spmm))
    }

    /// Expansion of format `H` to dense matrices.
    pub fn to_dense<B, H>(&mut self, backend: &B) -> &mut Self
    where
        B: ToDenseKernel<On<B, H>>,
        H: Build<Scalar: Cell>,
    {
        self.add(MatrixSubject::<B, H>::new(backend, Key::of::<H>("to_dense"), &ToDense))
    }

    /// Conversion between two formats.
    pub fn convert<B, From, To>(&mut self, backend: &B) -> &mut Self
    where
        B: ConvertKernel<On<B, From>, On<B, To>>,
        From: Build,
        To: Build,
        On<B, From>: Conversion<On<B, To>, Layout: Layout>,
    {
        self.add(MatrixSubject::<B, From>::new(
            backend,
            ConvertTo::<To>::key::<B, From>(),
            &ConvertTo::<To>::OPERATION,
        ))
    }

    /// Sorting in format `H`.
    pub fn sort<B: SortKernel<On<B, H>>, H: Build>(&mut self, backend: &B) -> &mut Self {
        self.add(MatrixSubject::<B, H>::new(backend, Key::of::<H>("sort"), &Sort))
    }

    /// Pruning in format `H`.
    pub fn prune<B: PruneKernel<On<B, H>>, H: Build>(&mut self, backend: &B) -> &mut Self {
        self.add(MatrixSubject::<B, H>::new(backend, Key::of::<H>("prune"), &Prune))
    }

    /// Statistics of the rows of format `H`.
    pub fn row_statistics<B: RowStatisticsKernel<On<B, H>>, H: Build>(&mut self, backend: &B) -> &mut Self {
        self.add(MatrixSubject::<B, H>::new(backend, Key::of::<H>("row_statistics"), &RowStatistics))
    }

    /// Dense to CSR, CSC and COO, and batches of the first two.
    pub fn dense_to_csr<B, T, I, O>(&mut self, backend: &B) -> &mut Self
    where
        B: DenseToCsrKernel<T, I, O> + ConvertKernel<Csr<T, SpaceOf<B>, I, O>, Coo<T, SpaceOf<B>, I>>,
        T: Scalar + Cell,
        I: Index,
        O: Index,
    {
        self.add(DenseSubject::<B, Row, T, I, O>::single(backend.clone()))
            .add(DenseSubject::<B, Col, T, I, O>::single(backend.clone()))
            .add(DenseSubject::<B, Row, T, I, O>::batch(backend.clone()))
            .add(DenseSubject::<B, Col, T, I, O>::batch(backend.clone()))
            .add(DenseSubject::<B, Row, T, I, O>::coo(backend.clone()))
    }

    /// Scans of `T`.
    pub fn scan<B: ScanKernel<T>, T: ScanElement + Cell>(&mut self, backend: &B) -> &mut Self {
        self.add(ScanSubject::<B, T>::new(backend.clone()))
    }

    /// Vector operations on `T`.
    pub fn vector<B: VectorKernel<T>, T: Scalar + Cell>(&mut self, backend: &B) -> &mut Self {
        for op in VectorOp::ALL {
            self.add(VectorSubject::<B, T>::new(backend.clone(), op));
        }
        self.add(GradientSubject::<B, T>::new(backend.clone()))
    }

    /// Any subject.
    pub fn add(&mut self, subject: impl Subject + 'static) -> &mut Self {
        self.subjects.push(Box::new(subject));
        self
    }

    /// Registers a known failure: of the cases whose names start with `pattern` (`spmv/sell/`), for types that start
    /// with `types`. It is reported as expected, and as a failure once it passes.
    pub fn expect_failure(&mut self, pattern: &str, types: &str, reason: &str) -> &mut Self {
        let expectation = Expectation { pattern: pattern.into(), types: types.into(), reason: reason.into() };
        self.expectations.push(expectation);
        self
    }

    /// The reason why a case is expected to fail, if it is.
    pub(crate) fn expected_failure(&self, name: &str, types: &str) -> Option<&str> {
        let matching = |e: &&Expectation| name.starts_with(&e.pattern) && types.starts_with(&e.types);
        self.expectations.iter().find(matching).map(|e| e.reason.as_str())
    }

    /// Removes all but part number `part` of `parts`. All subjects of one operation, format and type of values stay
    /// together: they have kernels in common, which each process that runs one of them compiles. Those of one type are
    /// spread over the parts, and so are those of one operation.
    pub fn keep_part(&mut self, part: usize, parts: usize) {
        let names: BTreeSet<_> = self.subjects().map(|subject| subject.key().name()).collect();
        let dtypes: BTreeSet<_> = self.subjects().map(|subject| subject.key().dtype.to_string()).collect();
        let part_of = |key: &Key| {
            let name = names.range(..key.name()).count();
            let dtype = dtypes.range(..key.dtype.to_string()).count();
            (name + dtype) % parts.max(1)
        };
        self.subjects.retain(|subject| part_of(subject.key()) == part);
    }

    /// Identity and abilities of the backend.
    pub fn caps(&self) -> &Caps {
        &self.caps
    }

    /// All subjects.
    pub fn subjects(&self) -> impl Iterator<Item = &dyn Subject> {
        self.subjects.iter().map(AsRef::as_ref)
    }

    /// The subject of the same operation, format and types as `key`.
    pub(crate) fn subject(&self, key: &Key) -> Option<&dyn Subject> {
        self.subjects().find(|subject| subject.key() == key)
    }
}
