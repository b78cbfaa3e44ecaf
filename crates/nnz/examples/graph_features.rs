//! Features of a graph's vertices, averaged over their neighbours twice: what a layer of a graph network does (SpMM).
//!
//! `cargo run --release -p nnz --example graph_features`
#![allow(clippy::print_stdout, reason = "an example prints")]

use nnz::prelude::*;

/// A graph, and a row-major matrix of `width` features for each of its vertices.
pub(crate) struct Propagate {
    pub(crate) graph: Csr<f32>,
    pub(crate) features: Vec<f32>,
    pub(crate) width: usize,
}

impl WithBackend for Propagate {
    type Out = Result<Vec<f32>>;

    fn call<B: AllTypes>(self, backend: &B) -> Self::Out {
        let (n, width) = (self.graph.rows(), self.width);

        // Every entry of a row becomes 1 / (entries of the row), so that a product is a mean.
        let lengths = self.graph.row_lengths().into_iter();
        let means = lengths.flat_map(|length| vec![1.0 / length as f32; length]).collect();
        let a = self.graph.with_values(means)?.to_device(backend)?;

        let mut features =
            Dense::<f32, B::Space>::new(backend.upload(&self.features)?, n, width, Order::RowMajor)?;
        let mut next = Dense::<f32, B::Space>::new(backend.zeros(n * width)?, n, width, Order::RowMajor)?;
        let mut plan = SpmmPlan::new(backend, &a, Op::None, width, &PlanOptions::default())?;
        for _ in 0..2 {
            plan.run(1.0, &a, features.as_view(), 0.0, next.as_view_mut())?;
            std::mem::swap(&mut features, &mut next);
        }
        backend.download(features.data())
    }
}

fn main() -> Result<()> {
    let (n, width) = (1 << 14, 32);
    let graph = nnz::generate::power_law(n, 12, 2.2, 2000, 42)?;
    let features = (0..n * width).map(|position| (position % 7) as f32).collect();

    let device = Device::best()?;
    let smooth = device.with(Propagate { graph, features, width })?;
    println!("{}: the first vertex has {:.3?}", device.caps().device, &smooth[..4]);
    Ok(())
}
