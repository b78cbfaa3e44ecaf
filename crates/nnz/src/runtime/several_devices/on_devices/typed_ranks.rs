//! The ranks of all devices, whose type of values is hidden.

use super::thread_per_device::on_all;
use super::vector::{AnyParts, Parts, parts, parts_mut};
use crate::runtime::dispatch::operand_errors::factor;
use crate::runtime::several_devices::rank::{AnyRank, Callback, on_host, on_host_mut};
use crate::runtime::{SolveOptions, Vector};
use sparse_core::op::Op;
use sparse_core::{Accumulator, Error, Result, c64};
use sparse_distrib::Ownership;
use sparse_solvers::Solution;

/// The ranks of all devices, whose types of values are hidden. Vectors have the type and are on the host; each comes
/// with its division.
pub(super) trait AnyRanks: Send {
    fn multiply(
        &mut self,
        op: Op,
        alpha: c64,
        x: (&Vector, &Ownership),
        beta: c64,
        y: (&mut Vector, &Ownership),
    ) -> Result<()>;
    /// A copy on the devices.
    fn upload(&mut self, x: &Vector, division: &Ownership) -> Result<Box<dyn AnyParts>>;
    /// As [`multiply`](Self::multiply), with vectors that [`upload`](Self::upload) has made.
    fn multiply_parts(
        &mut self,
        op: Op,
        alpha: c64,
        x: &dyn AnyParts,
        beta: c64,
        y: &mut dyn AnyParts,
    ) -> Result<()>;
    fn solve(
        &mut self,
        options: &SolveOptions,
        b: (&Vector, &Ownership),
        x: (&mut Vector, &Ownership),
        callback: &mut Callback<'_>,
    ) -> Result<Solution>;
}

/// The ranks of all devices.
pub(super) struct Ranks<T>(pub(super) Vec<Box<dyn AnyRank<T>>>);

impl<T: Accumulator> AnyRanks for Ranks<T> {
    fn multiply(
        &mut self,
        op: Op,
        alpha: c64,
        (x, columns): (&Vector, &Ownership),
        beta: c64,
        (y, rows): (&mut Vector, &Ownership),
    ) -> Result<()> {
        let (alpha, beta) = (factor::<T>("spmv", "alpha", alpha)?, factor::<T>("spmv", "beta", beta)?);
        let (x, y) = (on_host(x)?, on_host_mut(y)?);
        let parts = parts(x, columns).zip(parts_mut(y, rows));
        let items = self.0.iter_mut().zip(parts).collect();
        on_all(items, |(rank, (x, y))| rank.multiply(op, alpha, x, beta, y)).map(drop)
    }

    fn upload(&mut self, x: &Vector, division: &Ownership) -> Result<Box<dyn AnyParts>> {
        let items = self.0.iter_mut().zip(parts(on_host::<T>(x)?, division)).collect();
        Ok(Box::new(Parts(on_all(items, |(rank, x)| rank.upload(division, x))?)))
    }

    fn multiply_parts(
        &mut self,
        op: Op,
        alpha: c64,
        x: &dyn AnyParts,
        beta: c64,
        y: &mut dyn AnyParts,
    ) -> Result<()> {
        let (alpha, beta) = (factor::<T>("spmv", "alpha", alpha)?, factor::<T>("spmv", "beta", beta)?);
        let parts = Parts::<T>::of(x)?.0.iter().zip(&mut Parts::<T>::of_mut(y)?.0);
        let items = self.0.iter_mut().zip(parts).collect();
        on_all(items, |(rank, (x, y))| rank.multiply_parts(op, alpha, &**x, beta, &mut **y)).map(drop)
    }

    fn solve(
        &mut self,
        options: &SolveOptions,
        (b, rows): (&Vector, &Ownership),
        (x, columns): (&mut Vector, &Ownership),
        callback: &mut Callback<'_>,
    ) -> Result<Solution> {
        let (b, x) = (on_host(b)?, on_host_mut(x)?);
        let parts = parts(b, rows).zip(parts_mut(x, columns));
        let mut callback = Some(callback);
        let items = self.0.iter_mut().zip(parts).map(|item| (item, callback.take())).collect();
        let solutions = on_all(items, |((rank, (b, x)), callback)| rank.solve(options, b, x, callback))?;
        solutions.first().copied().ok_or_else(|| Error::shape("solve", "there are no devices"))
    }
}
