"""The command against SciPy, on every real matrix that is there.

`convert` and `compress` must give SciPy's arrays to the bit, `spmv` and `spmm` the componentwise bound (rule A1) around a
product in extended precision, `solve` the residual that it promises and the solution that follows from it.

    python3 crates/sparse-cli/tests/compare_with_scipy.py --nnz target/release/nnz
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import scipy.io
import scipy.sparse as sp

CORPUS = Path(__file__).resolve().parents[3] / "../shared/data/matrices"
DENSE_ROWS, DENSE_COLS = 1500, 3000


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
        return done.stderr

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
    """Rule A1 for double precision."""
    product, magnitude = exact_product(a, x)
    expected, scale = alpha * product, abs(alpha) * magnitude
    if y0 is not None:
        expected, scale = expected + beta * extended(y0), scale + abs(beta) * np.abs(extended(y0))
    complex_terms = 4 if np.iscomplexobj(expected) else 0
    k = np.diff(a.indptr) + complex_terms + 2
    k = k[:, None] if scale.ndim == 2 else k
    unit = np.longdouble(2.0) ** -53
    bound = 2 * (k * unit / (1 - k * unit)) * scale + k * np.longdouble(5e-324)
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


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nnz", type=Path, required=True, help="the command under test")
    parser.add_argument("--matrix", help="only matrices whose name contains this")
    arguments = parser.parse_args()
    failed = 0
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
    print(f"{len(paths) - failed} passed, {failed} failed")
    return 1 if failed or not paths else 0


if __name__ == "__main__":
    sys.exit(main())
