//! From one sparse format to another.

mod bucket;
mod compress;
mod padded;
mod radix;

pub(super) use compress::coo_to_compressed;

use super::{SEQUENTIAL, is_sequential};
use crate::Cpu;
use sparse_core::op::{ConvertKernel, Operations};
use sparse_core::reference::{Convert, Reference};
use sparse_core::{Algorithm, Choice, Host, KernelPlan, Matrix, PlanOptions, Result};
use std::fmt::Debug;

/// A conversion that this backend has an algorithm of its own for.
pub trait ParallelConvert<To>: Convert<To> {
    /// The algorithms, the default first.
    const ALGORITHMS: &'static [Algorithm];

    /// The matrix in the other format.
    fn run(&self, cpu: &Cpu, layout: &Self::Layout) -> Result<To>;
}

/// The plan of a conversion: the layout of the target.
#[derive(Debug)]
pub struct ConversionPlan<L> {
    choice: Choice,
    layout: L,
}

impl<L: Debug + Send> KernelPlan for ConversionPlan<L> {
    fn choice(&self) -> &Choice {
        &self.choice
    }
}

impl<From, To> ConvertKernel<From, To> for Cpu
where
    From: ParallelConvert<To> + Matrix<Space = Host>,
    To: Matrix<Space = Host>,
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
            Operations::convert(&Reference, from, &plan.layout)
        } else {
            from.run(self, &plan.layout)
        }
    }
}
