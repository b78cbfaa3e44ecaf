//! Incomplete factorizations against dense ones, and iterations with each preconditioner.

use crate::common::{matrix, right_hand_side};
use sparse_core::op::{RealOf, SpmvKernel, TrisolveKernel};
use sparse_core::reference::Reference;
use sparse_core::{Accumulator, Csr, Error, Host, Result, Scalar, c32, c64};
use sparse_generate::stencil_5;
use sparse_solvers::{
    BiCgStab, BlockJacobi, Cg, Ic0, Identity, Ilu0, Jacobi, Preconditioner, SolverOptions, inverse_diagonal,
};
use std::ops::ControlFlow;

/// A five-point Laplacian between diagonal matrices whose elements range over four orders of magnitude.
fn badly_scaled(n: usize) -> Csr<f64> {
    let mut a = stencil_5::<f64>(n, n).unwrap();
    let scale = |i: usize| 10_f64.powi((i * 7 % 5) as i32 - 2);
    let values = a.triplets().map(|(i, j, value)| scale(i) * value * scale(j)).collect::<Vec<_>>();
    a.values_mut().copy_from_slice(&values);
    a
}

/// Diffusion with a convection to one side: not symmetric.
fn convection(n: usize) -> Csr<f64> {
    let mut a = stencil_5::<f64>(n, n).unwrap();
    let factor = |i: usize, j: usize| 1.0 + 0.4 * (i as f64 - j as f64).clamp(-1.0, 1.0);
    let values: Vec<_> = a.triplets().map(|(i, j, value)| factor(i, j) * value).collect();
    a.values_mut().copy_from_slice(&values);
    a
}

/// A complex Hermitian matrix of 5 points, diagonally dominant.
fn hermitian(n: usize) -> Csr<c64> {
    let a = stencil_5::<f64>(n, n).unwrap();
    let turn = |i: usize, j: usize| match i.cmp(&j) {
        std::cmp::Ordering::Equal => c64::new(1.0, 0.0),
        std::cmp::Ordering::Less => c64::new(0.6, 0.8),
        std::cmp::Ordering::Greater => c64::new(0.6, -0.8),
    };
    let values = a.triplets().map(|(i, j, value)| turn(i, j) * value).collect();
    a.with_values(values).unwrap()
}

fn dense<T: Scalar>(a: &Csr<T>) -> Vec<Vec<T>> {
    let mut elements = vec![vec![T::ZERO; a.ncols()]; a.nrows()];
    a.triplets().for_each(|(i, j, value)| elements[i][j] = value);
    elements
}

/// Cholesky's factor of dense rows, with zeros wherever `a` has no entry.
fn dense_ic0<T: Accumulator>(a: &Csr<T>) -> Vec<Vec<T>> {
    let (elements, n) = (dense(a), a.nrows());
    let mut l = vec![vec![T::ZERO; n]; n];
    for i in 0..n {
        for j in (0..=i).filter(|&j| !Scalar::is_zero(elements[i][j])) {
            let products = (0..j).fold(T::ZERO, |sum, k| sum + l[i][k] * l[j][k].conj());
            let rest = elements[i][j] - products;
            l[i][j] = if i == j { T::from_real(num_traits::Float::sqrt(rest.re())) } else { rest / l[j][j] };
        }
    }
    l
}

fn close<T: Accumulator>(found: T, expected: T, tolerance: f64) -> bool {
    (found - expected).abs().to_c64().re <= tolerance * (1.0 + expected.abs().to_c64().re)
}

/// Iterations to a residual of 1e-10, which must be reached.
fn iterations<P: Preconditioner<Reference, f64>>(is_cg: bool, a: &Csr<f64>, preconditioner: P) -> usize {
    let (b, mut x) = (right_hand_side(a.nrows()), vec![0.0; a.nrows()]);
    let (options, go_on) = (SolverOptions::default(), |_| ControlFlow::Continue(()));
    let solution = match is_cg {
        true => Cg::new(&Reference, a, preconditioner, &options).unwrap().solve(a, &b, &mut x, go_on),
        false => BiCgStab::new(&Reference, a, preconditioner, &options).unwrap().solve(a, &b, &mut x, go_on),
    };
    let solution = solution.unwrap();
    assert!(solution.converged(), "{solution}");
    solution.iterations
}

fn jacobi(a: &Csr<f64>) -> Jacobi<Reference, f64> {
    Jacobi::new(&Reference, a).unwrap()
}

#[test]
fn ic0_is_the_dense_factor_on_its_pattern_and_has_no_residual_there() {
    fn check<T: Accumulator>(a: &Csr<T>) {
        let mut ic0 = Ic0::new(&Reference, a).unwrap();
        let (n, expected, l) = (a.nrows(), dense_ic0(a), dense(ic0.factor()));
        let tolerance = 16.0 * RealOf::<T>::epsilon_f64();
        for (i, j, value) in a.triplets().filter(|&(i, j, _)| j <= i) {
            assert!(close(l[i][j], expected[i][j], tolerance), "({i}, {j})");
            let product = (0..n).fold(T::ZERO, |sum, k| sum + l[i][k] * l[j][k].conj());
            assert!(close(product, value, tolerance), "({i}, {j}): {product}");
        }
        // K·K⁻¹·r = r with K = L·Lᴴ.
        let r = right_hand_side::<T>(n);
        let z = ic0.apply(&r).unwrap().to_vec();
        let y: Vec<T> = (0..n).map(|k| (0..n).fold(T::ZERO, |sum, i| sum + l[i][k].conj() * z[i])).collect();
        let back = (0..n).map(|i| (0..n).fold(T::ZERO, |sum, k| sum + l[i][k] * y[k]));
        assert!(back.zip(&r).all(|(back, &r)| close(back, r, 1e3 * tolerance)));
    }
    check(&badly_scaled(5));
    check(&hermitian(5));
    check(&stencil_5::<f32>(4, 4).unwrap());
}

/// The distance from 1 to the next number, in double precision.
trait Epsilon {
    fn epsilon_f64() -> f64;
}

impl<R: sparse_core::Real> Epsilon for R {
    fn epsilon_f64() -> f64 {
        R::epsilon().to_c64().re
    }
}

#[test]
fn ilu0_of_a_tridiagonal_matrix_is_its_exact_lu() {
    let n = 12;
    let element = |i: usize, j: usize| match j as i64 - i as i64 {
        -1 => 0.3 + i as f64,
        0 => 20.0 / (1 + i % 3) as f64,
        1 => -1.7,
        _ => 0.0,
    };
    let a = matrix(n, element);
    let mut ilu0 = Ilu0::new(&Reference, &a).unwrap();
    let mut pivot = element(0, 0);
    let factors = dense(ilu0.factors());
    for i in 1..n {
        // Thomas's algorithm, to the last bit.
        let factor = element(i, i - 1) / pivot;
        pivot = element(i, i) - factor * element(i - 1, i);
        assert_eq!((factors[i][i - 1], factors[i][i]), (factor, pivot), "row {i}");
    }
    let b: Vec<f64> = (0..n).map(|i| (0..n).map(|j| element(i, j) * (j + 1) as f64).sum()).collect();
    let x = ilu0.apply(&b).unwrap();
    assert!(x.iter().enumerate().all(|(j, &x)| close(x, (j + 1) as f64, 1e-13)), "{x:?}");
}

#[test]
fn ilu0_has_no_residual_on_its_pattern() {
    let a = convection(5);
    let ilu0 = Ilu0::new(&Reference, &a).unwrap();
    let factors = dense(ilu0.factors());
    for (i, j, value) in a.triplets() {
        let lower = |k| if k == i { 1.0 } else { factors[i][k] };
        let product: f64 = (0..=i.min(j)).map(|k| lower(k) * factors[k][j]).sum();
        assert!(close(product, value, 1e-14), "({i}, {j})");
    }
}

#[test]
fn factors_take_fewer_iterations_than_the_diagonal_and_that_fewer_than_nothing() {
    let a = badly_scaled(12);
    let [plain, diagonal] = [iterations(true, &a, Identity), iterations(true, &a, jacobi(&a))];
    let factor = iterations(true, &a, Ic0::new(&Reference, &a).unwrap());
    assert!(2 * factor < diagonal && 2 * diagonal < plain, "{factor} {diagonal} {plain}");
    let a = convection(12);
    let [plain, diagonal] = [iterations(false, &a, Identity), iterations(false, &a, jacobi(&a))];
    let blocks = iterations(false, &a, BlockJacobi::new(&Reference, &a, 12).unwrap());
    let factors = iterations(false, &a, Ilu0::new(&Reference, &a).unwrap());
    assert!(factors < blocks && blocks < diagonal.min(plain), "{factors} {blocks} {diagonal} {plain}");
}

#[test]
fn blocks_solve_a_block_diagonal_matrix_and_are_the_diagonal_where_they_have_one_row() {
    let a = matrix(7, |i, j| if i / 3 == j / 3 { 1.0 / (i + j + 1) as f64 + f64::from(i == j) } else { 0.0 });
    let x: Vec<f64> = (1..=7).map(f64::from).collect();
    let b: Vec<f64> = dense(&a).iter().map(|row| row.iter().zip(&x).map(|(a, x)| a * x).sum()).collect();
    let mut blocks = BlockJacobi::new(&Reference, &a, 3).unwrap();
    assert!(blocks.apply(&b).unwrap().iter().zip(&x).all(|(&found, &x)| close(found, x, 1e-14)));
    let mut single = BlockJacobi::new(&Reference, &a, 1).unwrap();
    assert_eq!(single.apply(&b).unwrap(), jacobi(&a).apply(&b).unwrap());
}

#[test]
fn other_values_in_the_same_pattern_give_the_factors_of_a_new_factorization() {
    fn check<P: Preconditioner<Reference, f64>>(
        new: impl Fn(&Csr<f64>) -> Result<P>,
        update: impl Fn(&mut P, &Csr<f64>) -> Result<()>,
    ) {
        let a = badly_scaled(6);
        let other = a.with_values(a.values().iter().map(|value| 0.7 * value).collect()).unwrap();
        let mut updated = new(&a).unwrap();
        update(&mut updated, &other).unwrap();
        let r = right_hand_side::<f64>(36);
        assert_eq!(updated.apply(&r).unwrap(), new(&other).unwrap().apply(&r).unwrap());
    }
    check(|a| Ilu0::new(&Reference, a), Ilu0::update);
    check(|a| Ic0::new(&Reference, a), Ic0::update);
    check(|a| BlockJacobi::new(&Reference, a, 5), BlockJacobi::update);
    check(|a| Ok(jacobi(a)), |jacobi, a| jacobi.update(&inverse_diagonal(a)?));
    let mut ilu0 = Ilu0::new(&Reference, &convection(6)).unwrap();
    ilu0.update(&convection(6)).unwrap(); // an equal pattern
    let mut ic0 = Ic0::new(&Reference, &badly_scaled(6)).unwrap();
    let moved = {
        let a = badly_scaled(6);
        let mut columns = a.indices().to_vec();
        columns[2] += 1; // the last entry of the first row
        Csr::new(36, 36, a.offsets().to_vec(), columns, a.values().to_vec()).unwrap()
    };
    for other in [Csr::identity(36).unwrap(), moved] {
        assert!(matches!(ilu0.update(&other), Err(Error::PlanMismatch { op: "ilu0", .. })));
        assert!(matches!(ic0.update(&other), Err(Error::PlanMismatch { op: "ic0", .. })));
    }
}

#[test]
fn what_cannot_be_factorized_is_an_error_with_its_row() {
    fn text<P>(preconditioner: Result<P>) -> String {
        preconditioner.err().unwrap().to_string()
    }
    let gap = matrix(3, |i, j| if i == j && i < 2 || i > j { 1.0 } else { 0.0 });
    let missing = "row 2: a diagonal entry is needed, none is stored";
    assert_eq!(text(Ilu0::new(&Reference, &gap)), format!("ilu0: {missing}"));
    assert_eq!(text(Ic0::new(&Reference, &gap)), format!("ic0: {missing}"));
    let a = Csr::<f64>::new_unsorted(1, 1, vec![0, 2], vec![0, 0], vec![1.0, 1.0]).unwrap();
    assert!(text(Ilu0::new(&Reference, &a)).starts_with("ilu0 of this matrix is not supported"));
    let a = Csr::<f64>::identity(4).unwrap().with_values(vec![1.0, 2.0, -4.0, 0.0]).unwrap();
    assert!(text(Ic0::new(&Reference, &a)).starts_with("ic0: row 2: the pivot is -4, a positive one"));
    assert!(text(Ilu0::new(&Reference, &a)).starts_with("ilu0: row 3: the pivot is 0"));
    let values = vec![c64::new(2.0, 0.0), c64::new(2.0, 1e-9)];
    let not_hermitian = Csr::<c64>::identity(2).unwrap().with_values(values).unwrap();
    assert!(text(Ic0::new(&Reference, &not_hermitian)).starts_with("ic0: row 1: the diagonal is 2"));
    let singular = "block-jacobi: row 3: its block is singular: there is no pivot";
    assert_eq!(text(BlockJacobi::new(&Reference, &a, 2)), singular);
    assert!(text(BlockJacobi::new(&Reference, &a, 0)).starts_with("blocks of 0 rows"));
    let large = Csr::<f64>::identity(160_000).unwrap();
    let too_many = "entries of the inverse blocks = 25600000000 does not fit i32";
    assert_eq!(text(BlockJacobi::new(&Reference, &large, 160_000)), too_many);
}

/// A program can hold any of them behind one type.
#[test]
fn preconditioners_are_chosen_at_run_time() {
    fn boxed<B>(backend: &B, a: &Csr<f64>) -> Vec<Box<dyn Preconditioner<B, f64>>>
    where
        B: TrisolveKernel<Csr<f64>, Space = Host> + SpmvKernel<Csr<f64>> + sparse_core::op::VectorKernel<f64>,
    {
        vec![
            Box::new(Identity),
            Box::new(Jacobi::new(backend, a).unwrap()),
            Box::new(BlockJacobi::new(backend, a, 4).unwrap()),
            Box::new(Ilu0::new(backend, a).unwrap()),
            Box::new(Ic0::new(backend, a).unwrap()),
        ]
    }
    let a = badly_scaled(6);
    let found = boxed(&Reference, &a).into_iter().map(|preconditioner| iterations(true, &a, preconditioner));
    let found: Vec<_> = found.collect();
    assert!(
        found[4] < found[0] && found[3] == found[4],
        "ILU(0) of a symmetric matrix is its IC(0): {found:?}"
    );
}

#[test]
fn complex_diagonals_are_inverted_over_the_range_of_real_ones() {
    for entry in [1e-22, 3e-23, 2e-23, 2e19_f32] {
        let a = Csr::<c32>::new(1, 1, vec![0, 1], vec![0], vec![c32::new(0.0, entry)]).unwrap();
        let inverse = inverse_diagonal(&a).unwrap()[0];
        assert_eq!(inverse.re, 0.0);
        assert!((f64::from(inverse.im) * f64::from(entry) + 1.0).abs() < 1e-6, "{entry}: {inverse}");
    }
}
