//! All operations of a backend together, for the command, the conformance table and generic code.

use super::*;
use crate::backend::{Backend, SpaceOf};
use crate::format::{BatchCsc, BatchCsr, Coo, Csc, Csr, Ell, Hyb, Sell};
use crate::index::Index;
use crate::scalar::Scalar;
use crate::{for_all_types, for_each_operation};

macro_rules! full_backend {
    (
        formats { $($of:ident $of_name:ident $of_kernel:ident $of_title:literal {
            $($($format:ident<$($index:ident),+>)=>+),+
        })+ }
        types { $($on:ident $on_name:ident $on_kernel:ident $on_title:literal { $($parameter:ident),+ })+ }
        elements { $($elements:tt)+ }
    ) => {
        /// Every operation for one triple of value, index and offset type.
        pub trait FullBackend<T: Scalar, I: Index, O: Index>: Backend
            $($(+ $of_kernel<$($format<T, SpaceOf<Self>, $($index),+>),+>)+)+
            $(+ $on_kernel<$($parameter),+>)+
        {
        }

        impl<B, T: Scalar, I: Index, O: Index> FullBackend<T, I, O> for B
        where
            B: Backend
                $($(+ $of_kernel<$($format<T, SpaceOf<Self>, $($index),+>),+>)+)+
                $(+ $on_kernel<$($parameter),+>)+
        {
        }
    };
}

for_each_operation!(full_backend);

macro_rules! element_operations {
    (
        formats { $($formats:tt)+ }
        types { $($types:tt)+ }
        elements { $($over:ident $over_name:ident $over_kernel:ident $over_title:literal { $($element:ty),+ })+ }
    ) => {
        /// Every operation on elements that are no values of a matrix.
        pub trait ElementOperations: Backend $($(+ $over_kernel<$element>)+)+ {}

        impl<B> ElementOperations for B where B: Backend $($(+ $over_kernel<$element>)+)+ {}
    };
}

for_each_operation!(element_operations);

macro_rules! all_types {
    ($(($t:ty, $i:ty, $o:ty)),* $(,)?) => {
        /// Every operation for every supported triple of types, and those on elements.
        pub trait AllTypes: $(FullBackend<$t, $i, $o> +)* ElementOperations {}

        impl<B> AllTypes for B where B: $(FullBackend<$t, $i, $o> +)* ElementOperations {}
    };
}

for_all_types!(all_types);

/// Run-time choice of a backend without trait objects below it: a visitor that is generic in the backend.
///
/// ```
/// use sparse_core::op::{AllTypes, WithBackend};
/// use sparse_core::{Backend, reference::Reference};
///
/// struct Name;
///
/// impl WithBackend for Name {
///     type Out = &'static str;
///
///     fn call<B: AllTypes>(self, backend: &B) -> Self::Out {
///         backend.caps().backend
///     }
/// }
///
/// assert_eq!(Name.call(&Reference), "reference");
/// # Ok::<(), sparse_core::Error>(())
/// ```
pub trait WithBackend {
    /// The visitor's result.
    type Out;

    /// Runs on the backend that was chosen.
    fn call<B: AllTypes>(self, backend: &B) -> Self::Out;
}
