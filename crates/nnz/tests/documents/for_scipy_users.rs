use nnz::prelude::*;
use nnz::graph::Connection;
use nnz::{Each, Method, Norm, PreconditionerKind, Reduction, SolveOptions, generate};
use std::ops::ControlFlow;

fn main() -> nnz::Result<()> {
    let device = Device::best()?;

    // Making matrices
    let coo = Coo::<f64>::new(2, 3, vec![1, 0], vec![1, 2], vec![3.0, 2.0])?;
    let csr = Csr::<f64>::new(2, 3, vec![0, 2, 3], vec![0, 2, 1], vec![1.0, 2.0, 3.0])?;
    let lengths = csr.row_lengths();
    let arrays = (csr.row_ptr(), csr.col_idx(), csr.values());
    assert_eq!((lengths, arrays.0.len()), (vec![2, 1], 3));
    nnz::io::write_csr("a.mtx", &csr)?;
    nnz::io::write_csr("a.npz", &csr)?;
    let element = csr.get(0, 2);
    assert_eq!(element, Some(2.0));
    let upper = csr.upper_triangle();
    assert_eq!(upper.nnz(), 3);
    let (d, u) = ([1.0, 2.0, 3.0], [4.0, 5.0]);
    let diagonals = Csr::<f64>::from_diagonals(3, 3, &[(0, &d), (1, &u)])?;
    assert_eq!((diagonals.diagonal(), diagonals.get(1, 2)), (vec![1.0, 2.0, 3.0], Some(5.0)));
    let coo = Matrix::from_typed(&device, coo)?;
    let a = Matrix::from_typed(&device, csr)?;
    let (below, beside) = (Matrix::vstack(&[&a, &a])?, Matrix::hstack(&[&a, &a])?);
    let (blocks, kron) = (Matrix::block_diag(&[&a, &a])?, a.kron(&a)?);
    assert_eq!([below, beside, blocks, kron].map(|a| a.nnz()), [6, 6, 6, 9]);
    let eye = Matrix::from_typed(&device, Csr::<f64>::identity(3)?)?;
    let random = Matrix::from_typed(&device, generate::uniform::<f64>(9, 5, 2, 42)?)?;
    assert_eq!((coo.nnz(), eye.nnz(), random.nnz()), (2, 3, 18));

    // Formats
    let csr = coo.to_format(Format::Csr)?;
    let csc = a.to_format(Format::Csc)?;
    let coo = a.to_format(Format::Coo)?;
    let dense = a.to_dense()?;
    let sparse = dense.to_sparse(Format::Csr, None)?;
    let transpose = a.transpose()?;
    assert_eq!([csr, csc, coo, sparse, transpose].map(|a| a.nnz()), [2, 3, 3, 3, 3]);

    // Looking and changing
    let (shape, nnz, dtype) = (a.shape(), a.nnz(), a.dtype());
    assert_eq!((shape, nnz, dtype), ((2, 3), 3, DType::F64));
    let doubled = (&a * 2.0)?;
    let sum = (&a + &doubled)?;
    let difference = a.add(&doubled, 2.0, -1.0)?;
    let product = a.multiply(&doubled)?;
    assert_eq!([sum.nnz(), product.nnz(), difference.nnz(), difference.prune(None)?.nnz()], [3, 3, 3, 0]);
    let chosen = a.select(&[1], &[2, 0])?;
    let corner = a.select(1.., ..2)?;
    assert_eq!((chosen.shape(), chosen.nnz(), corner.shape()), ((1, 2), 0, (1, 2)));
    let (main_diagonal, values) = (a.diagonal(0)?, a.values()?);
    let logarithms = a.map_values(f64::ln_1p)?;
    let positive = a.with_values(&Vector::from_vec(&device, vec![1.0; a.nnz()])?)?;
    assert_eq!([main_diagonal.len(), values.len(), logarithms.nnz(), positive.nnz()], [2, 3, 3, 3]);
    let sorted = a.sort()?;
    let pruned = a.prune(None)?;
    let single = a.cast(DType::F32)?;
    assert_eq!([doubled.nnz(), sorted.nnz(), pruned.nnz(), single.nnz()], [3; 4]);

    // Multiplying
    let x = Vector::from_vec(&device, vec![1.0; 3])?;
    let mut y = (&a * &x)?;
    let residual = (&y - &(&a * &x)?)?;
    assert_eq!(residual.nrm2()?, 0.0);
    a.spmv(Op::None, 2.0, &x, -1.0, &mut y)?;
    assert_eq!(y.to_vec::<f64>()?, [3.0, 3.0]);
    let mut z = Vector::zeros(&device, DType::F64, 3)?;
    a.spmv(Op::Transpose, 1.0, &y, 0.0, &mut z)?;
    assert_eq!(z.to_vec::<f64>()?, [3.0, 9.0, 6.0]);
    let b = DenseMatrix::from_vec(&device, vec![1.0; 6], 3, 2, Order::RowMajor)?;
    let c = (&a * &b)?;
    assert_eq!(c.values().to_vec::<f64>()?, [3.0; 4]);
    let u = DenseMatrix::from_vec(&device, vec![1.0, 2.0, 3.0, 4.0], 2, 2, Order::RowMajor)?;
    let scores = a.sddmm(&u, &b)?;
    assert_eq!(scores.to_dense()?.values().to_vec::<f64>()?, [3.0, 0.0, 6.0, 0.0, 21.0, 0.0]);
    let scaled = a.scaled_by(Some(&y), Some(&z))?;
    assert_eq!(scaled.to_dense()?.values().to_vec::<f64>()?, [9.0, 0.0, 36.0, 0.0, 81.0, 0.0]);
    let host = Device::host()?;
    let (left, right) = (a.to_device(&host)?, eye.to_device(&host)?);
    let product = (&left * &right)?;
    assert_eq!((product.nnz(), product.format()), (3, Format::Csr));
    let product = left.matmul_in_chunks(&right, Some(1 << 30))?;
    assert_eq!(product.nnz(), 3);
    let gram = (&left.transpose()? * &left)?;
    assert_eq!(gram.shape(), (3, 3));
    let p = left.transpose()?.to_format(Format::Csr)?;
    let coarse = right.galerkin(&left, &p)?;
    assert_eq!((coarse.shape(), coarse.nnz()), ((2, 2), 2));

    // Reducing
    let sums = a.reduce(Each::Row, Reduction::Sum)?;
    let shares = a.scaled_by(Some(&sums.map_values(|sum: f64| 1.0 / sum)?), None)?;
    assert_eq!(shares.nnz(), a.nnz());
    let largest = a.reduce(Each::Column, Reduction::Max)?;
    assert_eq!((sums.to_vec::<f64>()?, largest.to_vec::<f64>()?), (vec![3.0, 3.0], vec![1.0, 3.0, 2.0]));
    let variances = a.reduce(Each::Row, Reduction::Variance)?;
    let lengths = a.reduce(Each::Row, Reduction::Norm2)?;
    assert_eq!(variances.to_vec::<f64>()?, [2.0 / 3.0, 2.0]);
    assert_eq!(lengths.to_vec::<f64>()?, [5.0_f64.sqrt(), 3.0]);
    let norm = a.norm(Norm::Frobenius)?;
    assert!((norm - 14.0_f64.sqrt()).abs() < 1e-15);

    // Solving
    let s = Matrix::from_typed(&device, generate::stencil_5::<f64>(10, 10)?)?;
    let symmetrized = s.symmetrize()?;
    assert_eq!((&symmetrized - &s)?.norm(Norm::Infinity)?, 0.0);
    let d = Vector::from_vec(&device, vec![0.5; 100])?;
    let scaled = s.scaled_by(Some(&d), Some(&d))?;
    assert_eq!((scaled.add(&s, 1.0, -0.25)?).norm(Norm::Infinity)?, 0.0);
    let b = Vector::from_vec(&device, vec![1.0; 100])?;
    let mut options = SolveOptions::new(Method::Cg);
    options.solver.tolerance = 1e-8;
    let (mut x, solution) = s.solve(&b, &options)?;
    options.preconditioner = PreconditionerKind::Jacobi;
    options.method = Method::EnqueuedCg;
    assert!(s.solve(&b, &options)?.1.converged());
    options.method = Method::BiCgStab;
    let again = s.solve_from(&b, &mut x, &options, |_| ControlFlow::Continue(()))?;
    assert!(solution.converged() && again.converged());
    options.method = Method::Gmres;
    options.solver.restart = 30;
    assert!(s.solve(&b, &options)?.1.converged());
    options.method = Method::Minres;
    assert!(s.solve(&b, &options)?.1.converged());
    let (fit, solution) = a.solve(&sums, &SolveOptions::new(Method::Lsqr))?;
    assert!(solution.converged() && fit.len() == 3);
    options.preconditioner = PreconditionerKind::None;
    options.method = Method::Lsmr;
    options.solver.least_squares.damp = 0.1;
    assert!(a.solve(&sums, &options)?.1.converged());
    if cfg!(feature = "direct") {
        options.method = Method::Direct;
        assert!(s.solve(&b, &options)?.1.converged());
    }

    let x = s.solve_triangular(Triangular::lower().unit_diagonal(), &b)?;
    options.method = Method::BiCgStab;
    options.preconditioner = PreconditionerKind::Ilu0;
    let (_, solution) = s.solve(&b, &options)?;
    assert!(solution.converged());
    let mut ilu0 = s.preconditioner(PreconditionerKind::Ilu0)?;
    let mut solver = s.solver_with(&options, &ilu0)?;
    let mut next = b.clone();
    assert!(solver.solve_from(&b, &mut next, |_| ControlFlow::Continue(()))?.converged());
    solver.update(&s.scaled(2.0)?)?;
    ilu0.update(&s.scaled(2.0)?)?;
    assert!(solver.solve_from(&b, &mut next, |_| ControlFlow::Continue(()))?.converged());

    // Graphs
    let p = s.reverse_cuthill_mckee()?;
    let permuted = s.permute(&p, &p)?;
    let bandwidth = s.graph()?.bandwidth();
    assert!(permuted.graph()?.bandwidth().0 <= bandwidth.0 + 1);
    let strong = s.connected_components(Connection::Strong)?;
    let components = s.connected_components(Connection::Weak)?;
    assert_eq!(components, strong);
    assert_eq!(components.count, 1);

    // Files
    nnz::io::npy::write("x.npy", &x.to_vec::<f64>()?, &[100], Order::RowMajor)?;
    let coo: Coo<f64> = nnz::io::matrix_market::read_coo("a.mtx")?;
    let a = Matrix::read(&device, "a.mtx")?;
    assert_eq!((coo.triplets().count(), a.nnz()), (3, 3));
    let a = Matrix::read(&device, "a.npz")?;
    a.write("b.mtx")?;
    println!("{a:?} on {}", device.caps().device);
    Ok(())
}
