use nnz::generate;
use nnz::prelude::*;
use nnz::solvers::{BiCgStab, Cg, Identity, Jacobi, Options, inverse_diagonal};
use std::ops::ControlFlow;

fn main() -> nnz::Result<()> {
    let cpu = Cpu::new()?;

    // Making matrices
    let coo = Coo::<f64>::new(2, 3, vec![1, 0], vec![1, 2], vec![3.0, 2.0])?;
    let csr: Csr<f64> = cpu.convert(&coo, &Duplicates::Sum)?;
    let mut a = Csr::<f64>::new(2, 3, vec![0, 2, 3], vec![0, 2, 1], vec![1.0, 2.0, 3.0])?;
    let eye = Csr::<f64>::identity(3)?;
    let random = generate::uniform::<f64>(9, 5, 2, 42)?;
    assert_eq!((csr.nnz(), random.nnz()), (2, 18));

    // Formats
    let csc: Csc<f64> = cpu.convert(&a, &())?;
    let coo: Coo<f64> = cpu.convert(&a, &())?;
    let transpose: Csc<f64> = eye.into_transpose();
    let mut dense = Dense::<f64>::zeros(2, 3, Order::RowMajor)?;
    cpu.to_dense(&a, dense.as_view_mut())?;
    let sparse: Csr<f64> = cpu.dense_to_csr(dense.as_view(), Keep::NonZero)?;
    assert_eq!([csc.nnz(), coo.nnz(), transpose.nnz(), sparse.nnz()], [3; 4]);

    // Looking and changing
    let (shape, nnz) = ((a.rows(), a.cols()), a.nnz());
    let lengths = a.row_lengths();
    let arrays = (a.row_ptr(), a.col_idx(), a.values());
    assert_eq!((shape, nnz, lengths, arrays.0.len()), ((2, 3), 3, vec![2, 1], 3));
    a.values_mut().copy_from_slice(&[1.0, 2.0, 3.0]);
    let sorted = cpu.sort(&a)?;
    let pruned = cpu.prune(&a, Keep::NonZero)?;
    let single = a.cast_values::<f32>()?;
    assert_eq!([sorted.nnz(), pruned.nnz(), single.nnz()], [3; 3]);

    // Multiplying
    let (mut x, mut y) = (vec![1.0; 3], vec![f64::NAN; 2]);
    cpu.spmv(Op::None, 1.0, &a, &x, 0.0, &mut y)?;
    cpu.spmv(Op::None, 2.0, &a, &x, -1.0, &mut y)?;
    assert_eq!(y, [3.0, 3.0]);
    cpu.spmv(Op::Transpose, 1.0, &a, &y, 0.0, &mut x)?;
    assert_eq!(x, [3.0, 9.0, 6.0]);
    let b = Dense::new(vec![1.0; 6], 3, 2, Order::RowMajor)?;
    let mut c = Dense::zeros(2, 2, Order::RowMajor)?;
    cpu.spmm(Op::None, 1.0, &a, b.as_view(), 0.0, c.as_view_mut())?;
    let mut plan = SpmvPlan::new(&cpu, &a, Op::None, &PlanOptions::default())?;
    plan.run(1.0, &a, &[1.0, 1.0, 1.0], 0.0, &mut y)?;

    // Solving
    let s = generate::stencil_5::<f64>(10, 10)?;
    let (b, mut x) = (vec![1.0; 100], vec![0.0; 100]);
    let options = Options { tolerance: 1e-8, ..Options::default() };
    let mut solver = Cg::new(&cpu, &s, Identity, &options)?;
    let solution = solver.solve(&s, &b, &mut x, |_| ControlFlow::Continue(()))?;
    let jacobi = Jacobi::new(&cpu, inverse_diagonal(&s)?)?;
    let mut other = BiCgStab::new(&cpu, &s, jacobi, &options)?;
    assert!(solution.converged() && other.solve(&s, &b, &mut x, |_| ControlFlow::Continue(()))?.converged());

    // Files
    let x = [1.0, 2.0, 3.0];
    nnz::io::write_csr("a.mtx", &a)?;
    nnz::io::write_csr("a.npz", &a)?;
    nnz::io::npy::write("x.npy", &x, &[3], Order::RowMajor)?;
    let coo: Coo<f64> = nnz::io::matrix_market::read_coo("a.mtx")?;
    let a: Csr<f64> = nnz::io::read_csr("a.mtx")?;
    assert!(coo.triplets().eq(a.triplets()));
    let a: Csr<f64> = nnz::io::read_csr("a.npz")?;
    assert_eq!(a.nnz(), 3);

    let device = Device::best()?;
    println!("{}", device.caps().device);
    Ok(())
}
