use nnz::prelude::*;
use nnz::solvers::{Cg, Identity, Options};
use std::ops::ControlFlow;

fn main() -> nnz::Result<()> {
    let cpu = Cpu::new()?;
    let a: Csr<f64> = nnz::io::read_csr("poisson.mtx")?;
    let mut b = vec![0.0; a.rows()];
    cpu.spmv(Op::None, 1.0, &a, &vec![1.0; a.cols()], 0.0, &mut b)?; // b = A·1
    let mut x = vec![0.0; a.cols()];
    let mut solver = Cg::new(&cpu, &a, Identity, &Options::default())?;
    let solution = solver.solve(&a, &b, &mut x, |_| ControlFlow::Continue(()))?;
    println!("{solution}, x[0] = {:.6}", x[0]);
    Ok(())
}
