"""Every operation on a matrix of a file: conversions, products, compression, and solutions of systems made of it."""

import re

import numpy as np
import scipy.io
import scipy.sparse as sp
import scipy.sparse.linalg
from command import canonical, check_bound, random_operand, same_arrays

# The part of a matrix that is compressed from a dense array.
DENSE_ROWS, DENSE_COLS = 1500, 3000


def compare(nnz, path):
    rng = np.random.default_rng(2026)
    a = canonical(scipy.io.mmread(path))
    a = a if np.iscomplexobj(a.data) else a.astype(np.float64)
    compare_convert(nnz, path, a)
    compare_spmv(nnz, path, a, rng)
    compare_spmm(nnz, path, a, rng)
    compare_compress(nnz, a)
    compare_solve(nnz, a, rng, "cg")
    compare_solve(nnz, a, rng, "bicgstab")
    compare_trisolve(nnz, a, rng)
    compare_ic0(nnz, path, a)


def compare_convert(nnz, path, a):
    out = nnz.folder / "a.npz"
    nnz("convert", path, out)
    same_arrays(sp.load_npz(out), a)
    back = nnz.folder / "back.mtx"
    nnz("convert", out, back)
    same_arrays(canonical(scipy.io.mmread(back)), a)


def compare_spmv(nnz, path, a, rng):
    x = random_operand(rng, a, a.shape[1])
    for layout in ("csr", "csc", "coo", "hyb", "sell"):
        check_bound(a, x, nnz.product("spmv", path, x, "--as", layout))
    y0 = random_operand(rng, a, a.shape[0])
    np.save(nnz.folder / "y0.npy", y0)
    options = ("--alpha", "2", "--beta", "-0.5", "--y", nnz.folder / "y0.npy")
    check_bound(a, x, nnz.product("spmv", path, x, *options), 2.0, -0.5, y0)
    transposed = canonical(a.T)
    x = random_operand(rng, a, a.shape[0])
    check_bound(transposed, x, nnz.product("spmv", path, x, "--op", "t"))


def compare_spmm(nnz, path, a, rng):
    b = random_operand(rng, a, (a.shape[1], 5))
    check_bound(a, b, nnz.product("spmm", path, b))
    check_bound(a, b, nnz.product("spmm", path, np.asfortranarray(b)))


def compare_compress(nnz, a):
    dense = a[:DENSE_ROWS, :DENSE_COLS].toarray()
    np.save(nnz.folder / "dense.npy", dense)
    for layout, kind in (("csr", sp.csr_matrix), ("csc", sp.csc_matrix)):
        out = nnz.folder / "compressed.npz"
        nnz("compress", nnz.folder / "dense.npy", out, "--to", layout)
        same_arrays(sp.load_npz(out), kind(dense))


def dominant(a):
    """A Hermitian matrix around `a` whose diagonal is twice the sum of the rest of its row, and 1: ‖B⁻¹‖∞ <= 1, and
    with its diagonal divided out its condition is below 3."""
    rest = sp.bmat([[None, a], [a.conj().T, None]], format="csr")
    return canonical(rest + sp.diags(2.0 * np.asarray(abs(rest).sum(axis=1)).ravel() + 1.0))


def compare_solve(nnz, a, rng, method):
    system = dominant(a)
    path = nnz.folder / "system.npz"
    sp.save_npz(path, system)
    expected = random_operand(rng, a, system.shape[0])
    b = system @ expected
    np.save(nnz.folder / "b.npy", b)
    out = nnz.folder / "solution.npy"
    tolerance = 1e-10
    nnz("solve", path, nnz.folder / "b.npy", "-o", out, "--method", method, "--tol", tolerance, "--jacobi")
    x = np.load(out)
    residual = np.abs(b - system @ x)
    assert np.linalg.norm(residual) <= 1.001 * tolerance * np.linalg.norm(b), "the residual passes the tolerance"
    rounding = 1e-13 * (abs(system) @ np.abs(expected)).max()
    assert np.abs(x - expected).max() <= residual.max() + rounding, "the solution is further off than its residual"


def compare_trisolve(nnz, a, rng):
    """Each triangle of a matrix whose other one is stored too, within Higham's componentwise bound."""
    system = dominant(a)
    path = nnz.folder / "system.npz"
    sp.save_npz(path, system)
    b = random_operand(rng, a, system.shape[0])
    np.save(nnz.folder / "b.npy", b)
    for option, triangle in (("--lower", sp.tril(system)), ("--upper", sp.triu(system))):
        out = nnz.folder / "solution.npy"
        nnz("trisolve", path, nnz.folder / "b.npy", "-o", out, option)
        x = np.load(out)
        longest = np.diff(triangle.tocsr().indptr).max() + 8
        bound = 4 * longest * np.finfo(np.float64).eps * (abs(triangle) @ np.abs(x))
        assert (np.abs(b - triangle @ x) <= bound).all(), f"{option}: the residual passes its bound"


def ic0(a):
    """L of the incomplete Cholesky factorization of a real symmetric `a` in its own pattern; None where it breaks down."""
    lower = sp.tril(a, format="csr")
    starts, columns, values = lower.indptr, lower.indices, lower.data.copy()
    rows = [dict() for _ in range(a.shape[0])]
    for i in range(a.shape[0]):
        for k in range(starts[i], starts[i + 1]):
            j = columns[k]
            shorter, longer = sorted((rows[i], rows[j]), key=len)
            rest = values[k] - sum(value * longer[t] for t, value in shorter.items() if t in longer)
            if i == j and rest <= 0.0:
                return None
            values[k] = np.sqrt(rest) if i == j else rest / rows[j][j]
            rows[i][j] = values[k]
    return sp.csr_matrix((values, columns, starts), shape=a.shape)


def compare_ic0(nnz, path, a):
    """Conjugate gradients preconditioned by IC(0): as many iterations as SciPy's with the same factor."""
    full_diagonal = a.shape[0] == a.shape[1] and (a.diagonal() != 0).all()
    if not full_diagonal or np.iscomplexobj(a.data) or (a != a.T).nnz or a.nnz == a.shape[0]:
        return
    factor = ic0(a)
    b = a @ np.random.default_rng(5).standard_normal(a.shape[0])
    np.save(nnz.folder / "b.npy", b)
    arguments = ("solve", path, nnz.folder / "b.npy", "-o", nnz.folder / "solution.npy", "--method", "cg")
    arguments = (*arguments, "--preconditioner", "ic0", "--tol", 1e-8, "--dtype", "f64")
    if factor is None:
        assert "pivot" in nnz(*arguments, expect=1), "IC(0) exists for nnz and not here"
        return
    solve = scipy.sparse.linalg.spsolve_triangular
    upper = factor.T.tocsr()

    def apply(r):
        return solve(upper, solve(factor, r, lower=True), lower=False)

    preconditioner, norms = scipy.sparse.linalg.LinearOperator(a.shape, apply, dtype=np.float64), []
    _, failed = scipy.sparse.linalg.cg(a, b, rtol=1e-8, M=preconditioner, callback=norms.append)
    assert not failed, "SciPy did not converge"
    found = int(re.search(r"iterations: (\d+)", nnz(*arguments)).group(1))
    # Rounding errors decide where the residual passes its bound between two iterations.
    assert abs(found - len(norms)) <= 1 + len(norms) // 100, f"{found} iterations, SciPy takes {len(norms)}"
    print(f"{path.name}: IC(0): {found} iterations, SciPy {len(norms)}")


def compare_methods(nnz):
    """One small system for each method that `compare_solve` does not run: SciPy's x by the method of that name."""
    rng = np.random.default_rng(11)
    tall = canonical(sp.random(60, 40, 0.1, random_state=rng) + 2.0 * sp.eye(60, 40))
    square, linalg = dominant(tall), scipy.sparse.linalg
    atol_btol = {"atol": 1e-13, "btol": 1e-13}
    cases = (
        (square, ("gmres", "--restart", "15"), lambda b: linalg.gmres(square, b, rtol=1e-12, restart=15)),
        (square, ("minres",), lambda b: linalg.minres(square, b, rtol=1e-14)),
        (tall, ("lsqr",), lambda b: linalg.lsqr(tall, b, **atol_btol)),
        (tall, ("lsmr", "--damp", "0.5"), lambda b: linalg.lsmr(tall, b, damp=0.5, **atol_btol)),
    )
    out = nnz.folder / "solution.npy"
    for a, method, solve in cases:
        b = rng.standard_normal(a.shape[0])
        sp.save_npz(nnz.folder / "system.npz", a)
        np.save(nnz.folder / "b.npy", b)
        nnz("solve", nnz.folder / "system.npz", nnz.folder / "b.npy", "-o", out, "--tol", 1e-12, "--method", *method)
        found, expected = np.load(out), solve(b)[0]
        error = np.linalg.norm(found - expected)
        assert error <= 1e-9 * np.linalg.norm(expected), f"{method[0]} is off by {error}"
