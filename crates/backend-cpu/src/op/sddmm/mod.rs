//! `C ← alpha·P ∘ (U·Vᵀ) + beta·C`: chunks of entries of equal work, whatever the lengths of rows.
//!
//! A chunk finds its rows once. Each row of U is copied to a buffer of the accumulator's type, and every entry is a
//! scalar product of that buffer with a row of V. V by columns is first copied by rows where entries are at least as
//! many as rows of V; else each entry gathers its row. Memory traffic per entry: one index, two values (one without
//! P's), and a row of V, which comes from the cache where V fits it; U once.

mod entry_rows;
mod operand;
mod product;

use super::SEQUENTIAL;
use super::compiled::{find, sddmm_table};
use crate::Cpu;
use crate::primitive::update::Update;
use entry_rows::{EntryRows, MemberRows, Offsets, RowIndices};
use operand::Operand;
use product::Product;
use sparse_core::op::{AccOf, Sampling, SddmmKernel};
use sparse_core::reference::{self, Reference, SddmmChoice};
use sparse_core::{
    Algorithm, AlgorithmSet, Axis, BatchCompressed, Choice, Compressed, Coo, DenseView, EntryValues, Host,
    HostCsr, Index, KernelPlan, PlanOptions, Result, Scalar, algorithms,
};

algorithms! {
    /// The algorithms of all formats.
    pub enum SddmmAlgorithm {
        EntryChunks = Algorithm::new("entry_chunks", "always: chunks of entries, rows cut where they are long")
            .preprocessing("in a run a copy of V by rows, where it is stored by columns");
        Sequential = SEQUENTIAL;
    }
}

/// The plan of a sampled product.
#[derive(Debug)]
pub struct SddmmPlan<T> {
    algorithm: SddmmAlgorithm,
    reference: SddmmChoice,
    /// V by rows, from the first run that needs it on.
    packed: Vec<T>,
}

impl<T: Scalar> SddmmPlan<T> {
    pub(super) fn new(sampling: Sampling, options: &PlanOptions) -> Result<Self> {
        let (automatic, reason) = (SddmmAlgorithm::EntryChunks, "chunks of entries have equal work");
        let (algorithm, choice) = options.choose_among("sddmm", algorithms(), automatic, reason)?;
        Ok(Self { algorithm, reference: SddmmChoice { choice, sampling }, packed: vec![] })
    }
}

impl<T: Scalar> KernelPlan for SddmmPlan<T> {
    fn choice(&self) -> &Choice {
        self.reference.choice()
    }

    fn workspace_bytes(&self) -> usize {
        size_of_val(self.packed.as_slice())
    }
}

/// The algorithms of every format.
pub(super) fn algorithms() -> &'static [Algorithm] {
    SddmmAlgorithm::table(&|_| true)
}

/// A format of the host with its entries in an array.
pub trait SddmmFormat: EntryValues<Space = Host> + reference::Entries {
    /// The type of row and column indices.
    type Index: Index;
    /// True if `entry_rows` are columns, so that U and V change places.
    const IS_TRANSPOSED: bool = false;

    /// The rows of the entries.
    fn entry_rows(&self) -> Box<dyn EntryRows + '_>;

    /// The columns and the values of the entries.
    fn entry_arrays(&self) -> (&[Self::Index], &[Self::Scalar]);
}

impl<A: Axis, T: Scalar, I: Index, O: Index> SddmmFormat for Compressed<A, T, Host, I, O> {
    type Index = I;
    const IS_TRANSPOSED: bool = !A::IS_ROW;

    fn entry_rows(&self) -> Box<dyn EntryRows + '_> {
        Box::new(Offsets(self.offsets()))
    }

    fn entry_arrays(&self) -> (&[I], &[T]) {
        (self.indices(), self.values())
    }
}

impl<A: Axis, T: Scalar, I: Index, O: Index> SddmmFormat for BatchCompressed<A, T, Host, I, O> {
    type Index = I;
    const IS_TRANSPOSED: bool = !A::IS_ROW;

    fn entry_rows(&self) -> Box<dyn EntryRows + '_> {
        Box::new(MemberRows(self))
    }

    fn entry_arrays(&self) -> (&[I], &[T]) {
        (self.indices(), self.values())
    }
}

impl<T: Scalar, I: Index, O: Index> SddmmFormat for HostCsr<T, I, O> {
    type Index = I;

    fn entry_rows(&self) -> Box<dyn EntryRows + '_> {
        Box::new(Offsets(self.offsets()))
    }

    fn entry_arrays(&self) -> (&[I], &[T]) {
        (self.indices(), self.values())
    }
}

impl<T: Scalar, I: Index> SddmmFormat for Coo<T, Host, I> {
    type Index = I;

    fn entry_rows(&self) -> Box<dyn EntryRows + '_> {
        Box::new(RowIndices(self.row_idx()))
    }

    fn entry_arrays(&self) -> (&[I], &[T]) {
        (self.col_idx(), self.values())
    }
}

impl<M: SddmmFormat> SddmmKernel<M> for Cpu {
    type Plan = SddmmPlan<M::Scalar>;

    fn sddmm_algorithms(&self) -> &'static [Algorithm] {
        algorithms()
    }

    fn plan_sddmm(&self, _: &M, sampling: Sampling, _: usize, options: &PlanOptions) -> Result<Self::Plan> {
        SddmmPlan::new(sampling, options)
    }

    unsafe fn run_sddmm(
        &self,
        plan: &mut Self::Plan,
        alpha: AccOf<M>,
        p: &M,
        u: DenseView<'_, M::Scalar>,
        v: DenseView<'_, M::Scalar>,
        beta: AccOf<M>,
        c: &mut [M::Scalar],
    ) -> Result<()> {
        let functions = find(sddmm_table(), "sddmm", M::FORMAT)?;
        // SAFETY: the caller makes the same promises.
        unsafe { plan.run(self, functions, (alpha, p), (u, v), (beta, c)) }
    }
}

/// The functions for values `T` and indices `I`, which are compiled in this crate.
pub(super) struct Functions<T: Scalar, I> {
    pub(super) run: RunOf<T, I>,
}

/// A product with U, V and C.
type RunOf<T, I> = fn(&Cpu, &mut Vec<T>, Product<'_, T, I>, (Operand<'_, T>, Operand<'_, T>), &mut [T]);

impl<T: Scalar, I: Index> Functions<T, I> {
    pub(super) const ALL: Self = Self { run: product::run };
}

impl<T: Scalar> SddmmPlan<T> {
    /// Runs the plan by these functions.
    ///
    /// # Safety
    /// As for [`SddmmKernel::run_sddmm`].
    pub(super) unsafe fn run<M: SddmmFormat<Scalar = T>>(
        &mut self,
        cpu: &Cpu,
        functions: &Functions<T, M::Index>,
        (alpha, p): (AccOf<M>, &M),
        (u, v): (DenseView<'_, T>, DenseView<'_, T>),
        (beta, c): (AccOf<M>, &mut [T]),
    ) -> Result<()> {
        match self.algorithm {
            SddmmAlgorithm::EntryChunks => {
                let (rows, (columns, values)) = (p.entry_rows(), p.entry_arrays());
                let (sampling, update) = (self.reference.sampling, Update { alpha, beta });
                let product = Product { rows: &*rows, columns, values, sampling, update };
                let (u, v) = (u.into(), v.into());
                let operands = if M::IS_TRANSPOSED { (v, u) } else { (u, v) };
                (functions.run)(cpu, &mut self.packed, product, operands, c);
                Ok(())
            }
            SddmmAlgorithm::Sequential => {
                // SAFETY: the caller makes the reference's promises of the plan and the operands.
                unsafe { Reference.run_sddmm(&mut self.reference, alpha, p, u, v, beta, c) }
            }
        }
    }
}
