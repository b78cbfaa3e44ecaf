//! Index types: the types of column indices and row offsets.

use crate::error::{Error, Result};
use crate::space::Element;
use std::fmt::Display;
use std::hash::Hash;

mod sealed {
    pub trait Sealed {}
    impl Sealed for i32 {}
    impl Sealed for i64 {}
}

/// A signed integer that stores row or column indices, or row offsets: `i32` or `i64`.
pub trait Index: Element + Ord + Hash + Display + sealed::Sealed {
    /// The name of the type, as in Rust.
    const NAME: &'static str;
    /// The largest index.
    const MAX: usize;
    /// The padding index of ELL and SELL: −1, as in cuSPARSE.
    const PADDING: Self;

    /// The index as a position. A negative index becomes larger than any length.
    fn as_usize(self) -> usize;

    /// The index as a signed number.
    fn as_i64(self) -> i64;

    /// `value` as an index, where the caller knows that it fits.
    fn cast(value: usize) -> Self;

    /// `value` as an index.
    ///
    /// # Errors
    /// [`Error::IndexOverflow`] if it does not fit; `what` names it.
    fn try_new(what: &str, value: usize) -> Result<Self> {
        if value > Self::MAX {
            return Err(Error::IndexOverflow { what: what.into(), value: value as u128, target: Self::NAME });
        }
        Ok(Self::cast(value))
    }
}

/// The reason why an index is not in `0..extent`: `-1 is negative`, `42 is not below 40`.
pub(crate) fn out_of_range<I: Display + PartialOrd + Default>(index: I, extent: usize) -> String {
    if index < I::default() {
        format!("{index} is negative")
    } else {
        format!("{index} is not below {extent}")
    }
}

macro_rules! impl_index {
    ($($t:ident),*) => {$(
        impl Index for $t {
            const NAME: &'static str = stringify!($t);
            const MAX: usize = $t::MAX as usize;
            const PADDING: Self = -1;

            #[inline(always)]
            fn as_usize(self) -> usize {
                self as usize
            }

            #[inline(always)]
            fn as_i64(self) -> i64 {
                i64::from(self)
            }

            #[inline(always)]
            fn cast(value: usize) -> Self {
                debug_assert!(value <= <Self as Index>::MAX);
                value as $t
            }
        }
    )*};
}

impl_index!(i32, i64);
