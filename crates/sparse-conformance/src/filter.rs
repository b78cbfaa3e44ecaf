//! The part of the table that is run.

use crate::case::{Case, Tier};
use crate::key::Key;
use crate::subject::Subject;
use sparse_core::{Algorithm, DType};

/// The part of the table to run.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// The last tier to run.
    pub tier: Tier,
    /// An operation, or an operation and a format: `spmv`, `spmv/csr`.
    pub op: Option<String>,
    /// A part of the case's name; `*` matches anything.
    pub case: Option<String>,
    /// Prefixes of the names of types: `f64`, `f32,i32,i32`; without any, all types. What has no types always runs.
    pub types: Vec<String>,
    /// The name of an algorithm; without it all run, and the plan's own choice.
    pub algorithm: Option<String>,
}

impl Filter {
    pub(crate) fn takes_case(&self, case: &Case) -> bool {
        case.tier <= self.tier && self.case.as_ref().is_none_or(|pattern| matches(pattern, &case.name))
    }

    /// True if the tier includes the subject for this case: the quick tier takes 64-bit indices with one type of
    /// values, and so does the next for cases that are large or not quick, which have one type of each width and kind;
    /// the tiny one takes no other type at all. Kernels take compressed columns for the rows of the transpose, so that
    /// the tiny tier has none, and the quick one a real and a complex type.
    pub(crate) fn takes_subject(&self, subject: &dyn Subject, case: &Case) -> bool {
        let key = subject.key();
        let (narrow, one) = (key.is_narrow(), key.dtype == DType::F64);
        let types = match self.tier {
            Tier::Tiny => narrow && one && !key.is_by_columns(),
            Tier::Quick => one || narrow && (!key.is_by_columns() || key.dtype == DType::C64),
            Tier::Ci if !case.large && case.tier < Tier::Ci => true,
            Tier::Ci => one || narrow && !matches!(key.dtype, DType::Bf16 | DType::C32),
            Tier::Nightly => true,
        };
        types && self.takes_key(key)
    }

    /// True if the operation and the types are among those that are named.
    pub(crate) fn takes_key(&self, key: &Key) -> bool {
        let any = self.types.is_empty() || key.types.is_empty();
        let is_named = any || self.types.iter().any(|start| key.types.starts_with(start));
        is_named && self.op.as_ref().is_none_or(|op| *op == key.op || *op == key.name())
    }

    pub(crate) fn takes_algorithm(&self, algorithm: Option<&Algorithm>) -> bool {
        self.algorithm.as_ref().is_none_or(|name| algorithm.is_some_and(|algorithm| algorithm.name == *name))
    }
}

/// True if the parts of `pattern` between its stars occur in `name`, one after the other.
fn matches(pattern: &str, name: &str) -> bool {
    let mut rest = name;
    pattern.split('*').all(|part| match rest.find(part) {
        Some(at) => {
            rest = &rest[at + part.len()..];
            true
        }
        None => false,
    })
}
