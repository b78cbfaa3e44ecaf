//! `C ← A·B`, row by row in ordered sets and maps; of CSC column by column.

use super::convert::compress;
use super::{Reference, algorithms, sequential};
use crate::error::Result;
use crate::format::estimate::Sizes;
use crate::format::{Axis, Compressed, CompressedPattern, PatternId};
use crate::index::Index;
use crate::op::{SpgemmBound, SpgemmKernel, mask_pattern, row_factors};
use crate::plan::{Algorithm, Choice, KernelPlan, PlanOptions};
use crate::scalar::Scalar;
use crate::space::Host;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The plan of a product of sparse matrices: the pattern of C.
#[derive(Debug)]
pub struct SpgemmPattern<I: Index, O: Index> {
    choice: Choice,
    pattern: Arc<CompressedPattern<Host, I, O>>,
}

impl<I: Index, O: Index> KernelPlan for SpgemmPattern<I, O> {
    fn choice(&self) -> &Choice {
        &self.choice
    }

    fn workspace_bytes(&self) -> usize {
        size_of_val(&self.pattern.offsets()[..]) + size_of_val(&self.pattern.indices()[..])
    }
}

impl<A: Axis, T: Scalar, I: Index, O: Index> SpgemmKernel<Compressed<A, T, Host, I, O>> for Reference {
    type Plan = SpgemmPattern<I, O>;

    fn spgemm_algorithms(&self) -> &'static [Algorithm] {
        algorithms()
    }

    unsafe fn spgemm_bound(
        &self,
        a: &Compressed<A, T, Host, I, O>,
        b: &Compressed<A, T, Host, I, O>,
    ) -> Result<SpgemmBound> {
        let (left, right) = row_factors::<A, _>(a, b);
        let products = |row| left.major_entries(row).map(|(k, _)| right.pattern().range(k).len()).sum();
        let rows = (0..left.pattern().major()).map(products);
        Ok(SpgemmBound::new(rows, right.pattern().minor(), Sizes::of::<T, I, O>()))
    }

    unsafe fn plan_spgemm(
        &self,
        a: &Compressed<A, T, Host, I, O>,
        b: &Compressed<A, T, Host, I, O>,
        mask: Option<&Compressed<A, T, Host, I, O>>,
        options: &PlanOptions,
    ) -> Result<Self::Plan> {
        let choice = sequential("spgemm", options)?;
        if let Some(mask) = mask {
            return Ok(SpgemmPattern { choice, pattern: mask_pattern(mask)?.clone() });
        }
        let (left, right) = row_factors::<A, _>(a, b);
        let mut entries = vec![];
        for row in 0..left.pattern().major() {
            let mut columns = BTreeSet::new();
            for (k, _) in left.major_entries(row) {
                columns.extend(right.major_entries(k).map(|(column, _)| column));
            }
            entries.extend(columns.into_iter().map(|column| {
                let (i, j) = A::swap(row, column);
                (i, j, T::ZERO)
            }));
        }
        let c: Compressed<A, T, Host, I, O> = compress(a.nrows(), b.ncols(), entries)?;
        Ok(SpgemmPattern { choice, pattern: c.pattern().clone() })
    }

    fn spgemm_pattern(&self, plan: &Self::Plan) -> (PatternId, usize) {
        (plan.pattern.id(), plan.pattern.indices().len())
    }

    fn spgemm_output(&self, plan: &Self::Plan) -> Result<Compressed<A, T, Host, I, O>> {
        Compressed::from_pattern(plan.pattern.clone(), vec![T::ZERO; plan.pattern.indices().len()])
    }

    unsafe fn run_spgemm(
        &self,
        plan: &mut Self::Plan,
        a: &Compressed<A, T, Host, I, O>,
        b: &Compressed<A, T, Host, I, O>,
        c: &mut Compressed<A, T, Host, I, O>,
    ) -> Result<()> {
        let (left, right) = row_factors::<A, _>(a, b);
        for row in 0..plan.pattern.major() {
            let mut sums = BTreeMap::new();
            for (k, x) in left.major_entries(row) {
                for (column, y) in right.major_entries(k) {
                    *sums.entry(column).or_insert(T::Acc::ZERO) += x.to_acc() * y.to_acc();
                }
            }
            for k in plan.pattern.range(row) {
                let column = plan.pattern.indices()[k].as_usize();
                c.values_mut()[k] = T::from_acc(sums.get(&column).copied().unwrap_or(T::Acc::ZERO));
            }
        }
        Ok(())
    }
}
