//! Suites: the subjects of a backend, and its known failures. The method of [`Suite`] that registers an operation is
//! beside the operation's check.

use crate::check::rule::RuleSubject;
use crate::guarded_operand::Cell;
use crate::subject::{Key, Subject};
use sparse_core::op::{AllTypes, ElementOperations, FullBackend};
use sparse_core::reference::Reference;
use sparse_core::{
    Backend, BatchCsc, BatchCsr, Caps, Coo, Csc, Csr, Ell, Host, Hyb, Index, Scalar, Sell, for_all_types,
    for_each_operation,
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
            ($(($t:ty, $i:ty, $o:ty)),* $(,)?) => {
                $(suite.all_operations::<B, $t, $i, $o>(backend);)*
            };
        }
        for_all_types!(register);
        suite.element_operations(backend);
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
        macro_rules! register {
            (
                formats { $($of:ident $of_name:ident $of_kernel:ident $of_title:literal {
                    $($($format:ident<$($index:ident),+>)=>+),+
                })+ }
                types { $($on:ident $on_name:ident $on_kernel:ident $on_title:literal { $($parameter:ident),+ })+ }
                elements { $($elements:tt)+ }
            ) => {
                $($(if is_told_apart::<I, O>(&[$($(stringify!($index)),+),+]) {
                    self.$of_name::<B, $($format<T, Host, $($index),+>),+>(backend);
                })+)+
                $(if is_told_apart::<I, O>(&[$(stringify!($parameter)),+]) {
                    self.$on_name::<B, $($parameter),+>(backend);
                })+
            };
        }
        for_each_operation!(register);
        self
    }

    /// Every operation on elements that are no values of a matrix.
    fn element_operations<B: ElementOperations>(&mut self, backend: &B) {
        macro_rules! register {
            (
                formats { $($formats:tt)+ }
                types { $($types:tt)+ }
                elements { $($over:ident $over_name:ident $over_kernel:ident $over_title:literal { $($element:ty),+ })+ }
            ) => {
                $($(self.$over_name::<B, $element>(backend);)+)+
            };
        }
        for_each_operation!(register);
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

/// True for one of the triples of types that agree in the parameters of these names: a format without offsets is the same
/// subject for every type of offset.
fn is_told_apart<I: Index, O: Index>(parameters: &[&str]) -> bool {
    let has = |name| parameters.contains(&name);
    (has("O") || O::NAME == I::NAME) && (has("I") || I::NAME == i32::NAME)
}
