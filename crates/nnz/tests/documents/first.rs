use nnz::prelude::*;
use nnz::{Method, SolveOptions};

fn main() -> nnz::Result<()> {
    let device = Device::best()?; // or "cuda:0".parse()?
    let a = Matrix::read(&device, "poisson.mtx")?;
    let ones = Vector::from_vec(&device, vec![1.0; a.ncols()])?;
    let b = (&a * &ones)?;
    let (x, solution) = a.solve(&b, &SolveOptions::new(Method::Cg))?;
    println!("{solution}, x[0] = {:.6}", x.to_vec::<f64>()?[0]);
    Ok(())
}
