//! Reductions of the rows of CSR and the columns of CSC: a thread or a warp reads the values of a line, for variances
//! and 2-norms twice.

use super::available_algorithms::Needs;
use crate::defines::Defines;
use crate::primitive::raw::RawCompressed;
use crate::primitive::rearrangement::ToCompressed;
use crate::primitive::sorted_copy::in_order;
use crate::primitive::stored_values::StoredValues;
use crate::{Device, Kernel, ViewMut};
use sparse_core::op::{ReduceKernel, Reduction};
use sparse_core::{
    Algorithm, Axis, Backend, Choice, Compressed, Index, KernelPlan, PlanOptions, Result, Scalar, algorithms,
};

/// Lines of up to this many entries on average have a thread each: a quarter of a warp would have work. Not measured.
const THREAD_ENTRIES: usize = 8;

algorithms! {
    /// The algorithms of CSR and CSC.
    enum ReduceAlgorithm needs Needs {
        LinePerWarp = Algorithm::new("line_per_warp", "the device is no CPU, and lines have more than 8 entries on average")
            .preprocessing("of matrices with duplicates, but for sums and means, a copy in which they are added"),
        Needs::Nothing;

        LinePerThread =
            Algorithm::new("line_per_thread", "the device is a CPU, or lines have up to 8 entries on average")
                .preprocessing("as line_per_warp"),
        Needs::Nothing;
    }
}

/// The plan of a reduction.
#[derive(Debug)]
pub struct ReducePlan<A: Axis, T: Scalar, I: Index, O: Index> {
    choice: Choice,
    algorithm: ReduceAlgorithm,
    by: Reduction,
    kernel: Kernel,
    /// A copy without duplicates, where they matter.
    unique: Option<ToCompressed<A, T, I, O>>,
}

impl<A: Axis, T: Scalar, I: Index, O: Index> KernelPlan for ReducePlan<A, T, I, O> {
    fn choice(&self) -> &Choice {
        &self.choice
    }
}

impl<A: Axis, T: Scalar, I: Index, O: Index> ReduceKernel<Compressed<A, T, Device, I, O>> for Device {
    type Plan = ReducePlan<A, T, I, O>;

    fn reduce_algorithms(&self) -> &'static [Algorithm] {
        self.offered::<ReduceAlgorithm>()
    }

    fn plan_reduce(
        &self,
        by: Reduction,
        a: &Compressed<A, T, Device, I, O>,
        options: &PlanOptions,
    ) -> Result<Self::Plan> {
        let (algorithm, choice) = choose(self, a.into(), options)?;
        let entry = match algorithm {
            ReduceAlgorithm::LinePerWarp => "reduce_rows_per_warp",
            ReduceAlgorithm::LinePerThread => "reduce_rows_per_thread",
        };
        let defines = Defines::default().offset(a.offsets().index_type());
        let kernel = self.kernel_of(T::DTYPE, "reduce_rows", entry, defines)?;
        let unique = match by.needs_unique() && !a.order().unique {
            true => in_order(self, a, &choice)?,
            false => None,
        };
        Ok(ReducePlan { choice, algorithm, by, kernel, unique })
    }

    unsafe fn run_reduce(
        &self,
        plan: &mut Self::Plan,
        a: &Compressed<A, T, Device, I, O>,
        y: ViewMut<'_, T>,
    ) -> Result<()> {
        let unique =
            plan.unique.as_ref().map(|unique| unique.run(self, StoredValues::values(a))).transpose()?;
        let a: RawCompressed<'_> = unique.as_ref().unwrap_or(a).into();
        let launch = self.launch(&plan.kernel).size(a.rows).size(a.cols).value(code(plan.by));
        let launch = launch.buffer(a.offsets).buffer(a.values).view(y);
        match plan.algorithm {
            ReduceAlgorithm::LinePerWarp => launch.warps(a.rows),
            ReduceAlgorithm::LinePerThread => launch.items(a.rows),
        }
    }
}

fn choose(
    backend: &Device,
    a: RawCompressed<'_>,
    options: &PlanOptions,
) -> Result<(ReduceAlgorithm, Choice)> {
    let preferred = if backend.caps().is_cpu {
        (ReduceAlgorithm::LinePerThread, "the device is a CPU".into())
    } else if a.mean_length() <= THREAD_ENTRIES {
        (ReduceAlgorithm::LinePerThread, format!("lines have {} entries on average", a.mean_length()))
    } else {
        (ReduceAlgorithm::LinePerWarp, format!("lines have {} entries on average", a.mean_length()))
    };
    backend.choose("reduce", options, backend.offered::<ReduceAlgorithm>(), preferred)
}

/// The number of a reduction in the kernels.
fn code(by: Reduction) -> i32 {
    match by {
        Reduction::Sum => 0,
        Reduction::Mean => 1,
        Reduction::Variance => 2,
        Reduction::Min => 3,
        Reduction::Max => 4,
        Reduction::Norm1 => 5,
        Reduction::Norm2 => 6,
        Reduction::NormInfinity => 7,
    }
}
