"""The systems that iterative solvers of nnz take, with SciPy's arguments."""

from __future__ import annotations

import numbers
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as scipy_linalg

from . import _dlpack, _native
from ._arrays import TYPES, contiguous, csr_array, solution_type
from ._device import DeviceMatrix, to_native
from ._precondition import Preconditioner, floating
from ._product import converted, wrong_shape

#: The methods of :class:`Solver`.
METHODS = ("cg", "enqueued-cg", "bicgstab", "gmres", "minres")


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
    limit, restart = countable(limit), countable(restart)
    x0 = x0 if x0 is None or on_gpu else np.asarray(x0, dtype)
    if any(tuple(vector.shape) not in ((rows,), (rows, 1)) for vector in (b, x0) if vector is not None):
        return None
    if getattr(A, "is_remote", False) and on_gpu:
        return None
    matrix = matrix_of(A, dtype)
    if M is not None and not (isinstance(M, Preconditioner) and _fits(M._native, matrix)):
        return None
    limits, preconditioner = (rtol, atol, limit, restart), None if M is None else M._native
    engine = getattr(matrix, "engine", _native)

    def run(vectors: Any) -> tuple[bool, int]:
        return engine.solve(matrix, method, vectors, limits, preconditioner)

    x, converged, iterations = _solution(run, b, x0, matrix)
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


def plain(number: Any) -> Any:
    """A number of iterations as one of Python, whose products do not wrap; anything else as it is."""
    return int(number) if is_count(number) else number


def countable(number: int) -> int:
    """A number of iterations, or the largest that can be counted: no solver comes so far."""
    return min(int(number), sys.maxsize)


def matrix_of(A: Any, dtype: np.dtype[Any]) -> _native.Matrix:
    if isinstance(A, DeviceMatrix):
        return A._native if A.dtype == dtype else A._engine.cast(A._native, dtype.char)
    return to_native(csr_array(A).astype(dtype, copy=False), "cpu")


def _fits(preconditioner: _native.Preconditioner, matrix: _native.Matrix) -> bool:
    return all(getattr(preconditioner, name) == getattr(matrix, name) for name in ("shape", "dtype", "device"))


def _solution(run: Callable[[Any], tuple[bool, int]], b: Any, x0: Any, matrix: Any) -> tuple[Any, bool, int]:
    """x, and what `run` returns, which gets (b, x0, x): arrays of the host, or where b is on the matrix's GPU.

    Of the matrix, or its solver, the type and the device count.
    """
    if not _dlpack.is_on_gpu(b):
        dtype = np.dtype(matrix.dtype)
        x = np.empty(len(b), dtype)
        first = None if x0 is None else contiguous(x0.ravel(), dtype)
        return x, *run((contiguous(b.ravel(), dtype), first, x))
    device = matrix.device
    x = _dlpack.like(b, (b.shape[0],), device)
    first = None if x0 is None else _dlpack.take(x0.reshape(-1), device)
    right, out = _dlpack.take(b.reshape(-1), device), _dlpack.take(x, device)
    found = run((right, first, out))
    _dlpack.release(b, device)
    return x, *found


class Solver:
    """An iterative solver of one matrix A for many right-hand sides, and for other values of its pattern.

    The plan of the product and the vectors are made once, where `cg` and its kin make them for each system. A is a sparse
    array or matrix, or a matrix on a device; `method` is `cg`, `enqueued-cg`, `bicgstab`, `gmres` or `minres`; M is None, or a
    preconditioner of :func:`~nnz.linalg.jacobi`, `ilu0` or `ic0` with A's type and device.

    >>> import nnz, numpy as np
    >>> A = nnz.csr_array(np.array([[4.0, 1.0], [1.0, 3.0]]))
    >>> solver = nnz.linalg.Solver(A, "cg", rtol=1e-12)
    >>> solver.solve(np.array([5.0, 4.0]))
    (array([1., 1.]), 0)
    >>> solver.update(2 * A)
    >>> solver.solve(np.array([5.0, 4.0]))[0]
    array([0.5, 0.5])
    """

    def __init__(self, A: Any, method: str = "cg", *, rtol: float = 1e-5, maxiter: int | None = None, restart: int = 20, M: Any = None) -> None:
        if method not in METHODS:
            raise ValueError(f"the method is {method!r} where one of {', '.join(METHODS)} is right")
        if not is_limit(rtol):
            raise ValueError(f"rtol={rtol!r} where a number that is not negative is right")
        for name, count in (("maxiter", 1 if maxiter is None else maxiter), ("restart", restart)):
            if not is_count(count):
                raise ValueError(f"{name}={count!r} where a whole number of at least 1 is right")
        if M is not None and not isinstance(M, Preconditioner):
            raise TypeError(f"M is {type(M).__name__} where a preconditioner of nnz.linalg is needed")
        # As in SciPy, the limit of GMRES counts cycles.
        limit = maxiter if maxiter is None or method != "gmres" else int(maxiter) * int(restart)
        limits = (float(rtol), 0.0, None if limit is None else countable(limit), countable(restart))
        self._native = _native.Solver.of(floating(A), method, limits, None if M is None else M._native)

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, columns) of A."""
        return self._native.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type in which systems are solved: that of A, or float64 for integers."""
        return np.dtype(self._native.dtype)

    @property
    def device(self) -> str:
        """The name of the device of A."""
        return self._native.device

    def solve(self, b: Any, x0: Any = None) -> tuple[Any, int]:
        """(x, info) of A·x = b from x0, or from 0: `info` is 0 where ‖b − A·x‖ ≤ rtol·‖b‖, else the number of iterations.

        A vector on the GPU of A stays there, and so does x. Threads take turns; a handler of a signal that calls the solver
        while it is at work in the same thread gets a `RuntimeError`.
        """
        if not _dlpack.is_on_gpu(b):
            b = converted("b", b, "solver", self.dtype)
            x0 = None if x0 is None else converted("x0", x0, "solver", self.dtype)
        rows = self.shape[0]
        for name, vector in (("b", b), ("x0", x0)):
            if vector is not None and tuple(vector.shape) not in ((rows,), (rows, 1)):
                raise wrong_shape(name, tuple(vector.shape), f"({rows},)")
        x, converged, iterations = _solution(self._native.solve, b, x0, self._native)
        return x, 0 if converged else max(iterations, 1)

    def update(self, A: Any) -> None:
        """Takes the values of another matrix with the same format, pattern, type and device: the plan stays.

        M stays as it is, until its :meth:`Preconditioner.update`. After an error the solver is that of the matrix before.
        """
        self._native.update(floating(A))

    def __repr__(self) -> str:
        rows, cols = self.shape
        return f"<Solver of {rows} x {cols} {self.dtype} on {self.device}>"
