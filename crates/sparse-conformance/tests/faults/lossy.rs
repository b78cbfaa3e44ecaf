//! The CPU backend whose matrices lack an entry: a fault that applies to every operation on a sparse matrix.

use backend_cpu::Cpu;
use sparse_conformance::{Check, Given, Key, Setting, Subject, Suite, Triplets};
use sparse_core::{Algorithm, Result};

/// Every operation of the CPU backend, each on matrices without their last entry.
pub(crate) fn suite(cpu: &Cpu) -> Suite {
    let mut lossy = Suite::new(cpu);
    // Leaked, since subjects borrow their suite; it is small.
    let sound: &'static Suite = Box::leak(Box::new(super::all_operations(cpu)));
    for subject in sound.subjects().filter(|subject| subject.key().op != "rule") {
        lossy.add(Lossy(subject));
    }
    lossy
}

/// A subject on matrices without their last entry.
struct Lossy(&'static dyn Subject);

impl Subject for Lossy {
    fn key(&self) -> &Key {
        self.0.key()
    }

    fn check(&self) -> &'static dyn Check {
        self.0.check()
    }

    fn algorithms(&self, setting: &Setting) -> &'static [Algorithm] {
        self.0.algorithms(setting)
    }

    fn given<'a>(&'a self, matrix: &'a Triplets) -> Result<Box<dyn Given + 'a>> {
        let mut matrix = matrix.clone();
        matrix.entries.pop();
        // Leaked, since the result borrows the matrix; it is small.
        self.0.given(Box::leak(Box::new(matrix)))
    }
}
