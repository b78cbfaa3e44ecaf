"""Measures nnz beside SciPy: `python3 bench.py` with an `nnz` that was built in release mode.

Each line has the best of several runs of both, which take turns, so that both see the same machine.
"""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import nnz
import nnz.io
import numpy as np
import scipy.io
import scipy.sparse as sp


def best(first: Callable[[], object], second: Callable[[], object], seconds: float = 2.0) -> tuple[float, float]:
    """The least seconds of a call of each."""
    times = ([], [])
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times[0]) < 3:
        for function, into in zip((first, second), times, strict=True):
            start = time.perf_counter()
            function()
            into.append(time.perf_counter() - start)
    return min(times[0]), min(times[1])


def report(what: str, ours: Callable[[], object], scipy: Callable[[], object]) -> None:
    found, theirs = best(ours, scipy)
    print(f"{what:<44} {found * 1e6:12.1f} {theirs * 1e6:12.1f} {theirs / found:7.2f}", flush=True)


def matrices() -> dict[str, sp.csr_array]:
    rng = np.random.default_rng(0)
    line = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(700, 700))
    rows = 100_000
    lengths = np.minimum(rng.zipf(1.8, rows), 2000)
    ends = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    skewed = sp.csr_array((rng.random(ends[-1]), rng.integers(0, rows, ends[-1], np.int32), ends), shape=(rows, rows))
    skewed.sum_duplicates()
    return {
        "grid": sp.csr_array(sp.kron(line, sp.eye_array(700)) + sp.kron(sp.eye_array(700), line)),
        "uniform": sp.random_array((rows, rows), density=30 / rows, rng=rng, format="csr"),
        "skewed": skewed,
    }


def main() -> None:
    print(f"{'microseconds':<44} {'nnz':>12} {'SciPy':>12} {'ratio':>7}")
    small = sp.random_array((10, 10), density=0.3, rng=0, format="csr")
    ours, x = nnz.csr_array(small), np.ones(10)
    parts = (small.data, small.indices, small.indptr)
    report("csr_array((data, indices, indptr)), 10 x 10", lambda: nnz.csr_array(parts, shape=(10, 10)), lambda: sp.csr_array(parts, shape=(10, 10)))
    report("A @ x, 10 x 10", lambda: ours @ x, lambda: small @ x)
    for name, theirs in matrices().items():
        a, x = nnz.csr_array(theirs), np.ones(theirs.shape[1])
        about = f"{name}, {theirs.nnz} entries: "
        report(about + "A @ x", lambda: a @ x, lambda: theirs @ x)
        for columns in (1, 8, 32):
            b = np.ones((theirs.shape[1], columns + (columns == 1)))
            report(about + f"A @ B, K = {b.shape[1]}", lambda: a @ b, lambda: theirs @ b)
        ours_csc, csc = nnz.csc_array(theirs), theirs.tocsc()
        report(about + "CSC @ x", lambda: ours_csc @ x, lambda: csc @ x)
        coo = theirs.tocoo()
        order = np.random.default_rng(1).permutation(coo.nnz)
        mixed = (coo.data[order], (coo.row[order], coo.col[order]))
        ours_coo, coo = nnz.coo_array(mixed, shape=a.shape), sp.coo_array(mixed, shape=a.shape)
        report(about + "coo -> csr", ours_coo.tocsr, coo.tocsr)
        report(about + "csr -> csc", a.tocsc, theirs.tocsc)
        if name == "grid":
            report(about + "A @ A", lambda: a @ a, lambda: theirs @ theirs)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.mtx"
        nnz.io.mmwrite(path, theirs)
        report("mmread(path) as CSR", lambda: nnz.io.mmread(path, format="csr"), lambda: scipy.io.mmread(path).tocsr())


if __name__ == "__main__":
    main()
