//! A solver written with nnz: multigrid for Poisson's equation, with Galerkin products as coarse matrices.
//!
//! `cargo run --release -p nnz --example multigrid`
#![allow(clippy::print_stdout, reason = "an example prints")]

use nnz::prelude::*;

/// A grid of `n × n` inner points, and the coarser ones below it.
struct Level {
    a: Matrix,
    /// 0.8·D⁻¹, with D the diagonal of A: a step of damped Jacobi iteration is x ← x + 0.8·D⁻¹·(b − A·x).
    smoother: Matrix,
    /// The interpolation from the next coarser grid, and that grid.
    coarser: Option<(Matrix, Box<Level>)>,
}

impl Level {
    fn new(a: Matrix, n: usize) -> Result<Self> {
        let device = a.device();
        let diagonal = a.diagonal(0)?.to_vec::<f64>()?;
        let steps = diagonal.iter().enumerate().map(|(i, d)| (i, i, 0.8 / d));
        let smoother = Matrix::from_typed(device, Csr::<f64>::from_triplets(n * n, n * n, steps)?)?;
        let coarser = match n / 2 {
            0 => None,
            half => {
                let p = Matrix::from_typed(device, interpolation(n)?)?;
                let r = p.transpose()?.to_format(Format::Csr)?;
                Some((p.clone(), Box::new(Self::new(a.galerkin(&r, &p)?, half)?)))
            }
        };
        Ok(Self { a, smoother, coarser })
    }

    /// Improves `x` by one V-cycle.
    fn cycle(&self, b: &Vector, x: &mut Vector) -> Result<()> {
        self.smooth(b, x)?;
        if let Some((p, coarser)) = &self.coarser {
            let mut coarse_b = Vector::zeros(b.device(), b.dtype(), p.ncols())?;
            p.spmv(Op::Transpose, 1.0, &self.residual(b, x)?, 0.0, &mut coarse_b)?;
            let mut correction = Vector::zeros(b.device(), b.dtype(), p.ncols())?;
            coarser.cycle(&coarse_b, &mut correction)?;
            p.spmv(Op::None, 1.0, &correction, 1.0, x)?;
        }
        self.smooth(b, x)
    }

    /// Two steps of damped Jacobi iteration.
    fn smooth(&self, b: &Vector, x: &mut Vector) -> Result<()> {
        for _ in 0..2 {
            self.smoother.spmv(Op::None, 1.0, &self.residual(b, x)?, 1.0, x)?;
        }
        Ok(())
    }

    /// b − A·x.
    fn residual(&self, b: &Vector, x: &Vector) -> Result<Vector> {
        let mut r = b.clone();
        self.a.spmv(Op::None, -1.0, x, 1.0, &mut r)?;
        Ok(r)
    }
}

/// Bilinear interpolation to `n × n` points from every second of them in both directions.
fn interpolation(n: usize) -> Result<Csr<f64>> {
    const WEIGHTS: [f64; 3] = [0.5, 1.0, 0.5];
    let half = n / 2;
    let coarse = (0..half).flat_map(|i| (0..half).map(move |j| (i, j)));
    let near = || (0..3).flat_map(|di| (0..3).map(move |dj| (di, dj)));
    let entries = coarse.flat_map(|(i, j)| {
        near().map(move |(di, dj)| ((2 * i + di) * n + 2 * j + dj, i * half + j, WEIGHTS[di] * WEIGHTS[dj]))
    });
    Csr::from_triplets(n * n, half * half, entries)
}

/// u in the middle of `n × n` inner points, n = 2ᵏ − 1, for −Δu = 1 with u = 0 at the border, and the relative residual
/// after each V-cycle until it is below 10⁻⁸.
pub(crate) fn solve(device: &Device, n: usize) -> Result<(f64, Vec<f64>)> {
    let h = 1.0 / (n + 1) as f64;
    let finest = Level::new(Matrix::from_typed(device, nnz::generate::stencil_5::<f64>(n, n)?)?, n)?;
    let b = Vector::from_vec(device, vec![h * h; n * n])?;
    let mut u = Vector::zeros(device, DType::F64, n * n)?;
    let mut residuals = vec![];
    while residuals.len() < 50 && residuals.last().is_none_or(|&residual| residual > 1e-8) {
        finest.cycle(&b, &mut u)?;
        residuals.push(finest.residual(&b, &u)?.nrm2()? / b.nrm2()?);
    }
    Ok((u.to_vec::<f64>()?[n / 2 * n + n / 2], residuals))
}

fn main() -> Result<()> {
    let device = Device::best()?;
    let (middle, residuals) = solve(&device, 255)?;
    for (cycle, residual) in residuals.iter().enumerate() {
        println!("residual after V-cycle {}: {residual:.1e}", cycle + 1);
    }
    println!("u(1/2, 1/2) = {middle:.5}, by the series 0.07367");
    Ok(())
}
