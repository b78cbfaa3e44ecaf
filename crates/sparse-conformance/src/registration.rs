//! Registration of a backend's operations as subjects of a suite, by the catalogue. The method of [`Suite`] for an
//! operation is in the file of its check.

use crate::check::rule::RuleSubject;
use crate::guarded_operand::Cell;
use crate::suite::Suite;
use sparse_core::op::{AllTypes, ElementOperations, FullBackend};
use sparse_core::reference::Reference;
use sparse_core::{
    Backend, BatchCsc, BatchCsr, Coo, Csc, Csr, Ell, Host, Hyb, Index, Scalar, Sell, for_all_types,
    for_each_operation,
};

impl Suite {
    /// A backend without operations.
    pub fn new(backend: &impl Backend) -> Self {
        let mut suite = Self::empty(backend.caps().clone());
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
}

/// True for one of the triples of types that agree in the parameters of these names: a format without offsets is the
/// same subject for every type of offset.
fn is_told_apart<I: Index, O: Index>(parameters: &[&str]) -> bool {
    let has = |name| parameters.contains(&name);
    (has("O") || O::NAME == I::NAME) && (has("I") || I::NAME == i32::NAME)
}
