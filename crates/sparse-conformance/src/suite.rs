//! What a backend has: the subjects that it registers, and the failures that are known.

use crate::build::{Build, On};
use crate::check::spmv::SpmvSubject;
use crate::memory::Cell;
use crate::subject::{Key, Subject};
use sparse_core::op::{AllTypes, FullBackend, SpmvKernel, VectorKernel};
use sparse_core::reference::Reference;
use sparse_core::{
    Backend, BatchCsc, BatchCsr, Caps, Coo, Csc, Csr, Ell, Host, Hyb, Index, Scalar, Sell, bf16, c32, c64,
    f16,
};

/// The operations of one backend, ready to be tested.
///
/// A backend that has everything is [`full`](Self::full); another starts with [`new`](Self::new) and adds what it has.
pub struct Suite {
    caps: Caps,
    subjects: Vec<Box<dyn Subject>>,
    expectations: Vec<Expectation>,
}

/// A failure that is known.
#[derive(Debug, Clone)]
struct Expectation {
    pattern: String,
    types: String,
    reason: String,
}

impl Suite {
    /// A backend without operations.
    pub fn new(backend: &impl Backend) -> Self {
        Self { caps: backend.caps().clone(), subjects: vec![], expectations: vec![] }
    }

    /// A backend with every operation for every type.
    pub fn full<B: AllTypes>(backend: &B) -> Self {
        let mut suite = Self::new(backend);
        macro_rules! register {
            ($(($t:ty, $i:ty, $o:ty)),*) => {
                $(suite.register::<B, $t, $i, $o>(backend);)*
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
        suite
    }

    /// The serial reference.
    pub fn reference() -> Self {
        Self::full(&Reference)
    }

    fn register<B, T, I, O>(&mut self, backend: &B)
    where
        B: FullBackend<T, I, O>,
        T: Scalar + Cell,
        I: Index,
        O: Index,
    {
        self.spmv::<B, Csr<T, Host, I, O>>(backend)
            .spmv::<B, Csc<T, Host, I, O>>(backend)
            .spmv::<B, Sell<T, Host, I, O>>(backend)
            .spmv::<B, BatchCsr<T, Host, I, O>>(backend)
            .spmv::<B, BatchCsc<T, Host, I, O>>(backend);
        if I::NAME == O::NAME {
            self.register_without_offsets::<B, T, I, O>(backend);
        }
    }

    /// The formats without offsets, which would be the same subjects for every type of offset.
    fn register_without_offsets<B, T, I, O>(&mut self, backend: &B)
    where
        B: FullBackend<T, I, O>,
        T: Scalar + Cell,
        I: Index,
        O: Index,
    {
        self.spmv::<B, Coo<T, Host, I>>(backend)
            .spmv::<B, Ell<T, Host, I>>(backend)
            .spmv::<B, Hyb<T, Host, I>>(backend);
    }

    /// SpMV in format `H`.
    pub fn spmv<B, H>(&mut self, backend: &B) -> &mut Self
    where
        B: SpmvKernel<On<B, H>> + VectorKernel<H::Scalar>,
        H: Build<Scalar: Cell>,
    {
        let key = Key::of::<H>("spmv");
        self.add(SpmvSubject::<B, H>::new(backend.clone(), key))
    }

    /// Any subject.
    pub fn add(&mut self, subject: impl Subject + 'static) -> &mut Self {
        self.subjects.push(Box::new(subject));
        self
    }

    /// A failure that is known: of the cases whose names start with `pattern` (`spmv/sell/`), for types that start
    /// with `types`. It is reported as expected, and as a failure once it passes.
    pub fn expect_failure(&mut self, pattern: &str, types: &str, reason: &str) -> &mut Self {
        let expectation = Expectation { pattern: pattern.into(), types: types.into(), reason: reason.into() };
        self.expectations.push(expectation);
        self
    }

    /// Why a case is expected to fail, if it is.
    pub(crate) fn expected_failure(&self, name: &str, types: &str) -> Option<&str> {
        let matching = |e: &&Expectation| name.starts_with(&e.pattern) && types.starts_with(&e.types);
        self.expectations.iter().find(matching).map(|e| e.reason.as_str())
    }

    /// What the backend is and can do.
    pub fn caps(&self) -> &Caps {
        &self.caps
    }

    /// Everything that is tested.
    pub fn subjects(&self) -> impl Iterator<Item = &dyn Subject> {
        self.subjects.iter().map(AsRef::as_ref)
    }

    /// The subject of the same operation, format and types as `key`.
    pub(crate) fn subject(&self, key: &Key) -> Option<&dyn Subject> {
        self.subjects().find(|subject| subject.key() == key)
    }
}
