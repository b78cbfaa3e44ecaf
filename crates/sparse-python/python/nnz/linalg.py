"""Iterative solvers with SciPy's signatures.

They run in nnz where A is a sparse array or matrix of float32, float64, complex64 or complex128 and there is neither a
preconditioner nor a callback; otherwise they are SciPy's. The stopping criterion is SciPy's: ‖b − A·x‖ ≤ max(rtol·‖b‖, atol).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as scipy_linalg

from . import _native
from ._arrays import TYPES, csr_array
from scipy.sparse.linalg import lsqr

__all__ = ["bicgstab", "cg", "gmres", "lsqr", "minres"]


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
    if M is None and callback is None:
        found = _solve("cg", A, b, x0, (rtol, atol), maxiter)
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
    if M is None and callback is None:
        found = _solve("bicgstab", A, b, x0, (rtol, atol), maxiter)
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
    if M is None and callback is None:
        rows = max(np.shape(A)[0], 1)
        cycle = min(20 if restart is None else restart, rows)
        cycles = 10 * rows if maxiter is None else maxiter
        found = _solve("gmres", A, b, x0, (rtol, atol), cycles * cycle, cycle)
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
    if M is None and callback is None and shift == 0 and not show and not check:
        found = _solve("minres", A, b, x0, (rtol, 0.0), maxiter)
        if found is not None:
            return found
    options = {"shift": shift, "maxiter": maxiter, "show": show, "check": check}
    return scipy_linalg.minres(A, b, x0, rtol=rtol, M=M, callback=callback, **options)


def _solve(
    method: str,
    A: Any,
    b: Any,
    x0: Any,
    tolerances: tuple[float, float],
    maxiter: int | None,
    restart: int = 20,
) -> tuple[Any, int] | None:
    """(x, 0), or (x, iterations) where they did not suffice; None where SciPy has to solve."""
    if not sp.issparse(A) or A.ndim != 2:
        return None
    b = np.asarray(b)
    dtype = np.result_type(A.dtype, b.dtype, np.float32)
    rows, cols = A.shape
    fits = rows == cols and b.shape in ((rows,), (rows, 1))
    if dtype not in TYPES or not fits or isinstance(x0, str):
        return None
    x = np.zeros(cols, dtype) if x0 is None else np.array(x0, dtype)
    limit = (5 if method == "minres" else 10) * rows if maxiter is None else maxiter
    rtol, atol = tolerances
    if x.shape not in ((cols,), (cols, 1)) or atol is None or restart < 1 or (limit < 1 and method != "gmres"):
        return None
    matrix = csr_array(A).astype(dtype, copy=False)
    b = np.ascontiguousarray(b.ravel(), dtype)
    x = x.ravel()
    norm = float(np.linalg.norm(b))
    if norm == 0:
        return np.zeros(cols, dtype), 0
    limits = (max(rtol, atol / norm), limit, restart)
    try:
        converged, iterations, _ = _native.solve(matrix._csr(), method, b, x, limits)
    except TypeError:
        return None
    # SciPy goes on where a method cannot, cg for instance with a matrix that is not positive definite.
    if not converged and iterations < limit:
        return None
    return x, 0 if converged else max(iterations, 1)
