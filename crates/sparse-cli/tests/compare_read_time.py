"""How long `nnz info -v` takes from a Matrix Market file to CSR, beside SciPy's `mmread` and `tocsr` together.

Without files, on four of its own, of five million lines each. Runs alternate; the ratio is SciPy's
median over ours.

    python3 crates/sparse-cli/tests/compare_read_time.py --nnz target/release/nnz [FILE.mtx ...]
"""

import argparse
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
import scipy.io
import scipy.sparse as sp

ROWS, LINES = 600_000, 5_000_000


def write(path, matrix, order, field=None):
    """The entries in this order: SciPy's writer keeps it."""
    entries = sp.coo_array((matrix.data[order], (matrix.row[order], matrix.col[order])), shape=matrix.shape)
    scipy.io.mmwrite(path, entries, field=field, symmetry="general")
    return path


def own_files(folder):
    rng = np.random.default_rng(1)
    row, col = rng.integers(0, ROWS, (2, LINES))
    matrix = sp.coo_array((rng.standard_normal(LINES), (row, col)), shape=(ROWS, ROWS)).tocsr().tocoo()
    by_columns = np.lexsort((matrix.row, matrix.col))
    yield write(folder / "by_rows.mtx", matrix, np.arange(matrix.nnz))
    yield write(folder / "by_columns.mtx", matrix, by_columns)
    yield write(folder / "shuffled.mtx", matrix, rng.permutation(matrix.nnz))
    yield write(folder / "pattern.mtx", matrix, by_columns, "pattern")


def seconds_of_ours(nnz, path):
    words = [nnz, "info", "-v", str(path)]
    told = subprocess.run(words, capture_output=True, text=True, check=True).stderr
    return next(float(line.split()[1]) for line in told.splitlines() if line.startswith("read: "))


def seconds_of_scipy(path):
    started = time.perf_counter()
    scipy.io.mmread(path, spmatrix=False).tocsr()
    return time.perf_counter() - started


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nnz", default="target/release/nnz", help="the command")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("files", nargs="*", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for path in arguments.files or own_files(Path(folder)):
            pairs = [
                (seconds_of_ours(arguments.nnz, path), seconds_of_scipy(path)) for _ in range(arguments.rounds)
            ]
            ours, scipys = (statistics.median(times) for times in zip(*pairs))
            print(f"{path.name:<24} ours {ours:.3f} s, SciPy {scipys:.3f} s, ratio {scipys / ours:.2f}", flush=True)


main()
