"""Runs one SciPy operation each time a line arrives, and answers with the seconds that it took."""

import sys
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp

# Entries whose rows of U and V are gathered at a time.
ENTRIES = 1 << 16


def operation(name, folder, dtype, shape, number):
    def load(array, of):
        return np.fromfile(Path(folder) / array, of)

    def csr(prefix, shape):
        indices, indptr = load(prefix + "indices", np.int32), load(prefix + "indptr", np.int32)
        return sp.csr_matrix((load(prefix + "data", dtype), indices, indptr), shape=shape)

    if name == "io":
        import scipy.io

        path = (Path(folder) / "path").read_text()
        return lambda: scipy.io.mmread(path, spmatrix=False).tocsr()
    data = load("data", dtype)
    if name == "dense_to_csr":
        members = data.reshape(number, -1, shape[1])
        return lambda: [sp.csr_matrix(member) for member in members]
    if name == "coo_to_csr":
        row, col = load("row", np.int32), load("col", np.int32)

        def convert():
            a = sp.coo_matrix((data, (row, col)), shape=shape).tocsr()
            a.sum_duplicates()
            return a

        return convert
    a = csr("", shape)
    if name == "spgemm":
        return lambda: a @ a
    if name == "galerkin":
        p = csr("p_", (shape[1], number))
        r = p.T.tocsr()
        return lambda: r @ (a @ p)
    if name == "add":
        transposed = a.T.tocsr()
        return lambda: a + transposed
    if name == "trisolve":
        import scipy.sparse.linalg

        b = np.ones(shape[0], dtype)
        return lambda: sp.linalg.spsolve_triangular(a, b, lower=True)
    if name == "sddmm":
        u, v = np.ones((shape[0], number), dtype), np.ones((shape[1], number), dtype)
        rows = np.repeat(np.arange(shape[0]), np.diff(a.indptr))
        parts = [slice(first, first + ENTRIES) for first in range(0, a.nnz, ENTRIES)]
        return lambda: [np.einsum("ij,ij->i", u[rows[part]], v[a.indices[part]]) for part in parts]
    if name == "cg":
        import scipy.sparse.linalg

        b = np.ones(shape[0], dtype)
        return lambda: sp.linalg.cg(a, b, rtol=0.0, atol=0.0, maxiter=number)
    x = np.ones(shape[1], dtype) if name == "spmv" else np.ones((shape[1], number), dtype)
    return lambda: a @ x


def main():
    folder, name, dtype, rows, cols, number = sys.argv[1:]
    work = operation(name, folder, np.dtype(dtype), (int(rows), int(cols)), int(number))
    for _ in sys.stdin:
        start = time.perf_counter()
        work()
        print(time.perf_counter() - start, flush=True)


main()
