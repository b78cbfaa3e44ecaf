"""The command under test, and what its results are compared by."""

import subprocess

import numpy as np
import scipy.sparse as sp


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
