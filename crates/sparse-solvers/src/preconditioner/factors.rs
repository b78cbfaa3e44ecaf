//! The common part of incomplete factorizations: two triangular solves, and the lookup of entries by their columns.

use sparse_core::backend::{Buf, SpaceOf, ViewOf};
use sparse_core::format::CompressedPattern;
use sparse_core::op::{Triangular, TrisolveKernel, TrisolvePlan};
use sparse_core::{Accumulator, Csr, Error, Host, Index, PlanOptions, Result, Space, SparseFormat};

/// The solves with two factors that one matrix of a backend stores, with their vectors.
#[derive(Debug)]
pub(super) struct FactorSolves<B, T, I, O>
where
    B: TrisolveKernel<Csr<T, SpaceOf<B>, I, O>>,
    T: Accumulator,
    I: Index,
    O: Index,
{
    backend: B,
    factors: Csr<T, SpaceOf<B>, I, O>,
    first: TrisolvePlan<B, Csr<T, SpaceOf<B>, I, O>>,
    second: TrisolvePlan<B, Csr<T, SpaceOf<B>, I, O>>,
    between: Buf<B, T>,
    result: Buf<B, T>,
}

impl<B, T, I, O> FactorSolves<B, T, I, O>
where
    B: TrisolveKernel<Csr<T, SpaceOf<B>, I, O>>,
    T: Accumulator,
    I: Index,
    O: Index,
{
    /// Plans the systems of the first and of the second factor, which have the pattern of `factors`.
    pub(super) fn new(backend: &B, factors: &Csr<T, Host, I, O>, systems: [Triangular; 2]) -> Result<Self> {
        let factors = factors.to_device(backend)?;
        let plan = |system| TrisolvePlan::new(backend, &factors, system, &PlanOptions::default());
        let zeros = || backend.zeros(factors.nrows());
        let (first, second) = (plan(systems[0])?, plan(systems[1])?);
        let (between, result) = (zeros()?, zeros()?);
        Ok(Self { backend: backend.clone(), factors, first, second, between, result })
    }

    /// Replaces the values of the factors.
    pub(super) fn set_values(&mut self, values: &[T]) -> Result<()> {
        self.factors = self.factors.with_values(self.backend.upload(values)?)?;
        Ok(())
    }

    /// K⁻¹·r.
    pub(super) fn apply<'a>(&'a mut self, r: ViewOf<'_, B, T>) -> Result<ViewOf<'a, B, T>> {
        self.first.enqueue(&self.factors, r, SpaceOf::<B>::view_mut(&mut self.between))?;
        let between = SpaceOf::<B>::view(&self.between);
        self.second.enqueue(&self.factors, between, SpaceOf::<B>::view_mut(&mut self.result))?;
        Ok(SpaceOf::<B>::view(&self.result))
    }
}

/// The positions of the entries of one row, by their columns.
pub(super) struct RowPositions(Vec<usize>);

impl RowPositions {
    const NONE: usize = usize::MAX;

    /// An empty row of a matrix with `n` columns.
    pub(super) fn new(n: usize) -> Self {
        Self(vec![Self::NONE; n])
    }

    /// Takes a row whose first entry is at `start`.
    pub(super) fn set<I: Index>(&mut self, start: usize, columns: &[I]) {
        columns.iter().enumerate().for_each(|(k, col)| self.0[col.as_usize()] = start + k);
    }

    /// Clears the positions of a row with these columns.
    pub(super) fn clear<I: Index>(&mut self, columns: &[I]) {
        columns.iter().for_each(|col| self.0[col.as_usize()] = Self::NONE);
    }

    /// The place of the entry in this column.
    pub(super) fn get<I: Index>(&self, col: I) -> Option<usize> {
        Some(self.0[col.as_usize()]).filter(|&position| position != Self::NONE)
    }
}

/// An error unless the rows of `a` are sorted and have no coordinate twice.
pub(super) fn check_sorted<T: Accumulator, I: Index, O: Index>(
    op: &'static str,
    a: &Csr<T, Host, I, O>,
) -> Result<()> {
    if a.order().sorted && a.order().unique {
        return Ok(());
    }
    let reason = "its columns must ascend in every row; convert it from COO, which sorts and adds duplicates";
    Err(Error::unsupported(format_args!("{op} of this matrix"), reason))
}

/// An error unless a matrix has the pattern that was factorized.
pub(super) fn check_pattern<I: Index, O: Index>(
    op: &'static str,
    expected: &CompressedPattern<Host, I, O>,
    found: &CompressedPattern<Host, I, O>,
) -> Result<()> {
    let is_equal = || {
        let arrays_are = expected.offsets() == found.offsets() && expected.indices() == found.indices();
        arrays_are && expected.minor() == found.minor()
    };
    if expected.id() == found.id() || is_equal() {
        return Ok(());
    }
    let reason =
        "the matrix has another pattern than the factors were made for; with_values keeps one".into();
    Err(Error::PlanMismatch { op, reason })
}

/// The error of a row whose diagonal is not stored.
pub(super) fn missing_diagonal(op: &'static str, row: usize) -> Error {
    Error::singular(op, row, "a diagonal entry is needed, none is stored")
}
