"""Measures nnz beside SciPy, scikit-learn and PyTorch on the CPU: `python3 bench.py [MATRIX.mtx …]`.

With an `nnz` that was built in release mode. Each line has the medians of both, which take turns, so that both see the same
machine. Threads are as many as the process may use (`taskset`); with one, the times are processor time, which other programs
hardly lengthen. What needs scikit-learn or PyTorch is left out where they are not installed.
"""

import argparse
import importlib.util
import json
import os
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import nnz
import nnz.io
import numpy as np
import scipy
import scipy.io
import scipy.sparse as sp


class Bench:
    """The lines that were measured."""

    def __init__(self, seconds: float, json_path: str | None, only: str) -> None:
        self.seconds, self.json_path, self.only = seconds, json_path, only
        self.lines: list[dict[str, object]] = []

    def compare(self, what: str, matrix: str, ours: Callable[[], object], theirs: Callable[[], object], peer: str = "SciPy") -> None:
        """Measures and prints one line, if it is asked for."""
        if self.only not in what:
            return
        clock = time.perf_counter if len(os.sched_getaffinity(0)) > 1 else time.process_time
        times: tuple[list[float], list[float]] = ([], [])
        end = time.perf_counter() + self.seconds
        while time.perf_counter() < end or len(times[0]) < 5:
            for function, into in zip((ours, theirs), times, strict=True):
                start = clock()
                function()
                into.append(clock() - start)
        # The first call makes threads and touches memory.
        found, others = (statistics.median(of_each[1:]) for of_each in times)
        self.lines.append({"what": what, "matrix": matrix, "peer": peer, "ours_s": found, "peer_s": others, "ratio": others / found})
        print(f"{what:<26} {matrix:<10} {peer:<13} {found * 1e6:12.1f} {others * 1e6:12.1f} {others / found:7.2f}", flush=True)

    def finish(self) -> None:
        """Prints the means of the ratios, and writes the record."""
        print()
        for what in dict.fromkeys(line["what"] for line in self.lines):
            ratios = [line["ratio"] for line in self.lines if line["what"] == what]
            print(f"{what:<26} geometric mean {statistics.geometric_mean(ratios):5.2f}, worst {min(ratios):5.2f} of {len(ratios)}")
        if self.json_path:
            Path(self.json_path).write_text("".join(json.dumps(line) + "\n" for line in self.lines))


def by_lengths(lengths: np.ndarray, rng: np.random.Generator) -> sp.csr_array:
    """A square matrix with about so many entries in each row, anywhere."""
    rows, ends = len(lengths), np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    made = sp.csr_array((rng.random(ends[-1]), rng.integers(0, rows, ends[-1], np.int32), ends), shape=(rows, rows))
    made.sum_duplicates()
    return made


def matrices() -> dict[str, sp.csr_array]:
    rng = np.random.default_rng(0)
    line = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(700, 700))
    rows = 100_000
    band = sp.diags_array(np.ones(41), offsets=np.arange(-20, 21), shape=(60_000, 60_000))
    return {
        "grid": sp.csr_array(sp.kron(line, sp.eye_array(700)) + sp.kron(sp.eye_array(700), line)),
        "band": sp.csr_array(band),
        "uniform": sp.random_array((rows, rows), density=30 / rows, rng=rng, format="csr"),
        "skewed": by_lengths(np.minimum(rng.zipf(1.8, rows), 2000), rng),
        "1 to 9": by_lengths(rng.integers(1, 10, 3 * rows), rng),
        "text": sp.random_array((20_000, 50_000), density=100 / 50_000, rng=rng, format="csr"),
    }


def of_file(path: str) -> sp.csr_array:
    found = sp.csr_array(scipy.io.mmread(path))
    return found if found.dtype.kind == "c" else found.astype("d")


def overheads(bench: Bench) -> None:
    small = sp.random_array((10, 10), density=0.3, rng=0, format="csr")
    ours, x = nnz.csr_array(small), np.ones(10)
    parts = (small.data, small.indices, small.indptr)
    bench.compare("csr_array(arrays)", "10 x 10", lambda: nnz.csr_array(parts, shape=(10, 10)), lambda: sp.csr_array(parts, shape=(10, 10)))
    bench.compare("A @ x, small", "10 x 10", lambda: ours @ x, lambda: small @ x)


def operations(bench: Bench, name: str, theirs: sp.csr_array) -> None:
    a, x = nnz.csr_array(theirs), np.ones(theirs.shape[1])
    bench.compare("A @ x", name, lambda: a @ x, lambda: theirs @ x)
    half_width = "F" if theirs.dtype.kind == "c" else "f"
    single, theirs_single = (kind(theirs.astype(half_width)) for kind in (nnz.csr_array, sp.csr_array))
    x1 = x.astype(half_width)
    bench.compare("A @ x, float32", name, lambda: single @ x1, lambda: theirs_single @ x1)
    for columns in (8, 32, 128):
        b = np.ones((theirs.shape[1], columns))
        bench.compare(f"A @ B, K = {columns}", name, lambda: a @ b, lambda: theirs @ b)
    ours_csc, csc = nnz.csc_array(theirs), theirs.tocsc()
    b = np.ones((theirs.shape[1], 8))
    bench.compare("CSC @ x", name, lambda: ours_csc @ x, lambda: csc @ x)
    bench.compare("CSC @ B, K = 8", name, lambda: ours_csc @ b, lambda: csc @ b)
    coo = theirs.tocoo()
    order = np.random.default_rng(1).permutation(coo.nnz)
    mixed = (coo.data[order], (coo.row[order], coo.col[order]))
    ours_coo, coo = nnz.coo_array(mixed, shape=a.shape), sp.coo_array(mixed, shape=a.shape)
    bench.compare("coo -> csr", name, ours_coo.tocsr, coo.tocsr)
    bench.compare("csr -> csc", name, a.tocsc, theirs.tocsc)
    bench.compare("A.sum(axis=1)", name, lambda: a.sum(axis=1), lambda: theirs.sum(axis=1))
    if name in ("grid", "band"):
        bench.compare("A @ A", name, lambda: a @ a, lambda: theirs @ theirs)


def files(bench: Bench, matrices: dict[str, sp.csr_array]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name, theirs in matrices.items():
            path = Path(folder) / f"{name}.mtx"
            nnz.io.mmwrite(path, theirs)
            bench.compare("mmread(path) as CSR", name, lambda: nnz.io.mmread(path, format="csr"), lambda: scipy.io.mmread(path).tocsr())
            for compressed, what in ((False, "load_npz, stored"), (True, "load_npz, compressed")):
                archive = Path(folder) / f"{name}.npz"
                sp.save_npz(archive, theirs, compressed)
                bench.compare(what, name, lambda: nnz.io.load_npz(archive), lambda: sp.load_npz(archive))


def learning(bench: Bench, theirs: sp.csr_array) -> None:
    """End to end: nnz takes SciPy's matrix and is timed with that."""
    if importlib.util.find_spec("sklearn") is None:
        return
    from sklearn.decomposition import TruncatedSVD
    from sklearn.linear_model import Ridge

    y = theirs @ np.random.default_rng(2).standard_normal(theirs.shape[1])
    ridge = lambda a: Ridge(alpha=1.0).fit(a, y)  # noqa: E731
    svd = lambda a: TruncatedSVD(50, random_state=0).fit(a)  # noqa: E731
    bench.compare("Ridge().fit", "text", lambda: ridge(nnz.csr_array(theirs)), lambda: ridge(theirs), "scikit-learn")
    bench.compare("TruncatedSVD(50).fit", "text", lambda: svd(nnz.csr_array(theirs)), lambda: svd(theirs), "scikit-learn")


def beside_torch(bench: Bench, name: str, theirs: sp.csr_array) -> None:
    if importlib.util.find_spec("torch") is None:
        return
    import nnz.torch
    import torch

    torch.set_num_threads(len(os.sched_getaffinity(0)))
    parts = [torch.from_numpy(array) for array in (theirs.indptr, theirs.indices, theirs.data.astype("f"))]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sparse", UserWarning)
        tensor = torch.sparse_csr_tensor(*parts, theirs.shape)
    b = torch.ones(theirs.shape[1], 32)
    bench.compare("nnz.torch.spmm, K = 32", name, lambda: nnz.torch.spmm(*parts, theirs.shape, b), lambda: tensor @ b, "torch CSR")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", metavar="MATRIX.mtx", help="in place of the matrices that it makes")
    parser.add_argument("--seconds", type=float, default=2.0, help="for each line")
    parser.add_argument("--json", help="a file for the record")
    parser.add_argument("--only", default="", metavar="PART", help="lines whose name has this part")
    arguments = parser.parse_args()
    bench = Bench(arguments.seconds, arguments.json, arguments.only)
    made = {Path(path).name.partition(".")[0]: of_file(path) for path in arguments.files} or matrices()
    print(f"SciPy {scipy.__version__}, NumPy {np.__version__}, {len(os.sched_getaffinity(0))} processors")
    print(f"{'microseconds':<51} {'nnz':>12} {'other':>12} {'ratio':>7}")
    overheads(bench)
    for name, theirs in made.items():
        operations(bench, name, theirs)
        if theirs.dtype.kind == "f":
            beside_torch(bench, name, theirs)
    files(bench, made)
    if "text" in made:
        learning(bench, made["text"])
    bench.finish()


if __name__ == "__main__":
    main()
