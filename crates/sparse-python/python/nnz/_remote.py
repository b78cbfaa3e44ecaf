"""Matrices on the server of the variable `NNZ_SERVER`, with what `nnz._native` has for matrices on devices.

A :class:`Matrix` and the functions here stand for those of `nnz._native` in :mod:`nnz._operations`. Each result is stored
on the server under a name of its own, and deleted there once Python has no use for it.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import uuid
import weakref
from collections import deque
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np
import scipy.sparse as sp

from . import client as _client
from ._arrays import plain_arrays

#: Seconds after which the server deletes a matrix of a program that was killed before it could.
LIFETIME = 7 * 24 * 3600
#: Longer texts of chosen lines are no part of an address.
_LONGEST_LINES = 8000

_TYPES = {"f": "f32", "d": "f64", "F": "c32", "D": "c64"}
_OPS = {"N": "n", "T": "t", "H": "c"}


#: By process: a connection is not shared with one that was forked. And by address and token.
_clients: dict[tuple[int, str, str | None], _client.Client] = {}


def connected() -> _client.Client:
    """The client of this process for the server that the environment names."""
    url, token = os.environ["NNZ_SERVER"], os.environ.get("NNZ_TOKEN")
    key = (os.getpid(), url, token)
    return _clients.get(key) or _clients.setdefault(key, _client.connect(url, token=token))


class Matrix:
    """A matrix on the server."""

    #: The functions for such matrices.
    engine: ModuleType = sys.modules[__name__]

    def __init__(self, handle: _client.Matrix) -> None:
        self.handle = handle
        # Not at once: Python may collect a matrix while a request is at work.
        weakref.finalize(self, _garbage.append, (os.getpid(), handle._client, handle.label))

    @staticmethod
    def from_arrays(format: str, arrays: Any) -> Matrix:
        """A copy of SciPy's arrays of a matrix on the server."""
        shape, first, second, data = arrays
        parts = (data, (first, second)) if format == "coo" else (data, second, first)
        made = {"csr": sp.csr_array, "csc": sp.csc_array, "coo": sp.coo_array}[format](parts, shape=shape)
        return convert(_put(made), format)

    @property
    def shape(self) -> tuple[int, int]:
        return self.handle.shape

    @property
    def format(self) -> str:
        return self.handle.view["format"]

    @property
    def nnz(self) -> int:
        return self.handle.nnz

    @property
    def nbytes(self) -> int:
        return self.handle.view["bytes"]

    @property
    def dtype(self) -> str:
        return self.handle.dtype.char

    @property
    def device(self) -> str:
        return self.handle._client.url

    def multiply(self, inputs: Sequence[Any], out: Any, op: str = "N") -> None:
        (b,) = inputs
        with _errors_of_values():
            np.copyto(out, self.handle.operation("spmv" if b.ndim == 1 else "spmm", b, op=_OPS[op]))

    def todense(self, out: Any) -> None:
        np.copyto(out, self.handle.to_numpy())

    def transpose(self) -> Matrix:
        return _made(self, "transpose")

    def arrays(self) -> Any:
        return plain_arrays(self.handle.to_scipy().asformat(self.format))


def convert(a: Matrix, format: str) -> Matrix:
    return a if a.format == format else _made(a, "convert", format=format)


def copy(a: Matrix) -> Matrix:
    # No operation changes a matrix on the server.
    return a


def prune(a: Matrix) -> Matrix:
    return _made(a, "prune")


def cast(a: Matrix, dtype: str) -> Matrix:
    if dtype not in _TYPES:
        raise TypeError(f"{dtype!r} where one of {', '.join(_TYPES)} is right")
    return _made(a, "cast", dtype=_TYPES[dtype])


def scale(a: Matrix, alpha: complex) -> Matrix:
    return _made(a, "scale", alpha=alpha if alpha.imag else alpha.real)


def scale_lines(a: Matrix, rows: Any = None, columns: Any = None) -> Matrix:
    if rows is not None:
        a = multiply_sparse(_put(_diagonal(rows), a), convert(a, "csr"))
    if columns is not None:
        a = multiply_sparse(convert(a, "csr"), _put(_diagonal(columns), a))
    return a


def add(a: Matrix, b: Any, alpha: complex, beta: complex) -> Matrix:
    factors = {"alpha": alpha, "beta": beta}
    return _made(a, "add", other=_on_server(b), **{name: by if by.imag else by.real for name, by in factors.items()})


def multiply_elements(a: Matrix, b: Any) -> Matrix:
    return _made(a, "multiply", other=_on_server(b))


def multiply_sparse(a: Matrix, b: Any) -> Matrix:
    return _made(a, "spgemm", other=_on_server(b))


def combine(by: str, blocks: Sequence[Any]) -> Matrix:
    if len(blocks) == 1:
        return _on_server(blocks[0])
    # The server combines two: by halves each entry is copied log2(len(blocks)) times.
    half = len(blocks) // 2
    return _made(combine(by, blocks[:half]), by, other=combine(by, blocks[half:]))


def select(a: Matrix, rows: Any = None, columns: Any = None) -> Matrix:
    chosen = {"rows": rows, "columns": columns}
    texts = {name: ",".join(map(str, lines)) for name, lines in chosen.items() if lines is not None}
    if all(0 < len(text) <= _LONGEST_LINES for text in texts.values()):
        return _made(a, "select", **texts)
    # Products with matrices that have a one for each line.
    if rows is not None:
        a = multiply_sparse(_put(_ones(rows, a.shape[0], a.dtype), a), convert(a, "csr"))
    if columns is not None:
        a = multiply_sparse(convert(a, "csr"), _put(_ones(columns, a.shape[1], a.dtype).T, a))
    return a


def reduce(a: Matrix, of_rows: bool, by: str) -> Any:
    with _errors_of_values():
        return a.handle.operation("reduce", each="row" if of_rows else "column", by=by)


def diagonal(a: Matrix, k: int) -> Any:
    return a.handle.operation("diagonal", k=k)


def solve(a: Matrix, method: str, vectors: Any, limits: Any, _: None = None) -> tuple[bool, int]:
    """Solves A·x = b from a first x into the last vector, as far as the residual is max(rtol·‖b‖, atol)."""
    (b, first, x), (rtol, atol, limit, restart) = vectors, limits
    # The server starts at zero: what it solves for is the correction.
    x[:] = 0 if first is None else first
    residual = b if first is None else b - a.handle.operation("spmv", first)
    size, target = np.linalg.norm(residual), max(rtol * np.linalg.norm(b), atol)
    if size <= target:
        return True, 0
    how = {"method": method, "tol": float(target / size), "max_iterations": limit, "restart": restart}
    with _errors_of_values():
        correction, solution = a.handle.solve_with_report(residual, **how)
    x[:] += correction
    return solution["converged"], solution["iterations"]


def _diagonal(values: Any) -> sp.csr_array:
    """A diagonal matrix that has its zeros, too: by them entries are multiplied, and infinities become NaN."""
    count = len(values)
    return sp.csr_array((values, np.arange(count), np.arange(count + 1)), shape=(count, count))


def _ones(lines: Any, extent: int, dtype: str) -> sp.csr_array:
    count = len(lines)
    return sp.csr_array((np.ones(count, dtype), lines, np.arange(count + 1)), shape=(count, extent))


def _put(matrix: Any, beside: Matrix | None = None) -> Matrix:
    """A copy of a matrix of SciPy, in CSR, on the server of another, or on the one that the environment names."""
    _collect()
    client = connected() if beside is None else beside.handle._client
    return Matrix(client.put(matrix, _new_name(), ttl=LIFETIME))


def _made(a: Matrix, operation: str, other: Any = None, **parameters: Any) -> Matrix:
    """The result of an operation, which stays on the server."""
    _collect()
    if other is not None and other.device != a.device:
        raise TypeError(f"one matrix is on the server {a.device} and one on {other.device}: copy one by get() and from_scipy()")
    with _errors_of_values():
        stored = {"into": _new_name(), "ttl": LIFETIME, "other": other and other.handle}
        return Matrix(a.handle.operation(operation, **stored, **parameters))


def _new_name() -> str:
    return f"nnz-{uuid.uuid4().hex}"


def _on_server(matrix: Any) -> Matrix:
    if isinstance(matrix, Matrix):
        return matrix
    raise TypeError(f"one matrix is on the server and one on {matrix.device}: copy one by get() and from_scipy()")


@contextlib.contextmanager
def _errors_of_values() -> Any:
    """Operands that the server refuses are what Python calls values that are wrong."""
    try:
        yield
    except _client.ServerError as error:
        if error.status != 422:
            raise
        detail = error.problem.get("detail", str(error))
        if "is not supported" in detail:
            raise NotImplementedError(detail) from error
        raise ValueError(detail) from error


#: The processes, clients and labels of matrices that Python has no use for.
_garbage: deque[tuple[int, _client.Client, str]] = deque()


def _collect() -> None:
    """Deletes matrices on the server."""
    while _garbage:
        process, client, label = _garbage.popleft()
        if process == os.getpid():
            # One that is not deleted expires.
            with contextlib.suppress(OSError, _client.ServerError):
                client.delete(label)


@atexit.register
def _end() -> None:
    """Deletes what the program had on servers, and closes its connections."""
    _collect()
    for client in _clients.values():
        client.close()
