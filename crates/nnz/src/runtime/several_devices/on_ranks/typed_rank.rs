//! A rank whose type of values is hidden.

use super::ROOT;
use crate::device::HostBackend;
use crate::runtime::dispatch::operand_errors::factor;
use crate::runtime::several_devices::rank::{AnyRank, Callback, on_host, on_host_mut};
use crate::runtime::{SolveOptions, Vector};
use sparse_core::op::Op;
use sparse_core::{Accumulator, Result, c64};
use sparse_distrib::{DistributedBackend, DistributedVector, Ownership, SharedTransport};
use sparse_solvers::Solution;
use std::sync::Arc;

/// A rank whose type of values is hidden, too. The vectors are the root's, and each comes with its division. Every call
/// is collective.
pub(super) trait AnyTypedRank: Send {
    fn multiply(
        &mut self,
        op: Op,
        alpha: c64,
        x: (Option<&Vector>, &Ownership),
        beta: c64,
        y: (Option<&mut Vector>, &Ownership),
    ) -> Result<()>;
    /// As [`multiply`](Self::multiply), with matrices of `columns` columns, row-major.
    fn multiply_dense(
        &mut self,
        op: Op,
        columns: usize,
        alpha: c64,
        b: (Option<&Vector>, &Ownership),
        beta: c64,
        c: (Option<&mut Vector>, &Ownership),
    ) -> Result<()>;
    fn solve(
        &mut self,
        options: &SolveOptions,
        b: (Option<&Vector>, &Ownership),
        x: (Option<&mut Vector>, &Ownership),
        callback: &mut Callback<'_>,
    ) -> Result<Solution>;
}

/// A rank, and how it scatters and gathers the vectors of the root.
pub(super) struct TypedRank<T> {
    /// The backend that scatters and gathers the root's vectors.
    pub(super) host: DistributedBackend<Arc<dyn SharedTransport>, HostBackend>,
    pub(super) rank: Box<dyn AnyRank<T>>,
}

impl<T: Accumulator> TypedRank<T> {
    /// This rank's elements of a vector of the root.
    fn scatter(&self, whole: Option<&Vector>, division: &Ownership) -> Result<Vec<T>> {
        let whole = whole.map(on_host::<T>).transpose()?;
        Ok(DistributedVector::scatter(&self.host, ROOT, division, whole)?.local().to_vec())
    }

    /// This rank's elements of the operand with factor `beta`; zeros if `beta` is 0, when it is not read.
    fn scatter_unless_zero(&self, beta: T, whole: Option<&Vector>, division: &Ownership) -> Result<Vec<T>> {
        match beta.is_zero() {
            true => Ok(vec![T::zero(); division.range(self.host.rank()).len()]),
            false => self.scatter(whole, division),
        }
    }

    /// Copies the elements of all ranks to a vector of the root.
    fn gather(&self, own: &[T], division: &Ownership, whole: Option<&mut Vector>) -> Result<()> {
        let all = DistributedVector::from_local(&self.host, division, own)?.gather(&self.host, ROOT)?;
        match all.zip(whole) {
            Some((all, whole)) => on_host_mut::<T>(whole).map(|whole| whole.copy_from_slice(&all)),
            None => Ok(()),
        }
    }
}

impl<T: Accumulator> AnyTypedRank for TypedRank<T> {
    fn multiply(
        &mut self,
        op: Op,
        alpha: c64,
        (x, columns): (Option<&Vector>, &Ownership),
        beta: c64,
        (y, rows): (Option<&mut Vector>, &Ownership),
    ) -> Result<()> {
        let (alpha, beta) = (factor::<T>("spmv", "alpha", alpha)?, factor::<T>("spmv", "beta", beta)?);
        let own_x = self.scatter(x, columns)?;
        let mut own_y = self.scatter_unless_zero(beta, y.as_deref(), rows)?;
        self.rank.multiply(op, alpha, &own_x, beta, &mut own_y)?;
        self.gather(&own_y, rows, y)
    }

    fn multiply_dense(
        &mut self,
        op: Op,
        columns: usize,
        alpha: c64,
        (b, inner): (Option<&Vector>, &Ownership),
        beta: c64,
        (c, rows): (Option<&mut Vector>, &Ownership),
    ) -> Result<()> {
        let (alpha, beta) = (factor::<T>("spmm", "alpha", alpha)?, factor::<T>("spmm", "beta", beta)?);
        let own_b = self.scatter(b, inner)?;
        let mut own_c = self.scatter_unless_zero(beta, c.as_deref(), rows)?;
        self.rank.multiply_dense(op, columns, alpha, &own_b, beta, &mut own_c)?;
        self.gather(&own_c, rows, c)
    }

    fn solve(
        &mut self,
        options: &SolveOptions,
        (b, rows): (Option<&Vector>, &Ownership),
        (x, columns): (Option<&mut Vector>, &Ownership),
        callback: &mut Callback<'_>,
    ) -> Result<Solution> {
        let (own_b, mut own_x) = (self.scatter(b, rows)?, self.scatter(x.as_deref(), columns)?);
        let callback = (self.host.rank() == ROOT).then_some(callback);
        let solution = self.rank.solve(options, &own_b, &mut own_x, callback)?;
        self.gather(&own_x, columns, x)?;
        Ok(solution)
    }
}
