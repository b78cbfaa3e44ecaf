//! The macros of kernel files.

use crate::index_type::IndexType;
use sparse_core::DType;
use sparse_core::op::Op;
use std::fmt::{self, Display};

/// The macros of a file and their values, in order of their names. They display as a compiler's options.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Defines(Vec<(&'static str, String)>);

impl Defines {
    /// Adds a macro.
    pub fn set(mut self, name: &'static str, value: impl ToString) -> Self {
        let at = self.0.partition_point(|&(before, _)| before < name);
        self.0.insert(at, (name, value.to_string()));
        self
    }

    /// The names and values.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.0.iter().map(|(name, value)| (*name, value.as_str()))
    }

    pub(crate) fn scalar(self, dtype: DType) -> Self {
        self.set("SCALAR", dtype.name().to_uppercase())
    }

    pub(crate) fn index(self, index: IndexType) -> Self {
        self.set("IDX", index.c_name())
    }

    pub(crate) fn offset(self, offset: IndexType) -> Self {
        self.set("OFF", offset.c_name())
    }

    /// Sets `CONJ`: true if entries are conjugated, which real values never are.
    pub(crate) fn conj(self, dtype: DType, op: Op) -> Self {
        self.set("CONJ", u8::from(op == Op::ConjugateTranspose && dtype.is_complex()))
    }
}

impl Display for Defines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, (name, value)) in self.iter().enumerate() {
            let space = if position == 0 { "" } else { " " };
            write!(f, "{space}-D {name}={value}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernels_core::{File, table};
    use sparse_core::Index;
    use sparse_core::catalog::Types;
    use std::collections::BTreeSet;

    #[test]
    fn defines_are_sorted_whatever_the_order_of_setting() {
        let one = Defines::default().scalar(DType::C32).index(IndexType::I32).offset(IndexType::I64);
        let other = Defines::default().offset(IndexType::I64).scalar(DType::C32).index(IndexType::I32);
        assert_eq!(one, other);
        assert_eq!(one.to_string(), "-D IDX=int -D OFF=long -D SCALAR=C32");
    }

    #[test]
    fn kernels_are_made_for_the_types_of_the_catalogue() {
        let defines = &[table::SCALAR, table::IDX, table::OFF];
        let file = File { name: "typed.cl", entries: &[], defines, needs: &[], text: "", headers: &[] };
        let variants = file.variants();
        let values = variants.iter().map(|variant| variant.iter().map(|(_, value)| *value).collect());
        let made_for: BTreeSet<Vec<&str>> = values.collect();
        let scalars = Types::ALL.iter().map(|types| types.value.name().to_uppercase()).collect::<Vec<_>>();
        let c_name =
            |index: &str| if index == i32::NAME { IndexType::I32.c_name() } else { IndexType::I64.c_name() };
        let listed = Types::ALL.iter().zip(&scalars);
        let listed = listed.map(|(t, scalar)| vec![scalar.as_str(), c_name(t.index), c_name(t.offset)]);
        assert_eq!(made_for, listed.collect());
    }

    #[test]
    fn only_complex_values_are_conjugated() {
        assert_eq!(Defines::default().conj(DType::F64, Op::ConjugateTranspose).to_string(), "-D CONJ=0");
        assert_eq!(Defines::default().conj(DType::C64, Op::ConjugateTranspose).to_string(), "-D CONJ=1");
        assert_eq!(Defines::default().conj(DType::C64, Op::Transpose).to_string(), "-D CONJ=0");
    }
}
