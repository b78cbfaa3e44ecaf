//! The softmax of the rows of CSR and the columns of CSC: a thread or a warp reads the values of a line three times.

use super::available_algorithms::Needs;
use crate::defines::Defines;
use crate::primitive::raw::RawCompressed;
use crate::{Device, Kernel, ViewMut};
use sparse_core::op::SoftmaxKernel;
use sparse_core::{
    Algorithm, Axis, Backend, Choice, Compressed, Index, KernelPlan, PlanOptions, Result, Scalar, algorithms,
};

/// Lines of up to this many entries on average have a thread each, as in reductions. Not measured.
const THREAD_ENTRIES: usize = 8;

algorithms! {
    /// The algorithms of CSR and CSC.
    enum SoftmaxAlgorithm needs Needs {
        LinePerWarp = Algorithm::new("line_per_warp", "the device is no CPU, and lines have more than 8 entries on average"),
        Needs::Nothing;

        LinePerThread =
            Algorithm::new("line_per_thread", "the device is a CPU, or lines have up to 8 entries on average"),
        Needs::Nothing;
    }
}

/// The plan of a softmax.
#[derive(Debug)]
pub struct SoftmaxPlan {
    choice: Choice,
    algorithm: SoftmaxAlgorithm,
    kernel: Kernel,
}

impl KernelPlan for SoftmaxPlan {
    fn choice(&self) -> &Choice {
        &self.choice
    }
}

impl<A: Axis, T: Scalar, I: Index, O: Index> SoftmaxKernel<Compressed<A, T, Device, I, O>> for Device {
    type Plan = SoftmaxPlan;

    fn softmax_algorithms(&self) -> &'static [Algorithm] {
        self.offered::<SoftmaxAlgorithm>()
    }

    fn plan_softmax(&self, a: &Compressed<A, T, Device, I, O>, options: &PlanOptions) -> Result<Self::Plan> {
        let (algorithm, choice) = choose(self, a.into(), options)?;
        let entry = match algorithm {
            SoftmaxAlgorithm::LinePerWarp => "softmax_rows_per_warp",
            SoftmaxAlgorithm::LinePerThread => "softmax_rows_per_thread",
        };
        let defines = Defines::default().offset(a.offsets().index_type());
        let kernel = self.kernel_of(T::DTYPE, "softmax_rows", entry, defines)?;
        Ok(SoftmaxPlan { choice, algorithm, kernel })
    }

    unsafe fn run_softmax(
        &self,
        plan: &mut Self::Plan,
        a: &Compressed<A, T, Device, I, O>,
        y: ViewMut<'_, T>,
    ) -> Result<()> {
        let a: RawCompressed<'_> = a.into();
        let launch = self.launch(&plan.kernel).size(a.rows).buffer(a.offsets).buffer(a.values).view(y);
        match plan.algorithm {
            SoftmaxAlgorithm::LinePerWarp => launch.warps(a.rows),
            SoftmaxAlgorithm::LinePerThread => launch.items(a.rows),
        }
    }
}

fn choose(
    backend: &Device,
    a: RawCompressed<'_>,
    options: &PlanOptions,
) -> Result<(SoftmaxAlgorithm, Choice)> {
    let preferred = if backend.caps().is_cpu {
        (SoftmaxAlgorithm::LinePerThread, "the device is a CPU".into())
    } else if a.mean_length() <= THREAD_ENTRIES {
        (SoftmaxAlgorithm::LinePerThread, format!("lines have {} entries on average", a.mean_length()))
    } else {
        (SoftmaxAlgorithm::LinePerWarp, format!("lines have {} entries on average", a.mean_length()))
    };
    backend.choose("softmax", options, backend.offered::<SoftmaxAlgorithm>(), preferred)
}
