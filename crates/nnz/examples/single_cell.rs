//! Highly variable genes of single-cell counts: cells are normalized, and the genes that vary most are selected.
//!
//! `cargo run --release -p nnz --example single_cell -- matrix.mtx.gz`, genes × cells as Cell Ranger writes it
#![allow(clippy::print_stdout, reason = "an example prints")]

use nnz::prelude::*;
use nnz::{Each, Reduction};

/// The counts of a cell after normalization.
const TOTAL: f32 = 1e4;

/// The `number` genes whose normalized counts vary most, the first most of all, and these rows of the matrix.
pub(crate) fn variable_genes(
    device: &Device,
    counts: Csr<f32>,
    number: usize,
) -> Result<(Vec<usize>, Matrix)> {
    let a = Matrix::from_typed(device, normalize(counts)?)?;
    let variances: Vec<f32> = a.reduce(Each::Row, Reduction::Variance)?.to_vec()?;
    let mut genes: Vec<_> = (0..a.nrows()).collect();
    genes.sort_by(|&i, &j| variances[j].total_cmp(&variances[i]));
    genes.truncate(number);
    let selected = a.select(&genes, ..)?;
    Ok((genes, selected))
}

/// ln(1 + count · 10⁴ / counts of the cell).
fn normalize(counts: Csr<f32>) -> Result<Csr<f32>> {
    let mut totals = vec![0.0; counts.ncols()];
    counts.triplets().for_each(|(_, cell, count)| totals[cell] += count);
    let scale = |cell: usize| if totals[cell] > 0.0 { TOTAL / totals[cell] } else { 0.0 };
    let values = counts.triplets().map(|(_, cell, count)| (scale(cell) * count).ln_1p()).collect();
    counts.with_values(values)
}

fn main() -> Result<()> {
    let counts = match std::env::args().nth(1) {
        Some(path) => nnz::io::read_csr(path)?,
        None => nnz::generate::power_law::<f32>(20_000, 40, 2.1, 10_000, 42)?.map_values(f32::abs),
    };
    let device = Device::best()?;
    let (genes, selected) = variable_genes(&device, counts, 2000)?;
    println!("{}: {selected:?}", device.caps().device);
    println!("the most variable genes: {:?}", &genes[..genes.len().min(5)]);
    Ok(())
}
