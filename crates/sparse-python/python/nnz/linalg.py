"""Solvers with SciPy's signatures, and preconditioners.

Iterative ones run in nnz where A is a sparse array or matrix of float32, float64, complex64 or complex128, or a matrix on a
device; where M is None, or of :func:`jacobi`, :func:`ilu0` or :func:`ic0` with A's type and device; and where there is no
callback. Otherwise they are SciPy's. The stopping criterion is SciPy's: ‖b − A·x‖ ≤ max(rtol·‖b‖, atol).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse.linalg as scipy_linalg

from ._device import DeviceMatrix
from ._factor import Factors, factorized, splu, spsolve
from ._functions import of_scipy
from ._iterative import Solver
from ._iterative import plain as _plain
from ._iterative import solve as _solve
from ._least_squares import lsqr
from ._precondition import Preconditioner, ic0, ilu0, jacobi
from scipy.sparse.linalg import spilu

__all__ = [
    "Factors",
    "Preconditioner",
    "Solver",
    "bicgstab",
    "cg",
    "factorized",
    "gmres",
    "ic0",
    "ilu0",
    "jacobi",
    "lsqr",
    "minres",
    "norm",
    "spilu",
    "splu",
    "spsolve",
]


def __getattr__(name: str) -> Any:
    # The rest of SciPy's module.
    if name in scipy_linalg.__all__:
        return globals().setdefault(name, of_scipy(scipy_linalg, name))
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def cg(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    rtol: float = 1e-5,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: Any = None,
    callback: Any = None,
) -> tuple[Any, int]:
    """:func:`scipy.sparse.linalg.cg`: A is Hermitian and positive definite."""
    if callback is None:
        found = _solve("cg", A, b, x0, (rtol, atol), maxiter, M)
        if found is not None:
            return found
    return scipy_linalg.cg(A, b, x0, rtol=rtol, atol=atol, maxiter=maxiter, M=M, callback=callback)


def bicgstab(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    rtol: float = 1e-5,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: Any = None,
    callback: Any = None,
) -> tuple[Any, int]:
    """:func:`scipy.sparse.linalg.bicgstab`: A is any square matrix."""
    if callback is None:
        found = _solve("bicgstab", A, b, x0, (rtol, atol), maxiter, M)
        if found is not None:
            return found
    return scipy_linalg.bicgstab(A, b, x0, rtol=rtol, atol=atol, maxiter=maxiter, M=M, callback=callback)


def gmres(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    rtol: float = 1e-5,
    atol: float = 0.0,
    restart: int | None = None,
    maxiter: int | None = None,
    M: Any = None,
    callback: Any = None,
    callback_type: Any = None,
) -> tuple[Any, int]:
    """:func:`scipy.sparse.linalg.gmres`: A is any square matrix; `maxiter` counts cycles of `restart` iterations."""
    if callback is None and callback_type in (None, "x", "pr_norm", "legacy"):
        rows = max([1, *np.shape(A)[:1]])
        restart, maxiter = _plain(restart), _plain(maxiter)
        cycle = min(20 if restart is None else restart, rows)
        cycles = 10 * rows if maxiter is None else maxiter
        found = _solve("gmres", A, b, x0, (rtol, atol), cycles * cycle, M, cycle)
        if found is not None:
            x, info = found
            return x, info and max(cycles, 1)
    options = {"restart": restart, "maxiter": maxiter, "callback_type": callback_type}
    return scipy_linalg.gmres(A, b, x0, rtol=rtol, atol=atol, M=M, callback=callback, **options)


def minres(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    rtol: float = 1e-5,
    shift: float = 0.0,
    maxiter: int | None = None,
    M: Any = None,
    callback: Any = None,
    show: bool = False,
    check: bool = False,
) -> tuple[Any, int]:
    """:func:`scipy.sparse.linalg.minres`: A is Hermitian, definite or not."""
    if callback is None and shift == 0 and not show and not check:
        found = _solve("minres", A, b, x0, (rtol, 0.0), maxiter, M)
        if found is not None:
            return found
    options = {"shift": shift, "maxiter": maxiter, "show": show, "check": check}
    return scipy_linalg.minres(A, b, x0, rtol=rtol, M=M, callback=callback, **options)


#: The reduction of rows or columns for an order.
_OF_LINES = {None: "norm2", 2: "norm2", 1: "norm1", np.inf: "norminf"}

#: For an order of a whole matrix: the axis, the reduction of its lines, and which of them counts.
_OF_MATRIX = {1: (0, "norm1", np.max), -1: (0, "norm1", np.min), np.inf: (1, "norm1", np.max), -np.inf: (1, "norm1", np.min)}


def _lengths(x: DeviceMatrix, by: str, axis: int) -> Any:
    """The norms of rows or columns. They are real, and computed in the type of the matrix."""
    return np.ascontiguousarray(x._each(by, axis).real)


def norm(x: Any, ord: Any = None, axis: int | None = None) -> Any:
    """:func:`scipy.sparse.linalg.norm`; of a matrix on a device it is computed there, but for singular values."""
    if not isinstance(x, DeviceMatrix):
        return scipy_linalg.norm(x, ord, axis)
    if axis is not None and ord in _OF_LINES:
        return _lengths(x, _OF_LINES[ord], axis)
    if axis is None and ord in (None, "fro"):
        return np.linalg.norm(_lengths(x, "norm2", 1))
    if axis is None and ord in _OF_MATRIX:
        axis, by, which = _OF_MATRIX[ord]
        return which(_lengths(x, by, axis))
    raise NotImplementedError(f"the norm of order {ord!r} and axis {axis!r} of a matrix on a device: norm(A.get(), …) computes it")
