//! Conversions between sparse formats.

mod bucket;
mod compress;
mod padded;
mod radix;

pub(super) use compress::coo_to_compressed;

use super::{SEQUENTIAL, is_sequential};
use crate::Cpu;
use sparse_core::op::ConvertKernel;
use sparse_core::reference::{ConversionPlan, Convert, Reference};
use sparse_core::{Algorithm, Host, PlanOptions, Result, SparseFormat};

/// A conversion with a parallel algorithm.
pub trait ParallelConvert<To>: Convert<To> {
    /// The algorithms, the default first.
    const ALGORITHMS: &'static [Algorithm];

    /// The matrix in the other format.
    fn run(&self, cpu: &Cpu, layout: &Self::Layout) -> Result<To>;
}

impl<From, To> ConvertKernel<From, To> for Cpu
where
    From: ParallelConvert<To> + SparseFormat<Space = Host>,
    To: SparseFormat<Space = Host>,
{
    type Plan = ConversionPlan<From::Layout>;

    fn convert_algorithms(&self) -> &'static [Algorithm] {
        From::ALGORITHMS
    }

    fn plan_convert(&self, from: &From, layout: &From::Layout, options: &PlanOptions) -> Result<Self::Plan> {
        from.check(layout)?;
        let default = From::ALGORITHMS[0];
        let choice = options.choose(From::NAME, From::ALGORITHMS, default.name, default.chosen)?;
        Ok(ConversionPlan { choice, layout: layout.clone() })
    }

    unsafe fn convert(&self, plan: &mut Self::Plan, from: &From) -> Result<To> {
        if is_sequential(&plan.choice) {
            // SAFETY: the reference has the same plan, and the caller promises that it was made for this pattern.
            unsafe { Reference.convert(plan, from) }
        } else {
            from.run(self, &plan.layout)
        }
    }
}
