"""The command against SciPy, on every real matrix that is there, and on random ones in every format and type.

`convert`, `compress`, `add`, `multiply`, `slice`, `transpose` and `spgemm` of integers must give SciPy's arrays to the bit, `spmv` and `spmm` the componentwise
bound around a product in extended precision, `solve` the residual that it promises and the solution that follows from
it, `trisolve` a residual within Higham's componentwise bound.

    python3 crates/sparse-cli/tests/compare_with_scipy.py --nnz target/release/nnz
"""

import argparse
import gzip
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import scipy.io
import scipy.sparse as sp
import scipy.sparse.linalg

CORPUS = Path(__file__).resolve().parents[3] / "../shared/data/matrices"
DENSE_ROWS, DENSE_COLS = 1500, 3000
RANDOM_MATRICES = 500
INTEGERS = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
TYPES = (*INTEGERS, "float32", "float64", "complex64", "complex128")
FORMATS = ("csr", "csc", "coo", "ell", "hyb", "sell")


def own_matrices(folder):
    """Matrices of this script's own, so that it checks something where the corpus is not."""
    rng = np.random.default_rng(7)
    skewed = sp.random(700, 300, 0.02, random_state=rng).tolil()
    skewed[13, :] = 1.5
    skewed[400:420, :] = 0
    matrices = {
        "random": sp.random(500, 500, 0.02, random_state=rng),
        "skewed": skewed.tocoo(),
        "complex": sp.random(90, 120, 0.1, random_state=rng) * (1 - 2j),
        "laplacian": sp.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(1000, 1000)),
    }
    for name, matrix in matrices.items():
        path = folder / f"{name}.mtx"
        scipy.io.mmwrite(path, sp.coo_matrix(matrix), symmetry="general", precision=17)
        yield path


class Command:
    """Runs the command under test; a failure that is not expected ends the comparison."""

    def __init__(self, path, folder):
        self.path, self.folder = path, folder

    def __call__(self, *arguments, expect=0):
        words = [str(self.path), "-q", *map(str, arguments)]
        done = subprocess.run(words, capture_output=True, text=True)
        if done.returncode != expect:
            raise AssertionError(f"{' '.join(words)}: exit {done.returncode}, not {expect}\n{done.stderr}")
        return done.stdout + done.stderr

    def product(self, verb, matrix, operand, *options):
        """The output of `nnz spmv` or `nnz spmm` as an array."""
        x, y = self.folder / "x.npy", self.folder / "y.npy"
        np.save(x, operand)
        self(verb, matrix, x, "-o", y, *options)
        return np.load(y)


def extended(array):
    return array.astype(np.clongdouble if np.iscomplexobj(array) else np.longdouble)


def exact_product(a, x):
    """(A·x, |A|·|x|) in extended precision, for a vector or a matrix x."""
    wide = extended(x if x.ndim == 2 else x[:, None])
    row = np.repeat(np.arange(a.shape[0]), np.diff(a.indptr))
    values = extended(a.data)
    shape = (a.shape[0], wide.shape[1])
    product = np.zeros(shape, np.result_type(values, wide))
    magnitude = np.zeros(shape, np.longdouble)
    np.add.at(product, row, values[:, None] * wide[a.indices])
    np.add.at(magnitude, row, np.abs(values)[:, None] * np.abs(wide[a.indices]))
    return (product, magnitude) if x.ndim == 2 else (product[:, 0], magnitude[:, 0])


def check_bound(a, x, y, alpha=1.0, beta=0.0, y0=None):
    """The componentwise bound for the type of y."""
    product, magnitude = exact_product(a, x)
    expected, scale = alpha * product, abs(alpha) * magnitude
    if y0 is not None:
        expected, scale = expected + beta * extended(y0), scale + abs(beta) * np.abs(extended(y0))
    complex_terms = 4 if np.iscomplexobj(expected) else 0
    k = np.diff(a.indptr) + complex_terms + 2
    k = k[:, None] if scale.ndim == 2 else k
    limits = np.finfo(y.dtype)
    unit = np.longdouble(limits.eps) / 2
    bound = 2 * (k * unit / (1 - k * unit)) * scale + k * np.longdouble(limits.smallest_subnormal)
    error = np.abs(extended(y) - expected)
    assert y.shape == expected.shape, f"shape {y.shape}, not {expected.shape}"
    assert np.all(error <= bound), f"error {error.max()} passes the bound"


def canonical(a):
    a = sp.csr_matrix(a)
    a.sum_duplicates()
    a.sort_indices()
    return a


def same_arrays(found, expected):
    assert found.shape == expected.shape, f"shape {found.shape}, not {expected.shape}"
    for name in ("indptr", "indices", "data"):
        f, e = getattr(found, name), getattr(expected, name)
        assert np.array_equal(f, e), f"{name} differs"


def random_operand(rng, a, shape):
    x = rng.standard_normal(shape)
    return x + 1j * rng.standard_normal(shape) if np.iscomplexobj(a.data) else x


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
    """L of the incomplete Cholesky factorisation of a real symmetric `a` in its own pattern; None where it breaks down."""
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


def random_matrix(rng, dtype):
    """A COO matrix with an empty row here and there, stored zeros and duplicates, in no order."""
    rows, cols = rng.integers(1, 40, 2)
    shape = (rows, rows) if rng.random() < 0.3 else (rows, cols)
    nnz = int(rng.integers(0, max(2, shape[0] * shape[1] // 4)))
    row, col = rng.integers(0, shape[0], nnz), rng.integers(0, shape[1], nnz)
    # Sums of small integers are exact in every type, whatever the order.
    values = rng.integers(0 if np.dtype(dtype).kind in "bu" else -9, 2 if dtype == "bool" else 10, nnz)
    values = values.astype(dtype)
    if np.dtype(dtype).kind == "c":
        values = values + np.array(1j, dtype) * rng.integers(-9, 10, nnz).astype(dtype)
    return sp.coo_array((values.astype(dtype), (row, col)), shape=shape)


def value_type(dtype):
    """The type that the command computes in: integers become f64."""
    dtype = np.dtype(dtype)
    return dtype.newbyteorder("=") if dtype.kind in "fc" else np.dtype("float64")


def write_random(rng, a, path):
    """Writes the matrix to a file of SciPy or NumPy; gives what the command must read."""
    typed = sp.coo_array(a, dtype=value_type(a.dtype))
    kind = rng.choice(["csr", "csc", "coo", "mtx", "mtx.gz", "npy"])
    if kind.startswith("mtx"):
        path = path.with_suffix(".mtx")
        typed = sp.coo_array(typed, dtype=np.result_type(typed.dtype, np.float64))
        symmetric = a.shape[0] == a.shape[1]
        if symmetric:
            typed = sp.coo_array(canonical(typed + typed.T))
        integer = a.dtype.kind in "biu"
        written = typed.astype(np.int64) if integer else typed
        field, symmetry = "integer" if integer else None, "symmetric" if symmetric else "general"
        scipy.io.mmwrite(path, written, field=field, symmetry=symmetry, precision=17)
        if kind == "mtx.gz":
            packed = path.with_suffix(".mtx.gz")
            packed.write_bytes(gzip.compress(path.read_bytes()))
            path = packed
        return path, canonical(typed)
    if kind == "npy":
        path = path.with_suffix(".npy")
        dense = canonical(typed).toarray().astype(a.dtype)
        written = dense.astype(a.dtype.newbyteorder(rng.choice(["<", ">"])))
        np.save(path, np.asfortranarray(written) if rng.random() < 0.5 else written)
        return path, canonical(sp.csr_array(dense.astype(typed.dtype)))
    path = path.with_suffix(".npz")
    # SciPy itself adds duplicates on the way to CSR and CSC, in the type of the values.
    stored = a if kind == "coo" else getattr(canonical(typed), "to" + kind)().astype(a.dtype)
    sp.save_npz(path, stored, compressed=bool(rng.random() < 0.5))
    return path, canonical(sp.coo_array(stored, dtype=typed.dtype))


def compare_random(nnz, seed):
    rng = np.random.default_rng(seed)
    a = random_matrix(rng, TYPES[seed % len(TYPES)])
    path, a = write_random(rng, a, nnz.folder / "random")
    compare_random_convert(nnz, path, a, rng)
    compare_random_products(nnz, path, a, rng)
    compare_random_spgemm(nnz, path, a)
    compare_random_elementwise(nnz, path, a, rng)
    compare_random_rows(nnz, path, a, rng)
    compare_random_compress(nnz, a, rng)


def compare_random_convert(nnz, path, a, rng):
    out = nnz.folder / ("out" + rng.choice([".npz", ".mtx", ".mtx.gz", ".npy"]))
    nnz("convert", path, out)
    if out.suffix == ".npz":
        found = sp.load_npz(out)
        assert found.dtype == a.dtype, f"{found.dtype}, not {a.dtype}"
        same_arrays(found, a)
    elif out.suffix == ".npy":
        assert np.array_equal(np.load(out), a.toarray()), "the dense arrays differ"
    else:
        same_arrays(canonical(scipy.io.mmread(out)), a)
    found = nnz.folder / "coo.npz"
    nnz("convert", path, found, "--format", "coo")
    same_arrays(canonical(sp.load_npz(found)), a)


def compare_random_products(nnz, path, a, rng):
    op, layout = rng.choice(["n", "t", "C"]), rng.choice(FORMATS)
    options = ("--op", op, "--as", layout, "--backend", "cpu")
    applied = {"n": a, "t": a.T, "C": a.conj().T}[str(op)]
    applied = canonical(applied)
    x = random_operand(rng, a, a.shape[1] if op == "n" else a.shape[0]).astype(a.dtype)
    check_bound(applied, x, nnz.product("spmv", path, x, *options))
    b = random_operand(rng, a, (len(x), int(rng.integers(1, 6)))).astype(a.dtype)
    b = np.asfortranarray(b) if rng.random() < 0.5 else b
    y0 = random_operand(rng, a, (applied.shape[0], b.shape[1])).astype(a.dtype)
    np.save(nnz.folder / "y0.npy", np.asfortranarray(y0) if rng.random() < 0.5 else y0)
    added = ("--alpha", "2", "--beta", "-0.5", "--y", nnz.folder / "y0.npy")
    c = nnz.product("spmm", path, b, *options, *added)
    check_bound(applied, b, c, 2.0, -0.5, y0)
    if b.flags.c_contiguous != b.flags.f_contiguous and c.shape[0] > 1:
        assert c.flags.c_contiguous == b.flags.c_contiguous, "C has not the order of B"


def compare_random_spgemm(nnz, path, a):
    b = canonical(a.T)
    sp.save_npz(nnz.folder / "b.npz", b)
    out = nnz.folder / "product.npz"
    nnz("spgemm", path, nnz.folder / "b.npz", "-o", out, "--backend", "cpu")
    found = sp.load_npz(out)
    # SciPy leaves out sums of zero, which are entries here.
    found.eliminate_zeros()
    same_arrays(found, canonical(a @ b))


def compare_random_elementwise(nnz, path, a, rng):
    """A sum or a product with a matrix of other rows; SciPy leaves out zeros, the command stores them."""
    b = a[rng.permutation(a.shape[0])]
    operand, out = nnz.folder / "b.npz", nnz.folder / "c.npz"
    sp.save_npz(operand, b)
    stored = [sp.csr_array((np.ones(m.nnz), m.indices, m.indptr), m.shape) for m in (a, b)]
    if rng.random() < 0.5:
        verb = ("add", path, operand, "--alpha", "2", "--beta", "-1")
        expected, pattern = 2 * a - b, stored[0] + stored[1]
    else:
        verb, expected, pattern = ("multiply", path, operand), a.multiply(b), stored[0].multiply(stored[1])
    nnz(*verb, "-o", out, "--backend", "cpu")
    found, expected = sp.load_npz(out), canonical(expected)
    assert found.nnz == pattern.nnz, f"{verb[0]}: {found.nnz} entries, not {pattern.nnz}"
    for matrix in (found, expected):
        matrix.eliminate_zeros()
    same_arrays(found, expected)


REDUCTIONS = ["sum", "mean", "variance", "norm1", "norm2", "norminf"]
"""The reductions of complex numbers too."""


def reduced_by_scipy(a, axis, by):
    """The rows or columns of `a`, each as one number."""
    norms = {"norm1": 1, "norm2": 2, "norminf": np.inf}
    if by == "variance":
        return a.toarray().var(axis=axis)
    if by in norms:
        return sp.linalg.norm(a, norms[by], axis=axis)
    expected = getattr(a, by)(axis=axis)
    return np.asarray(expected.toarray() if sp.issparse(expected) else expected).ravel()


def compare_random_rows(nnz, path, a, rng):
    """A reduction, a norm, a slice, or the transpose."""
    verb, out = rng.choice(["reduce", "norm", "slice", "transpose"]), nnz.folder / "rows.npz"
    if verb == "reduce":
        ordered = a.dtype.kind != "c"
        axis, by = int(rng.integers(2)), str(rng.choice([*REDUCTIONS, "min", "max"] if ordered else REDUCTIONS))
        nnz("reduce", path, "--axis", axis, "--by", by, "-o", out.with_suffix(".npy"), "--backend", "cpu")
        expected = reduced_by_scipy(a, axis, by)
        found = np.load(out.with_suffix(".npy"))
        assert np.allclose(found, expected, rtol=1e-6), f"{by} along {axis}: {found}, not {expected}"
    elif verb == "norm":
        order = str(rng.choice(["fro", "1", "inf"]))
        words = [nnz.path, "norm", path, "--ord", order, "--backend", "cpu"]
        found = float(subprocess.run(list(map(str, words)), capture_output=True, text=True, check=True).stdout)
        wide = a.astype(np.complex128 if a.dtype.kind == "c" else np.float64)
        expected = sp.linalg.norm(wide, {"fro": "fro", "1": 1, "inf": np.inf}[order])
        assert np.isclose(found, expected, rtol=1e-12), f"norm {order}: {found}, not {expected}"
    elif verb == "slice":
        start, stop, step = (int(n) for n in rng.integers(0, 20, 3) + (0, 0, 1))
        columns = rng.integers(0, a.shape[1], int(rng.integers(0, 50)))
        np.save(nnz.folder / "columns.npy", columns)
        chosen = ("--rows", f"{start}:{stop}:{step}", "--cols", nnz.folder / "columns.npy")
        nnz("slice", path, *chosen, "-o", out, "--backend", "cpu")
        same_arrays(sp.load_npz(out), canonical(a[start:stop:step][:, columns]))
    else:
        nnz("transpose", path, "-o", out, "--backend", "cpu")
        same_arrays(sp.load_npz(out), canonical(a.T))


def compare_random_compress(nnz, a, rng):
    dense = a.toarray()
    np.save(nnz.folder / "dense.npy", np.asfortranarray(dense) if rng.random() < 0.5 else dense)
    layout, kind = [("csr", sp.csr_array), ("csc", sp.csc_array)][rng.integers(2)]
    out = nnz.folder / "compressed.npz"
    nnz("compress", nnz.folder / "dense.npy", out, "--to", layout, "--backend", "cpu")
    same_arrays(sp.load_npz(out), kind(dense))


def compare_all_random(command, folder):
    """The number of random matrices on which the command and SciPy differ."""

    def differs(seed):
        own = folder / f"random{seed}"
        own.mkdir()
        try:
            compare_random(Command(command, own), seed)
        except AssertionError as error:
            print(f"random matrix {seed}: FAILED: {error}")
            return True
        return False

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        failed = sum(pool.map(differs, range(RANDOM_MATRICES)))
    print(f"random matrices: {RANDOM_MATRICES - failed} of {RANDOM_MATRICES} agree")
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nnz", type=Path, required=True, help="the command under test")
    parser.add_argument("--matrix", help="only matrices whose name contains this")
    arguments = parser.parse_args()
    failed, failed_random = 0, 0
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        paths = [*own_matrices(folder), *sorted(CORPUS.glob("*.mtx*"))]
        paths = [path for path in paths if (arguments.matrix or "") in path.name]
        for path in paths:
            try:
                compare(Command(arguments.nnz, folder), path)
            except AssertionError as error:
                failed += 1
                print(f"{path.name}: FAILED: {error}")
            else:
                print(f"{path.name}: ok")
        if not arguments.matrix:
            compare_methods(Command(arguments.nnz, folder))
            failed_random = compare_all_random(arguments.nnz, folder)
    print(f"{len(paths) - failed} passed, {failed} failed")
    return 1 if failed or failed_random or not paths else 0


if __name__ == "__main__":
    sys.exit(main())
