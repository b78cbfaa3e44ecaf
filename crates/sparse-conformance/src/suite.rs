//! Suites: the subjects of a backend, and its known failures.

use crate::filter::Filter;
use crate::key::Key;
use crate::subject::Subject;
use sparse_core::Caps;
use std::collections::BTreeSet;

/// The operations of one backend that are tested.
///
/// [`full`](Self::full) is for a backend with all operations; others start with [`new`](Self::new) and add theirs.
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
    /// A suite without subjects.
    pub(crate) fn empty(caps: Caps) -> Self {
        Self { caps, subjects: vec![], expectations: vec![] }
    }

    /// Adds a subject.
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

    /// Removes what `filter` leaves out, and all but part number `part` of `parts`. The subjects of one type of values
    /// are divided in the order of their names, so that most formats of an operation stay together: they have kernels
    /// in common, which each process that runs one of them compiles. The first part of each type is another one's.
    pub fn keep_part(&mut self, filter: &Filter, part: usize, parts: usize) {
        self.subjects.retain(|subject| filter.takes_key(subject.key()));
        let names: BTreeSet<_> = self.subjects().map(|subject| subject.key().name()).collect();
        let dtypes: BTreeSet<_> = self.subjects().map(|subject| subject.key().dtype.to_string()).collect();
        let part_of = |key: &Key| {
            let name = names.range(..key.name()).count();
            let dtype = dtypes.range(..key.dtype.to_string()).count();
            (name * parts / names.len() + dtype) % parts.max(1)
        };
        self.subjects.retain(|subject| part_of(subject.key()) == part);
    }

    /// Removes and returns all subjects.
    pub(crate) fn take_subjects(&mut self) -> Vec<Box<dyn Subject>> {
        std::mem::take(&mut self.subjects)
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
