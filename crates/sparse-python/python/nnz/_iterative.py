"""The systems that iterative solvers of nnz take, with SciPy's arguments."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as scipy_linalg

from . import _dlpack, _native
from ._arrays import TYPES, contiguous, csr_array, solution_type
from ._device import DeviceMatrix, to_native
from ._precondition import Preconditioner


def solve(
    method: str,
    A: Any,
    b: Any,
    x0: Any,
    tolerances: tuple[float, float],
    maxiter: int | None,
    M: Any,
    restart: int = 20,
) -> tuple[Any, int] | None:
    """(x, 0), or (x, iterations) where they did not suffice; None where SciPy has to solve."""
    if not isinstance(A, DeviceMatrix) and not (sp.issparse(A) and A.ndim == 2):
        return None
    on_gpu = _dlpack.is_on_gpu(b)
    b = b if on_gpu else np.asarray(b)
    dtype = A.dtype if on_gpu else solution_type(A.dtype, b.dtype)
    rows, cols = A.shape
    if dtype not in TYPES or rows != cols or isinstance(x0, str):
        return None
    limit = (5 if method == "minres" else 10) * rows if maxiter is None else maxiter
    rtol, atol = tolerances
    if not (is_limit(rtol) and is_limit(atol) and is_count(restart)):
        return None
    if not is_count(limit) and not (method == "gmres" and limit == 0):
        return None
    x0 = x0 if x0 is None or on_gpu else np.asarray(x0, dtype)
    if any(tuple(vector.shape) not in ((rows,), (rows, 1)) for vector in (b, x0) if vector is not None):
        return None
    if getattr(A, "is_remote", False) and on_gpu:
        return None
    matrix = matrix_of(A, dtype)
    if M is not None and not (isinstance(M, Preconditioner) and _fits(M._native, matrix)):
        return None
    run = _solve_on_gpu if on_gpu else _solve_on_host
    x, converged, iterations = run(matrix, method, b, x0, (rtol, atol, limit, restart), None if M is None else M._native)
    # SciPy goes on where a method cannot, cg for instance with a matrix that is not positive definite.
    if not converged and iterations < limit and not on_gpu:
        return _by_scipy(method, A, b, x0, tolerances, limit, M, restart)
    return x, 0 if converged else max(iterations, 1)


def _by_scipy(
    method: str,
    A: Any,
    b: Any,
    x0: Any,
    tolerances: tuple[float, float],
    limit: int,
    M: Any,
    restart: int,
) -> tuple[Any, int]:
    """SciPy's solution in double precision, whose claim to have converged is compared with ‖b − A·x‖."""
    dtype = solution_type(A.dtype, b.dtype)
    wide = np.result_type(dtype, np.float64)
    A = (A.get() if isinstance(A, DeviceMatrix) else A).astype(wide)
    # SciPy compares inner products with constants, so that b has to have elements near 1.
    exponent = np.frexp(np.abs(b).max())[1]
    scale = 2.0 ** int(np.clip(exponent, -1022, 1022))
    b, x0 = b.ravel().astype(wide) / scale, None if x0 is None else x0.ravel().astype(wide) / scale
    rtol, atol = tolerances[0], tolerances[1] / scale
    options: dict[str, Any] = {"maxiter": limit}
    if method != "minres":
        options["atol"] = atol
    if method == "gmres":
        options |= {"restart": restart, "maxiter": max(limit // restart, 1)}
    found, info = getattr(scipy_linalg, method)(A, b, x0, rtol=rtol, M=M, **options)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        x = (found * scale).astype(dtype)
        residual = np.linalg.norm(b - A @ found)
        # The sum of the recurrence differs a little from the residual.
        is_solution = residual <= 1.01 * np.maximum(rtol * np.linalg.norm(b), atol)
        is_rounded = np.linalg.norm(found - x / scale) <= np.finfo(dtype).eps * np.linalg.norm(found)
    return x, info if info or (is_solution and is_rounded) else limit


def is_limit(number: Any) -> bool:
    """True for a bound of an error. SciPy has the error of anything else, or takes it."""
    return isinstance(number, numbers.Real) and float(number) >= 0


def is_count(number: Any) -> bool:
    """True for a number of iterations. SciPy has the error of anything else, or takes it, 2.5 for instance."""
    return isinstance(number, numbers.Integral) and int(number) >= 1


def matrix_of(A: Any, dtype: np.dtype[Any]) -> _native.Matrix:
    if isinstance(A, DeviceMatrix):
        return A._native if A.dtype == dtype else A._engine.cast(A._native, dtype.char)
    return to_native(csr_array(A).astype(dtype, copy=False), "cpu")


def _fits(preconditioner: _native.Preconditioner, matrix: _native.Matrix) -> bool:
    return all(getattr(preconditioner, name) == getattr(matrix, name) for name in ("shape", "dtype", "device"))


def _solve_on_host(matrix: Any, method: str, b: Any, x0: Any, limits: Any, M: Any) -> tuple[Any, bool, int]:
    dtype = np.dtype(matrix.dtype)
    x = np.empty(len(b), dtype)
    first = None if x0 is None else contiguous(x0.ravel())
    engine = getattr(matrix, "engine", _native)
    return x, *engine.solve(matrix, method, (contiguous(b.ravel(), dtype), first, x), limits, M)


def _solve_on_gpu(matrix: Any, method: str, b: Any, x0: Any, limits: Any, M: Any) -> tuple[Any, bool, int]:
    device = matrix.device
    x = _dlpack.like(b, (b.shape[0],), device)
    first = None if x0 is None else _dlpack.take(x0.reshape(-1), device)
    right, out = _dlpack.take(b.reshape(-1), device), _dlpack.take(x, device)
    found = _native.solve(matrix, method, (right, first, out), limits, M)
    _dlpack.release(b, device)
    return x, *found
