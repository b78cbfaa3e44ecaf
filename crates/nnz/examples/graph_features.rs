//! Averages the features of a graph's vertices over their neighbours, twice, as two layers of a graph network do
//! (SpMM).
//!
//! `cargo run --release -p nnz --example graph_features`
#![allow(clippy::print_stdout, reason = "an example prints")]

use nnz::prelude::*;

/// Features, `width` for each vertex, row after row, averaged over the neighbours in `graph` twice.
pub(crate) fn propagate(
    device: &Device,
    graph: Csr<f32>,
    features: Vec<f32>,
    width: usize,
) -> Result<Vec<f32>> {
    let n = graph.nrows();
    // Every entry of a row becomes 1 / (entries of the row), so that a product is a mean.
    let lengths = graph.row_lengths().into_iter();
    let means = lengths.flat_map(|length| vec![1.0 / length as f32; length]).collect();
    let a = Matrix::from_typed(device, graph.with_values(means)?)?;

    let features = DenseMatrix::from_vec(device, features, n, width, Order::RowMajor)?;
    let once = (&a * &features)?;
    let twice = (&a * &once)?;
    twice.values().to_vec()
}

fn main() -> Result<()> {
    let (n, width) = (1 << 14, 32);
    let graph = nnz::generate::power_law(n, 12, 2.2, 2000, 42)?;
    let features = (0..n * width).map(|position| (position % 7) as f32).collect();

    let device = Device::best()?;
    let smooth = propagate(&device, graph, features, width)?;
    println!("{}: the first vertex has {:.3?}", device.caps().device, &smooth[..4]);
    Ok(())
}
