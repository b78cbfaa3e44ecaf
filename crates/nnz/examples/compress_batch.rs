//! A thousand dense matrices, pruned by magnitude and compressed to CSR in one call.
//!
//! `cargo run --release -p nnz --example compress_batch`
#![allow(clippy::print_stdout, reason = "an example prints")]

use nnz::op::{DenseToCompressedPlan, Keep};
use nnz::prelude::*;
use nnz::{BatchCsr, DenseBatchView, Row};

/// `count` row-major matrices of `n × n` weights, one after the other; elements above `threshold` become entries.
pub(crate) struct Compress {
    pub(crate) weights: Vec<f32>,
    pub(crate) count: usize,
    pub(crate) n: usize,
    pub(crate) threshold: f32,
}

impl WithBackend for Compress {
    type Out = Result<BatchCsr<f32>>;

    fn call<B: AllTypes>(self, backend: &B) -> Self::Out {
        let Self { count, n, .. } = self;
        let dense = backend.upload(&self.weights)?;
        let dense = B::Space::view(&dense);
        let dense = DenseBatchView::<f32, B::Space>::new(dense, count, n * n, (n, n), n, Order::RowMajor)?;
        let keep = Keep::Above(self.threshold);

        // A plan is for one shape: it can be reused for other weights, with other zeros.
        let mut plan = DenseToCompressedPlan::<B, Row, f32, i32, i32>::new(
            backend,
            dense,
            keep,
            &PlanOptions::default(),
        )?;
        plan.run_batch(dense)?.to_host(backend)
    }
}

fn main() -> Result<()> {
    let (count, n) = (1000, 64);
    let random = nnz::generate::uniform::<f32>(count * n, n, n, 42)?;
    let weights = random.values().clone(); // every element is stored: integers from −4 to 4
    let batch = Device::best()?.with(Compress { weights, count, n, threshold: 3.5 })?;

    println!("{} of {} elements are kept", batch.nnz(), count * n * n);
    println!("the last matrix has {} entries", batch.member_range(count - 1).len());
    Ok(())
}
