//! Compares formats on a matrix: bytes, and the time of a product, for each. `nnz advise FILE` also gives reasons.
//!
//! `cargo run --release -p nnz --example which_format -- matrix.mtx`
#![allow(clippy::print_stdout, reason = "an example prints")]

use nnz::prelude::*;
use std::time::{Duration, Instant};

const FORMATS: [Format; 6] = [Format::Csr, Format::Csc, Format::Coo, Format::Ell, Format::Hyb, Format::Sell];

/// The bytes of a matrix, and the fastest of 20 products.
fn measure(a: &Matrix) -> Result<(usize, Duration)> {
    let x = Vector::zeros(a.device(), a.dtype(), a.ncols())?;
    let mut y = Vector::zeros(a.device(), a.dtype(), a.nrows())?;
    let mut best = Duration::MAX;
    for _ in 0..20 {
        let start = Instant::now();
        a.spmv(Op::None, 1.0, &x, 0.0, &mut y)?;
        a.device().synchronize()?;
        best = best.min(start.elapsed());
    }
    Ok((a.bytes(), best))
}

/// The bytes and the time of a product for each format, or its error: a format that would be mostly padding is refused
/// before memory is allocated.
pub(crate) fn compare(a: &Matrix) -> Vec<(Format, Result<(usize, Duration)>)> {
    FORMATS.map(|format| (format, a.to_format(format).and_then(|a| measure(&a)))).into()
}

fn main() -> Result<()> {
    let device = Device::best()?;
    let a = match std::env::args().nth(1) {
        Some(path) => Matrix::read(&device, path)?,
        None => Matrix::from_typed(&device, nnz::generate::stencil_27::<f64>(40, 40, 40)?)?,
    };
    println!("{a:?}");
    for (format, found) in compare(&a) {
        match found {
            Ok((bytes, time)) => println!("{format:<5} {:>9.1} MB  {time:.1?}", bytes as f64 / 1e6),
            Err(error) => println!("{format:<5} {error}"),
        }
    }
    Ok(())
}
