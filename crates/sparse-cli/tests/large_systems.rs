//! `nnz solve` on 10⁵ unknowns with a condition number of 10⁶ and more, judged by b − A·x of the file that it writes.

use nnz::prelude::*;
use nnz::reference::Reference;
use nnz::{generate, io};
use std::path::Path;
use std::process::Command;

const TOLERANCE: f64 = 1e-8;

/// D·A·D for a Laplacian A, with a positive number added to its diagonal, and a diagonal D from 1 to 1000: a Hermitian
/// matrix has at least the condition number of its diagonal.
fn badly_scaled() -> Csr<f64> {
    let a: Csr<f64> = generate::stencil_5(320, 320).unwrap();
    let factor = |k: usize| 10f64.powi((k * 7 % 4) as i32);
    let shifted = |i, j, value| if i == j { value + 0.2 } else { value };
    let values = a.triplets().map(|(i, j, value)| factor(i) * shifted(i, j, value) * factor(j)).collect();
    a.with_values(values).unwrap()
}

fn norm(vector: &[f64]) -> f64 {
    vector.iter().map(|value| value * value).sum::<f64>().sqrt()
}

/// ‖b − A·x‖ / ‖b‖ of the command's x.
fn relative_residual(folder: &Path, a: &Csr<f64>, b: &[f64], method: &str) -> f64 {
    let [matrix, rhs, out] = ["a.npz", "b.npy", "x.npy"].map(|name| folder.join(name));
    let tolerance = TOLERANCE.to_string();
    let status = Command::new(env!("CARGO_BIN_EXE_nnz"))
        .args(["solve", "--backend", "cpu", "-q", "--jacobi", "--tol", &tolerance, "--method", method])
        .args([&matrix, &rhs])
        .arg("--out")
        .arg(&out)
        .status()
        .unwrap();
    assert!(status.success(), "{method}: {status}");
    let x = io::npy::read(&out).unwrap().into_dense::<f64>().unwrap();
    let mut residual = b.to_vec();
    Reference.spmv(Op::None, -1.0, a, x.data(), 1.0, &mut residual).unwrap();
    norm(&residual) / norm(b)
}

#[test]
fn large_systems_are_solved_to_the_tolerance() {
    let folder = tempfile::tempdir().unwrap();
    let a = badly_scaled();
    let b: Vec<f64> = (0..a.nrows()).map(|k| (k * 37 % 101) as f64 / 50.0 - 1.0).collect();
    io::write_csr(folder.path().join("a.npz"), &a).unwrap();
    io::npy::write(&folder.path().join("b.npy"), &b, &[b.len()], Order::RowMajor).unwrap();
    for method in ["cg", "bicgstab"] {
        let residual = relative_residual(folder.path(), &a, &b, method);
        assert!(residual <= 1.01 * TOLERANCE, "{method}: {residual:e}");
    }
}
