//! Every operation, serially and simply, which all backends are compared with.
//!
//! An operation is one function over the [`Entries`] of a matrix in any format. Sums are made in storage order in the
//! accumulator's type and rounded once. Matrices that an operation makes go through the checked constructors.

mod convert;
mod dense_to_csr;
mod elementwise;
mod entries;
mod prune;
mod reduce;
mod row_statistics;
mod scan;
mod sddmm;
mod select;
mod semiring;
mod softmax;
mod sort;
mod spgemm;
mod spmm;
mod spmm_reduce;
mod spmv;
mod to_dense;
mod trisolve;
mod vector;

pub use convert::{ConversionPlan, Convert};
pub use dense_to_csr::CompressionPlan;
pub use elementwise::ElementwiseChoice;
pub use entries::{Entries, Entry};
pub use reduce::ReduceChoice;
pub use scan::ScanSteps;
pub use sddmm::SddmmChoice;
pub use select::SelectChoice;
pub use sort::Rebuild;
pub use spgemm::SpgemmPattern;
pub use spmm_reduce::AggregationChoice;
pub use spmv::ProductPlan;
pub use trisolve::TrisolveChoice;

use crate::algorithms;
use crate::backend::{Backend, Buf, Caps, ViewMutOf, ViewOf, check_copy, check_download, vec_with_capacity};
use crate::error::Result;
use crate::op::AllTypes;
use crate::plan::{Algorithm, AlgorithmSet, Choice, PlanOptions};
use crate::space::{ContextId, Element, Host};
use std::sync::LazyLock;

/// The serial reference: one algorithm, `sequential`, for every operation.
#[derive(Debug, Clone, Copy, Default)]
pub struct Reference;

// SAFETY: a buffer is a vector of exactly the uploaded elements, in the one context of the host.
unsafe impl Backend for Reference {
    type Space = Host;

    fn caps(&self) -> &Caps {
        static CAPS: LazyLock<Caps> = LazyLock::new(|| Caps {
            backend: "reference",
            device: "serial".into(),
            compute_units: 1,
            is_cpu: true,
            memory_bytes: None,
            f64: true,
            flushes_subnormals: false,
            features: vec![],
        });
        &CAPS
    }

    fn context(&self) -> ContextId {
        ContextId::HOST
    }

    fn upload<T: Element>(&self, host: &[T]) -> Result<Buf<Self, T>> {
        let mut buffer = vec_with_capacity(host.len())?;
        buffer.extend_from_slice(host);
        Ok(buffer)
    }

    fn download_into<T: Element>(&self, device: ViewOf<'_, Self, T>, host: &mut [T]) -> Result<()> {
        check_download(self, &device, host)?;
        host.copy_from_slice(device);
        Ok(())
    }

    fn copy<T: Element>(&self, from: ViewOf<'_, Self, T>, to: ViewMutOf<'_, Self, T>) -> Result<()> {
        check_copy(self, &from, &to)?;
        to.copy_from_slice(from);
        Ok(())
    }

    fn synchronize(&self) -> Result<()> {
        Ok(())
    }
}

algorithms! {
    /// The algorithms of every operation.
    enum ReferenceAlgorithm {
        Sequential = Algorithm::new("sequential", "always");
    }
}

fn algorithms() -> &'static [Algorithm] {
    ReferenceAlgorithm::table(&|_| true)
}

/// The choice of the only algorithm.
fn sequential(op: &str, options: &PlanOptions) -> Result<Choice> {
    let only = ReferenceAlgorithm::Sequential;
    Ok(options.choose_among(op, algorithms(), only, "the reference has no other")?.1)
}

const _: () = {
    const fn has_all_operations<B: AllTypes>() {}
    has_all_operations::<Reference>();
};
