use nnz::prelude::*;
use nnz::{Method, SolveOptions};

fn main() -> nnz::Result<()> {
    let device = Device::best()?; // or "cuda:0".parse()?
    let poisson = nnz::generate::stencil_5::<f64>(100, 100)?; // a grid of 100 × 100 points
    let a = Matrix::from_typed(&device, poisson)?; // `Matrix::read(&device, "a.mtx")?` reads one from a file
    let ones = Vector::from_vec(&device, vec![1.0; a.ncols()])?;
    let b = (&a * &ones)?;
    let (x, solution) = a.solve(&b, &SolveOptions::new(Method::Cg))?;
    println!("{solution}, x[0] = {:.6}", x.to_vec::<f64>()?[0]);
    Ok(())
}
