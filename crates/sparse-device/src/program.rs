//! Kernels, compiled once for each set of defines.

use crate::{Driver, Kernel, Program, Properties};
use sparse_core::op::Op;
use sparse_core::{DType, Error, Index, Result};
use std::collections::HashMap;
use std::fmt::{self, Display};
use std::sync::{Mutex, MutexGuard, PoisonError};

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

/// The key of a program: its file and macros.
type ProgramKey = (&'static str, Defines);

/// The key of a kernel: its program and name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct KernelKey {
    program: ProgramKey,
    entry: &'static str,
}

/// The compiled programs and kernels of a device.
#[derive(Debug, Default)]
pub(crate) struct Programs {
    programs: Mutex<HashMap<ProgramKey, Program>>,
    kernels: Mutex<HashMap<KernelKey, Kernel>>,
}

impl Programs {
    /// A kernel of the driver's; compiles it at the first call.
    pub(crate) fn kernel(
        &self,
        driver: &dyn Driver,
        file: &'static str,
        entry: &'static str,
        defines: Defines,
    ) -> Result<Kernel> {
        let key = KernelKey { program: (file, defines), entry };
        if let Some(kernel) = lock(&self.kernels).get(&key) {
            return Ok(kernel.clone());
        }
        let program = self.program(driver, &key.program)?;
        let kernel = driver.kernel(&program, entry)?;
        lock(&self.kernels).insert(key, kernel.clone());
        Ok(kernel)
    }

    fn program(&self, driver: &dyn Driver, key: &ProgramKey) -> Result<Program> {
        let mut programs = lock(&self.programs);
        if let Some(program) = programs.get(key) {
            return Ok(program.clone());
        }
        let Properties { caps, files, .. } = driver.properties();
        let file = files.iter().find(|file| file.stem() == key.0).ok_or_else(|| {
            Error::unsupported(
                format!("{} on {}", key.0, caps.backend),
                "it has no file of kernels of this name",
            )
        })?;
        debug_assert!(file.accepts(key.1.iter()), "{} has no defines {}", file.name, key.1);
        let program = driver.build(file, &key.1)?;
        programs.insert(key.clone(), program.clone());
        Ok(program)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernels_core::{File, table};
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
