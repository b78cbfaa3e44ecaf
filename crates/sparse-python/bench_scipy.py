"""Times the operations of SciPy's sparse arrays with SciPy's classes and with nnz's: `python3 bench_scipy.py`.

With an `nnz` that was built in release mode. A ratio is SciPy's time over ours, each the least of calls by turns; lines are
sorted by it, the slowest of ours first. What nnz leaves to SciPy is timed as well: a program that takes our classes in place
of SciPy's must not become slower.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import bench
import nnz
import nnz.io
import numpy as np
import scipy.io
import scipy.sparse as sp
import scipy.sparse.linalg as linalg

#: Seconds of one sample, for which short operations are called many times.
SAMPLE = 2e-4

Operation = Callable[[SimpleNamespace], object]


def grid(n: int) -> sp.csr_array:
    """The Laplacian of n x n points, shifted."""
    line = sp.diags_array([-1.0, 2.1, -1.0], offsets=[-1, 0, 1], shape=(n, n))
    return sp.csr_array(sp.kron(line, sp.eye_array(n)) + sp.kron(sp.eye_array(n), line))


def families() -> dict[str, sp.csr_array]:
    rng = np.random.default_rng(0)
    return {
        "10 x 10": sp.random_array((10, 10), density=0.3, rng=rng, format="csr"),
        "1000 x 1000": sp.random_array((1000, 1000), density=0.005, rng=rng, format="csr") + 5 * sp.eye_array(1000, format="csr"),
        "small grid": grid(60),
        "middle grid": grid(100),
        "narrow": sp.random_array((5000, 10), density=0.2, rng=rng, format="csr"),
        "hypersparse": sp.random_array((10_000, 10_000), density=1e-5, rng=rng, format="csr"),
        "grid": grid(250),
        "diagonal": sp.diags_array(rng.random(10_000)).tocsr(),
        "uniform": sp.random_array((20_000, 20_000), density=20 / 20_000, rng=rng, format="csr"),
        "skewed": bench.by_lengths(np.minimum(rng.zipf(1.8, 20_000), 1000), rng),
        "wide": sp.random_array((300, 100_000), density=0.01, rng=rng, format="csr"),
        "tall": sp.random_array((200_000, 40), density=0.05, rng=rng, format="csr"),
    }


def case(a: Any) -> SimpleNamespace:
    """A matrix and the operands of its operations."""
    rng = np.random.default_rng(1)
    rows, cols = a.shape
    kind = type(a)
    coo = sp.coo_array(a)
    order = rng.permutation(coo.nnz)
    mixed = (coo.data[order], (coo.row[order], coo.col[order]))
    return SimpleNamespace(
        a=a,
        kind=kind,
        # Another pattern of the same shape.
        b=kind(sp.csr_array(a)[::-1]),
        t=kind(sp.csr_array(a).T),
        x=rng.random(cols).astype(a.dtype),
        left=rng.random(rows).astype(a.dtype),
        single=rng.random(cols).astype("f"),
        integers=np.arange(cols),
        pair=rng.random((cols, 2)).astype(a.dtype),
        dense=rng.random((cols, 8)).astype(a.dtype),
        left_dense=rng.random((rows, 8)).astype(a.dtype),
        column=rng.random((rows, 1)).astype(a.dtype),
        parts=(a.data, (a.row, a.col)) if a.format == "coo" else (a.data, a.indices, a.indptr),
        mixed=mixed,
        full=a.toarray() if rows * cols <= 10**7 else None,
        some=np.sort(rng.choice(rows, max(rows // 10, 1), replace=False)),
        columns=np.sort(rng.choice(cols, max(cols // 10, 1), replace=False)),
        mask=rng.random(rows) < 0.1,
        points=(rng.integers(0, rows, 100), rng.integers(0, cols, 100)),
    )


def unsorted(c: SimpleNamespace) -> Any:
    """A matrix whose rows are not sorted, with duplicates."""
    data, (row, col) = c.mixed
    order = np.argsort(row if c.a.format == "csr" else col, kind="stable")
    major, minor = ((row, col) if c.a.format == "csr" else (col, row))
    indptr = np.searchsorted(major[order], np.arange(c.a.shape[c.a.format != "csr"] + 1)).astype(np.int32)
    return c.kind((data[order], minor[order] // 2, indptr), shape=c.a.shape)


#: Operations of all formats.
COMMON: dict[str, Operation] = {
    "construct from arrays": lambda c: c.kind(c.parts, shape=c.a.shape),
    "construct from the class": lambda c: c.kind(c.a),
    "copy": lambda c: c.a.copy(),
    "A @ x": lambda c: c.a @ c.x,
    "A @ x, float32": lambda c: c.a @ c.single,
    "A @ x, int64": lambda c: c.a @ c.integers,
    "A.T @ y": lambda c: c.a.T @ c.left,
    "x @ A": lambda c: c.left @ c.a,
    "A.dot(x)": lambda c: c.a.dot(c.x),
    "A @ B, K = 2": lambda c: c.a @ c.pair,
    "A @ B, K = 8": lambda c: c.a @ c.dense,
    "A.T @ B, K = 8": lambda c: c.a.T @ c.left_dense,
    "A.T": lambda c: c.a.T,
    "tocsr": lambda c: c.a.tocsr(),
    "tocsc": lambda c: c.a.tocsc(),
    "tocoo": lambda c: c.a.tocoo(),
    "astype float32": lambda c: c.a.astype("f"),
    "sum": lambda c: c.a.sum(),
    "sum of columns": lambda c: c.a.sum(axis=0),
    "sum of rows": lambda c: c.a.sum(axis=1),
    "mean of columns": lambda c: c.a.mean(axis=0),
    "mean of rows": lambda c: c.a.mean(axis=1),
    "max": lambda c: c.a.max(),
    "max of columns": lambda c: c.a.max(axis=0),
    "min of rows": lambda c: c.a.min(axis=1),
    "argmax of rows": lambda c: c.a.argmax(axis=1),
    "A + B": lambda c: c.a + c.b,
    "A - B": lambda c: c.a - c.b,
    "A.multiply(B)": lambda c: c.a.multiply(c.b),
    "A.multiply(column)": lambda c: c.a.multiply(c.column),
    "A.multiply(row)": lambda c: c.a.multiply(c.x),
    "2 * A": lambda c: 2 * c.a,
    "A / 3": lambda c: c.a / 3,
    "-A": lambda c: -c.a,
    "abs(A)": lambda c: abs(c.a),
    "A.power(2)": lambda c: c.a.power(2),
    "A.sqrt()": lambda c: c.a.sqrt(),
    "A != B": lambda c: c.a != c.b,
    "A > 0.5": lambda c: c.a > 0.5,
    "A.maximum(B)": lambda c: c.a.maximum(c.b),
    "count_nonzero": lambda c: c.a.count_nonzero(),
    "nonzero": lambda c: c.a.nonzero(),
    "diagonal": lambda c: c.a.diagonal(),
    "trace": lambda c: c.a.trace(),
    "vstack": lambda c: sp.vstack([c.a, c.b]),
    "hstack": lambda c: sp.hstack([c.a, c.b]),
    "block_diag": lambda c: sp.block_diag([c.a, c.b]),
    "tril": lambda c: sp.tril(c.a),
    "norm": lambda c: linalg.norm(c.a),
}

#: Operations that need a dense copy of the matrix.
DENSE: dict[str, Operation] = {
    "construct from dense": lambda c: c.kind(c.full),
    "toarray": lambda c: c.a.toarray(),
    "A + dense": lambda c: c.a + c.full,
    "A.multiply(dense)": lambda c: c.a.multiply(c.full),
}

#: Operations of CSR and CSC.
COMPRESSED: dict[str, Operation] = {
    "construct from coordinates": lambda c: c.kind(c.mixed, shape=c.a.shape),
    "A @ A.T, sparse": lambda c: c.a @ c.t if c.a.shape[0] <= c.a.shape[1] else c.t @ c.a,
    "A[i, j]": lambda c: c.a[3, 4],
    "A[[i], :]": lambda c: c.a[[3], :],
    "A[2:5]": lambda c: c.a[2:5],
    "A[:, 2:5]": lambda c: c.a[:, 2:5],
    "A[::2]": lambda c: c.a[::2],
    "A[half:]": lambda c: c.a[c.a.shape[0] // 2 :],
    "A[:, half:]": lambda c: c.a[:, c.a.shape[1] // 2 :],
    "A[rows]": lambda c: c.a[c.some],
    "A[:, columns]": lambda c: c.a[:, c.columns],
    "A[mask]": lambda c: c.a[c.mask],
    "A[rows][:, columns]": lambda c: c.a[c.some][:, c.columns],
    "A[i list, j list]": lambda c: c.a[c.points],
    "A[3]": lambda c: c.a[3],
    "A[:, 4]": lambda c: c.a[:, 4],
}

#: Operations that change the matrix, each of which gets a copy of its own.
IN_PLACE: dict[str, Operation] = {
    "eliminate_zeros": lambda c: c.a.eliminate_zeros(),
    "sum_duplicates": lambda c: c.a.sum_duplicates(),
}

IN_PLACE_COMPRESSED: dict[str, Operation] = {
    "sort_indices": lambda c: c.a.sort_indices(),
    "has_canonical_format": lambda c: c.a.has_canonical_format,
    "setdiag": lambda c: c.a.setdiag(2.0),
    "A *= 2": lambda c: c.a.__imul__(2),
}

#: Solvers, of matrices whose diagonal is large.
SOLVERS: dict[str, Operation] = {
    "spsolve": lambda c: linalg.spsolve(c.a, c.left),
    "splu": lambda c: linalg.splu(c.a),
    "cg, 20 steps": lambda c: linalg.cg(c.a, c.left, maxiter=20),
    "gmres, 20 steps": lambda c: linalg.gmres(c.a, c.left, maxiter=1),
    "eigsh": lambda c: linalg.eigsh(c.a + c.t, k=2, v0=c.left, tol=1e-2),
    "svds": lambda c: linalg.svds(c.a, k=2, v0=c.left, tol=1e-2),
}


def timed(function: Callable[[], object], calls: int) -> float:
    start = time.perf_counter()
    for _ in range(calls):
        function()
    return (time.perf_counter() - start) / calls


def by_turns(ours: Callable[[], object], theirs: Callable[[], object], seconds: float) -> tuple[float, float]:
    """The least time of a call of each."""
    slowest = max(timed(function, 1) for function in (ours, theirs))
    calls = max(1, int(SAMPLE / slowest))
    samples: list[tuple[float, float]] = []
    end = time.perf_counter() + seconds
    while len(samples) < 2 or time.perf_counter() < end:
        samples.append((timed(ours, calls), timed(theirs, calls)))
    return min(ours for ours, _ in samples), min(theirs for _, theirs in samples)


def on_copies(operation: Operation, c: SimpleNamespace, of: Any, seconds: float) -> float:
    """The least time of a call on a copy, which is made before."""
    best, end = np.inf, time.perf_counter() + seconds / 2
    calls = 0
    while calls < 4 or time.perf_counter() < end:
        matrix = SimpleNamespace(a=of.copy(), x=c.x)
        best, calls = min(best, timed(lambda: operation(matrix), 1)), calls + 1
    return best


def lines(name: str, theirs: Any, seconds: float) -> Iterator[tuple[str, float, float]]:
    """Operation, time of ours and of SciPy's."""
    format = theirs.format
    cases = [case(kind(theirs)) for kind in (getattr(nnz, f"{format}_array"), type(theirs))]
    groups = [COMMON]
    if cases[0].full is not None:
        groups.append(DENSE)
    if format != "coo":
        groups.append(COMPRESSED)
    if format != "coo" and name in ("1000 x 1000", "grid"):
        groups.append(SOLVERS)
    for what, operation in (item for group in groups for item in group.items()):
        yield what, *by_turns(*((lambda c=c: operation(c)) for c in cases), seconds)
    in_place = IN_PLACE if format == "coo" else IN_PLACE | IN_PLACE_COMPRESSED
    for what, operation in in_place.items():
        matrices = [c.kind(c.mixed, shape=c.a.shape) if format == "coo" else unsorted(c) for c in cases]
        yield what, *(on_copies(operation, c, matrix, seconds) for c, matrix in zip(cases, matrices, strict=True))


def files(theirs: sp.csr_array, seconds: float) -> Iterator[tuple[str, float, float]]:
    ours = nnz.csr_array(theirs)
    with tempfile.TemporaryDirectory() as folder:
        text, packed = Path(folder) / "a.mtx", Path(folder) / "a.npz"
        yield "mmwrite", *by_turns(lambda: nnz.io.mmwrite(text, ours), lambda: scipy.io.mmwrite(text, theirs), seconds)
        yield "mmread as CSR", *by_turns(lambda: nnz.io.mmread(text, format="csr"), lambda: scipy.io.mmread(text).tocsr(), seconds)
        yield "mmread", *by_turns(lambda: nnz.io.mmread(text), lambda: scipy.io.mmread(text), seconds)
        for compressed in (False, True):
            save = (lambda module, a: lambda: module.save_npz(packed, a, compressed=compressed))
            kind = " compressed" if compressed else ""
            yield f"save_npz{kind}", *by_turns(save(nnz.io, ours), save(sp, theirs), seconds)
            yield f"load_npz{kind}", *by_turns(lambda: nnz.io.load_npz(packed), lambda: sp.load_npz(packed), seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=0.05, help="for each line")
    parser.add_argument("--only", default="", help="operations whose name has this")
    parser.add_argument("--family", nargs="*", help="matrices by name")
    parser.add_argument("--type", choices="fdFD", default="d", help="of the values")
    parser.add_argument("--formats", nargs="*", choices=("csr", "csc", "coo"), default=("csr", "csc", "coo"))
    parser.add_argument("--below", type=float, default=np.inf, help="print lines with a lower ratio only")
    parser.add_argument("--json", help="a file for the record")
    arguments = parser.parse_args()
    for group in (COMMON, DENSE, COMPRESSED, IN_PLACE, IN_PLACE_COMPRESSED, SOLVERS):
        for what in [what for what in group if arguments.only not in what]:
            del group[what]
    found = []
    for name, csr in families().items():
        if arguments.family and name not in arguments.family:
            continue
        csr = csr.astype(arguments.type)
        measured = [(format, lines(name, csr.asformat(format), arguments.seconds)) for format in arguments.formats]
        if arguments.only in "mmread mmwrite load_npz save_npz":
            measured.append(("csr", files(csr, arguments.seconds)))
        for format, rows in measured:
            found += [{"what": what, "format": format, "matrix": name, "ours_s": ours, "peer_s": peer, "ratio": peer / ours} for what, ours, peer in rows]
    found.sort(key=lambda line: line["ratio"])
    print(f"{'microseconds':<46} {'nnz':>12} {'SciPy':>12} {'ratio':>7}")
    for line in found:
        if line["ratio"] < arguments.below:
            print(f"{line['what']:<27} {line['format']} {line['matrix']:<14} {line['ours_s'] * 1e6:12.1f} {line['peer_s'] * 1e6:12.1f} {line['ratio']:7.2f}")
    slower = sum(line["ratio"] < 0.95 for line in found)
    print(f"{len(found)} lines, {slower} below 0.95")
    if arguments.json:
        Path(arguments.json).write_text("".join(json.dumps(line) + "\n" for line in found))


if __name__ == "__main__":
    main()
