//! Conversions between sparse formats.

pub(in crate::op) mod borrowed;
mod bucket;
mod compress;
mod padded;
mod radix;
mod row_blocks;
mod serial;
mod transpose;

pub(super) use compress::coo_to_compressed;

use super::SEQUENTIAL;
use super::compiled::{convert_table, find};
use super::plan::CpuPlan;
use crate::Cpu;
use sparse_core::op::{Conversion, ConvertKernel};
use sparse_core::reference::{ConversionPlan, Convert};
use sparse_core::{Algorithm, AlgorithmSet, Host, PlanOptions, Result, SparseFormat};
use std::fmt::Debug;

/// A conversion with a parallel algorithm.
pub trait ParallelConvert<To>: Convert<To> {
    /// The algorithms.
    type Algorithm: AlgorithmSet + Debug + Send;
    /// The one that plans choose by themselves.
    const AUTOMATIC: Self::Algorithm;

    /// The matrix in the other format; the layout has passed [`check`](Convert::check).
    fn run(&self, cpu: &Cpu, algorithm: Self::Algorithm, layout: &Self::Layout) -> Result<To>;
}

/// The functions of one pair of formats, which are compiled in this crate.
pub(super) struct Functions<From: ParallelConvert<To>, To> {
    run: RunOf<From, To>,
}

/// As for [`ParallelConvert::run`].
type RunOf<From, To> = fn(
    &From,
    &Cpu,
    <From as ParallelConvert<To>>::Algorithm,
    &<From as Conversion<To>>::Layout,
) -> Result<To>;

impl<From: ParallelConvert<To>, To> Functions<From, To> {
    pub(super) const ALL: Self = Self { run: From::run };
}

impl<From, To> ConvertKernel<From, To> for Cpu
where
    From: ParallelConvert<To> + SparseFormat<Space = Host>,
    To: SparseFormat<Space = Host>,
{
    type Plan = CpuPlan<From::Algorithm, ConversionPlan<From::Layout>>;

    fn convert_algorithms(&self) -> &'static [Algorithm] {
        From::Algorithm::table(&|_| true)
    }

    fn plan_convert(&self, from: &From, layout: &From::Layout, options: &PlanOptions) -> Result<Self::Plan> {
        from.check(layout)?;
        let (offered, automatic) = (From::Algorithm::table(&|_| true), From::AUTOMATIC);
        let (algorithm, choice) =
            options.choose_among(From::NAME, offered, automatic, automatic.row().chosen)?;
        Ok(CpuPlan { algorithm, reference: ConversionPlan { choice, layout: layout.clone() } })
    }

    unsafe fn run_convert(&self, plan: &mut Self::Plan, from: &From) -> Result<To> {
        let functions: &Functions<From, To> = find(convert_table(), From::NAME, From::FORMAT)?;
        (functions.run)(from, self, plan.algorithm, &plan.reference.layout)
    }
}
