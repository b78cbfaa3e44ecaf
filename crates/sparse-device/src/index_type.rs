//! Index types at run time.

use sparse_core::{Index, Result};

/// An [`Index`] type at run time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IndexType {
    I32,
    I64,
}

impl IndexType {
    /// The type `I`.
    pub(crate) fn of<I: Index>() -> Self {
        if size_of::<I>() == 4 { Self::I32 } else { Self::I64 }
    }

    /// The narrowest type for positions below `n`, and for `n`.
    pub(crate) fn for_count(n: usize) -> Self {
        if i32::try_from(n).is_ok() { Self::I32 } else { Self::I64 }
    }

    /// The bytes of an index.
    pub(crate) fn bytes(self) -> usize {
        match self {
            Self::I32 => 4,
            Self::I64 => 8,
        }
    }

    /// The type's name in kernels.
    pub(crate) fn c_name(self) -> &'static str {
        match self {
            Self::I32 => "int",
            Self::I64 => "long",
        }
    }

    /// An error unless `value` fits; `what` names it.
    pub(crate) fn check(self, what: &str, value: usize) -> Result<()> {
        match self {
            Self::I32 => i32::try_new(what, value).map(drop),
            Self::I64 => i64::try_new(what, value).map(drop),
        }
    }
}
